//! Arguments of `social webhooks` and `social listen`.

use clap::{Args, Subcommand};

pub(crate) const LISTEN_HELP: &str = "\
The service cannot call your machine. So `listen` asks the service every few seconds which events
it sent to one of your webhooks, and sends them to the local URL with the same payload and
webhook-id, whatever the webhook responded. A webhook receives events only after it has responded
to a test with 2xx (social webhooks test). Events can arrive twice and in any order. If
SOCIAL_WEBHOOK_SECRET has the webhook's secret, messages are signed with it; otherwise with a
temporary secret, which is printed.";

#[derive(Subcommand)]
pub(crate) enum WebhooksCommand {
    /// List webhooks.
    List,
    /// Create a webhook, and print its secret, which is shown only once. It receives events after its
    /// first successful test.
    Create {
        /// Public https URL that receives the events.
        endpoint: String,
        /// Event to send, such as post.published; repeatable. Default: all events.
        #[arg(long = "event", value_name = "EVENT")]
        events: Vec<String>,
    },
    /// Show a webhook.
    Show {
        /// Id of the webhook.
        id: u64,
    },
    /// Change a webhook; fields that you do not name stay unchanged.
    Edit {
        /// Id of the webhook.
        id: u64,
        /// New public https URL. It receives events after its first successful test.
        #[arg(long)]
        endpoint: Option<String>,
        /// Event to send; repeatable. Replaces the current events.
        #[arg(long = "event", value_name = "EVENT")]
        events: Vec<String>,
        /// Stop sending events.
        #[arg(long, conflicts_with = "enable")]
        disable: bool,
        /// Send events again.
        #[arg(long)]
        enable: bool,
    },
    /// Delete a webhook.
    Delete {
        /// Id of the webhook.
        id: u64,
    },
    /// Send a test event. A 2xx response enables an unverified webhook.
    Test {
        /// Id of the webhook.
        id: u64,
    },
    /// Replace the secret, and print the new one. For one day, messages are signed with both.
    Rotate {
        /// Id of the webhook.
        id: u64,
    },
    /// List recent deliveries.
    Deliveries {
        /// Id of the webhook.
        id: u64,
        /// Deliveries per page, 1 to 100.
        #[arg(long, default_value_t = 15)]
        per_page: u64,
        /// Show the next page: the `meta.next` of the page before.
        #[arg(long)]
        before: Option<String>,
    },
    /// Send a delivery again.
    Redeliver {
        /// Id of the webhook.
        id: u64,
        /// Id of the delivery.
        delivery: String,
    },
    /// Print the public key of the service's signatures (v1a).
    Key,
}

#[derive(Args)]
pub(crate) struct Listen {
    /// Id of the webhook; optional if you have only one.
    pub(crate) webhook: Option<u64>,
    /// Local URL to forward to, such as http://localhost:4000/hooks. Default: only print the events.
    #[arg(long, value_name = "URL")]
    pub(crate) forward: Option<String>,
    /// Interval between two requests, in seconds.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub(crate) every: u64,
    /// Secret to sign with, instead of a temporary one.
    #[arg(long, env = "SOCIAL_WEBHOOK_SECRET", hide = true, hide_env_values = true)]
    pub(crate) secret: Option<String>,
}
