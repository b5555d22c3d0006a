//! Posts and accounts on the command line.

use clap::{Args, Subcommand};

pub(crate) const POST_HELP: &str = "\
Accounts: an id, a platform (mastodon), a platform and a handle (mastodon/harbour), or `all`.

Times: 2026-12-24T18:00:00+01:00, '2026-12-24 18:00 Europe/Berlin', 'tomorrow 9:00',
'friday 17:30 UTC', 'in 2 hours', 18:00, now. A time without a zone is this machine's. A time
that a zone does not have, or has twice, is refused.

Options: language=en goes to every account, mastodon:visibility=unlisted to those of one
platform. true, 7 and [\"a\"] are read as JSON, everything else is text; '\"7\"' is the text 7.

When nobody knows whether it happened (exit code 5), the command to run again is printed.
With it, the post is made once.";

#[derive(Args)]
pub(crate) struct Post {
    /// What it says; read from standard input when absent or `-`.
    pub(crate) text: Option<String>,
    /// An account it goes to; several times for several.
    #[arg(long, value_name = "ACCOUNT")]
    pub(crate) to: Vec<String>,
    /// When; at once when absent.
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// Keep it as a draft.
    #[arg(long, conflicts_with = "at")]
    pub(crate) draft: bool,
    /// A picture or video, or the URL of one; several times for several.
    #[arg(long, value_name = "FILE")]
    pub(crate) media: Vec<String>,
    /// What the file shows: the first belongs to the first --media, and so on.
    #[arg(long, value_name = "TEXT")]
    pub(crate) alt: Vec<String>,
    /// Something for a platform alone.
    #[arg(long = "option", value_name = "NAME=VALUE")]
    pub(crate) options: Vec<String>,
    /// Only say whether it would be taken. Nothing is kept but uploaded files, for a week.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Makes it the same post when the same command is run again within a day; --at then has to
    /// be a date and a time.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
}

#[derive(Subcommand)]
pub(crate) enum PostsCommand {
    /// List posts, the newest first.
    List(ListArguments),
    /// Show a post.
    Show {
        /// Its id.
        id: u64,
    },
    /// Change a post; what is not said stays.
    Edit(Box<Edit>),
    /// Take a scheduled post back to draft.
    Cancel {
        /// Its id.
        id: u64,
        /// Only while it has this revision, which `social posts show` prints.
        #[arg(long, value_name = "REVISION")]
        if_match: Option<u64>,
    },
    /// Delete a post that is not public.
    Delete {
        /// Its id.
        id: u64,
        /// Only while it has this revision, which `social posts show` prints.
        #[arg(long, value_name = "REVISION")]
        if_match: Option<u64>,
    },
}

#[derive(Args)]
pub(crate) struct ListArguments {
    /// Only those that are draft, scheduled, publishing, published or failed.
    #[arg(long)]
    pub(crate) status: Option<String>,
    /// Which page.
    #[arg(long, default_value_t = 1)]
    pub(crate) page: u64,
    /// How many, 1 to 100.
    #[arg(long, default_value_t = 15)]
    pub(crate) per_page: u64,
    /// By created_at or scheduled_at.
    #[arg(long, default_value = "created_at")]
    pub(crate) sort: String,
    /// asc or desc.
    #[arg(long, default_value = "desc")]
    pub(crate) direction: String,
}

#[derive(Args)]
pub(crate) struct Edit {
    /// Its id.
    pub(crate) id: u64,
    /// Another text; `-` reads it from standard input.
    #[arg(long)]
    pub(crate) text: Option<String>,
    /// Another time.
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// The accounts it goes to, in place of those it has.
    #[arg(long, value_name = "ACCOUNT")]
    pub(crate) to: Vec<String>,
    /// The files it carries, in place of those it has.
    #[arg(long, value_name = "FILE")]
    pub(crate) media: Vec<String>,
    /// What each file shows.
    #[arg(long, value_name = "TEXT", requires = "media")]
    pub(crate) alt: Vec<String>,
    /// Something for a platform alone, in place of what was said before.
    #[arg(long = "option", value_name = "NAME=VALUE", requires = "to")]
    pub(crate) options: Vec<String>,
    /// Take its files away.
    #[arg(long, conflicts_with = "media")]
    pub(crate) no_media: bool,
    /// Only while it has this revision, which `social posts show` prints. Needed with --at for a
    /// draft that a token for drafts wrote.
    #[arg(long, value_name = "REVISION")]
    pub(crate) if_match: Option<u64>,
}

#[derive(Subcommand)]
pub(crate) enum ConnectionsCommand {
    /// List the accounts.
    List,
    /// Show an account, and what its platform takes.
    Show {
        /// As for `social post --to`.
        account: String,
    },
    /// List what an option may be there: boards, channels.
    Choices {
        /// As for `social post --to`.
        account: String,
        /// The option.
        option: String,
        /// Only those with these words.
        query: Option<String>,
    },
    /// Disconnect an account.
    Disconnect {
        /// As for `social post --to`.
        account: String,
    },
}
