//! Arguments of `social post`, `social posts` and `social connections`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

pub(crate) const POST_HELP: &str = "\
Accounts: an id, a platform (mastodon), a handle (ada), both (mastodon/ada), or `all`.

Times: 2026-12-24T18:00:00+01:00, '2026-12-24 18:00 Europe/Berlin', 'tomorrow 9:00',
'friday 17:30 UTC', 'in 2 hours', 18:00, now. A time without a zone is in this machine's zone. A
time that does not exist or occurs twice, because the clocks change, is an error.

Threads: each --next is a reply to the text before it. --thread reads the post and its replies from
a file, in which a line of exactly --- separates two texts. These replies have no files; those of
`social import` can have some. An account without threads needs a post of its own.

Options: language=en applies to every account, mastodon:visibility=unlisted to the accounts of one
platform. true, 7 and [\"a\"] are read as JSON, everything else is text; '\"7\"' is the text 7.

If the outcome is unknown (exit code 5), run the same command with the printed --key: it creates
the post only if it does not exist yet.";

fn post_id(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "it isn't the id of a post; `social posts list` shows the ids")
}

#[derive(Args)]
pub(crate) struct Post {
    /// Text of the post; read from standard input if absent or `-`. With --media, '' publishes the
    /// files alone.
    pub(crate) text: Option<String>,
    /// Account to publish to; repeatable. Required unless you save a draft.
    #[arg(long, value_name = "ACCOUNT")]
    pub(crate) to: Vec<String>,
    /// When to publish. Default: now.
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// Save a draft instead of publishing.
    #[arg(long, conflicts_with = "at")]
    pub(crate) draft: bool,
    /// Image or video, as a file or a URL; repeatable.
    #[arg(long, value_name = "FILE")]
    pub(crate) media: Vec<String>,
    /// Alt text; repeatable. The first belongs to the first --media, and so on.
    #[arg(long, value_name = "TEXT")]
    pub(crate) alt: Vec<String>,
    /// Reply that continues the post as a thread; repeatable, in this order.
    #[arg(long, value_name = "TEXT")]
    pub(crate) next: Vec<String>,
    /// File with the post and its replies, separated by lines of exactly ---; standard input if `-`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "next"])]
    pub(crate) thread: Option<PathBuf>,
    /// Platform option; repeatable.
    #[arg(long = "option", value_name = "NAME=VALUE")]
    pub(crate) options: Vec<String>,
    /// Id of the post in your own system.
    #[arg(long, value_name = "ID")]
    pub(crate) external_id: Option<String>,
    /// Label to find the post by; repeatable.
    #[arg(long = "label", value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// Only check the post. Nothing is stored except uploaded files, for one week.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Wait until the post is published or has failed.
    #[arg(long, conflicts_with_all = ["draft", "dry_run"])]
    pub(crate) watch: bool,
    /// Idempotency key: running the same command again within a day creates no second post. --at
    /// must then be `now`, or a date and a time.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
}

#[derive(Subcommand)]
pub(crate) enum PostsCommand {
    /// List posts, newest first.
    List(ListArguments),
    /// Show a post.
    Show {
        /// Id of the post.
        #[arg(value_parser = post_id)]
        id: u64,
        /// Wait until the post is published or has failed.
        #[arg(long)]
        watch: bool,
    },
    /// List the calls to platforms for a post, newest first.
    Attempts {
        /// Id of the post.
        #[arg(value_parser = post_id)]
        id: u64,
        /// Page number, from 1.
        #[arg(long, default_value_t = 1)]
        page: u64,
        /// Attempts per page, 1 to 100.
        #[arg(long, default_value_t = 15)]
        per_page: u64,
    },
    /// Change a post; fields that you do not name stay unchanged.
    Edit(Box<Edit>),
    /// Cancel a scheduled post; it becomes a draft.
    Cancel {
        /// Id of the post.
        #[arg(value_parser = post_id)]
        id: u64,
        /// Only if the post has this revision, which `social posts show` prints.
        #[arg(long, value_name = "REVISION")]
        if_match: Option<u64>,
    },
    /// Retry a failed post on the accounts where it is not public. If the post may be public, check the
    /// account first.
    Retry {
        /// Id of the post.
        #[arg(value_parser = post_id)]
        id: u64,
        /// When to retry. Default: now.
        #[arg(long, value_name = "TIME")]
        at: Option<String>,
        /// Only if the post has this revision, which `social posts show` prints.
        #[arg(long, value_name = "REVISION")]
        if_match: Option<u64>,
        /// Wait until the post is published or has failed again.
        #[arg(long)]
        watch: bool,
    },
    /// Delete a draft, or a scheduled or failed post. Published posts stay public.
    Delete {
        /// Id of the post.
        #[arg(value_parser = post_id)]
        id: u64,
        /// Only if the post has this revision, which `social posts show` prints.
        #[arg(long, value_name = "REVISION")]
        if_match: Option<u64>,
    },
}

#[derive(Args)]
pub(crate) struct ListArguments {
    /// Filter by status: draft, scheduled, publishing, published or failed.
    #[arg(long)]
    pub(crate) status: Option<String>,
    /// Only posts with this id in your own system.
    // The service ignores an empty filter, and an unset variable must not list all posts.
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) external_id: Option<String>,
    /// Only posts that have this label.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) label: Option<String>,
    /// Page number, from 1.
    #[arg(long, default_value_t = 1)]
    pub(crate) page: u64,
    /// Posts per page, 1 to 100.
    #[arg(long, default_value_t = 15)]
    pub(crate) per_page: u64,
    /// Sort by created_at or scheduled_at.
    #[arg(long, default_value = "created_at")]
    pub(crate) sort: String,
    /// Sort direction: asc or desc.
    #[arg(long, default_value = "desc")]
    pub(crate) direction: String,
}

#[derive(Args)]
pub(crate) struct Edit {
    /// Id of the post.
    #[arg(value_parser = post_id)]
    pub(crate) id: u64,
    /// New text; read from standard input if `-`; '' removes the text of a post with files.
    #[arg(long)]
    pub(crate) text: Option<String>,
    /// New time to publish: schedules a draft, retries a failed post.
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// Account to publish to; repeatable. Replaces the current ones.
    #[arg(long, value_name = "ACCOUNT")]
    pub(crate) to: Vec<String>,
    /// Image or video, as a file or a URL; repeatable. Replaces the current ones.
    #[arg(long, value_name = "FILE")]
    pub(crate) media: Vec<String>,
    /// Alt text; repeatable. The first belongs to the first --media, and so on.
    #[arg(long, value_name = "TEXT", requires = "media")]
    pub(crate) alt: Vec<String>,
    /// Platform option of the accounts in --to; repeatable. Replaces the current ones.
    #[arg(long = "option", value_name = "NAME=VALUE", requires = "to")]
    pub(crate) options: Vec<String>,
    /// Remove all files.
    #[arg(long, conflicts_with = "media")]
    pub(crate) no_media: bool,
    /// Reply that continues the post as a thread; repeatable, in this order. Replaces the current ones
    /// and their files.
    #[arg(long, value_name = "TEXT")]
    pub(crate) next: Vec<String>,
    /// File with the new text and the replies, separated by lines of exactly ---; standard input if
    /// `-`. Replaces the current ones.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "next"])]
    pub(crate) thread: Option<PathBuf>,
    /// Remove all replies.
    #[arg(long, conflicts_with_all = ["next", "thread"])]
    pub(crate) no_thread: bool,
    /// Id of the post in your own system; '' removes it.
    #[arg(long, value_name = "ID")]
    pub(crate) external_id: Option<String>,
    /// Label; repeatable. Replaces the current ones; '' alone removes them.
    #[arg(long = "label", value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// Only if the post has this revision, which `social posts show` prints. Required
    /// with --at for a draft that a drafts-only token wrote.
    #[arg(long, value_name = "REVISION")]
    pub(crate) if_match: Option<u64>,
}

#[derive(Subcommand)]
pub(crate) enum ConnectionsCommand {
    /// List connected accounts. This is the default.
    List,
    /// Show an account and the limits of its platform.
    Show {
        /// Account, as for `social post --to`.
        account: String,
    },
    /// List the values of an option, such as boards or channels.
    Choices {
        /// Account, as for `social post --to`.
        account: String,
        /// Name of the option.
        option: String,
        /// Only values that contain this text.
        query: Option<String>,
    },
    /// Disconnect an account.
    Disconnect {
        /// Account, as for `social post --to`.
        account: String,
    },
}
