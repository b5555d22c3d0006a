//! Webhooks on the command line.

use clap::{Args, Subcommand};

pub(crate) const LISTEN_HELP: &str = "\
The service cannot call your machine. So this asks it every few seconds what was sent to a
webhook of yours, and sends the same to the local address: the same payload and webhook-id,
whatever the webhook itself answered. A webhook is sent events only once it has answered a
test with 2xx (social webhooks test). A message may come twice, and in any order. With the
webhook's secret, in SOCIAL_WEBHOOK_SECRET, messages are signed as those it gets; else with a
secret of this run, which is printed.";

#[derive(Subcommand)]
pub(crate) enum WebhooksCommand {
    /// List the webhooks.
    List,
    /// Add one. Its secret is printed this once. It receives events after its first successful test.
    Create {
        /// Where messages are sent: https, a public address.
        endpoint: String,
        /// What it is told of, such as post.published; everything when absent.
        #[arg(long = "event", value_name = "EVENT")]
        events: Vec<String>,
    },
    /// Show one.
    Show {
        /// Its id.
        id: u64,
    },
    /// Change one; what is not said stays.
    Edit {
        /// Its id.
        id: u64,
        /// Another address. It receives events after its first successful test.
        #[arg(long)]
        endpoint: Option<String>,
        /// What it is told of, in place of what it was.
        #[arg(long = "event", value_name = "EVENT")]
        events: Vec<String>,
        /// Tell it nothing.
        #[arg(long, conflicts_with = "enable")]
        disable: bool,
        /// Tell it again.
        #[arg(long)]
        enable: bool,
    },
    /// Delete one.
    Delete {
        /// Its id.
        id: u64,
    },
    /// Send it a test. A 2xx enables an unverified webhook.
    Test {
        /// Its id.
        id: u64,
    },
    /// Replace its secret; both sign for a day.
    Rotate {
        /// Its id.
        id: u64,
    },
    /// List what was sent to it.
    Deliveries {
        /// Its id.
        id: u64,
        /// How many, 1 to 100.
        #[arg(long, default_value_t = 15)]
        per_page: u64,
        /// Go on after a page: its `meta.next`.
        #[arg(long)]
        before: Option<String>,
    },
    /// Send a delivery again.
    Redeliver {
        /// The webhook's id.
        id: u64,
        /// The delivery's id.
        delivery: String,
    },
    /// Print the key with which the service signs (v1a).
    Key,
}

#[derive(Args)]
pub(crate) struct Listen {
    /// The webhook's id; not needed where there is only one.
    pub(crate) webhook: Option<u64>,
    /// The local address, such as http://localhost:4000/hooks; only printed when absent.
    #[arg(long, value_name = "URL")]
    pub(crate) forward: Option<String>,
    /// Ask every so many seconds.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub(crate) every: u64,
    /// What signs, in place of a secret of this run.
    #[arg(long, env = "SOCIAL_WEBHOOK_SECRET", hide = true, hide_env_values = true)]
    pub(crate) secret: Option<String>,
}
