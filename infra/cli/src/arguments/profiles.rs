//! Arguments of `social profiles` and `social connect-link`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const EXPORT_HELP: &str = "\
The archive has profile.json, the lists connections.jsonl, posts.jsonl and attempts.jsonl with a JSON
object of the API on each line, and each file of the posts in the folder files, named by its id.
Links in posts.jsonl expire. Webhooks are not in the archive: the API does not list them by profile.

If interrupted, run the same command again. Until the archive is complete, the folder FILE.partial
keeps the files that are complete.";

#[derive(Args)]
pub(crate) struct ConnectLink {
    /// Id of the profile, as `social profiles list` shows it.
    // The global option `--profile` has this id.
    #[arg(id = "of_profile", value_name = "PROFILE")]
    pub(crate) profile: u64,
    /// Page of your product to which the customer returns; the operator permits its origin.
    #[arg(long, value_name = "URL")]
    pub(crate) return_url: String,
    /// Platform that the customer may choose; repeatable. Default: all.
    #[arg(long = "platform", value_name = "PLATFORM")]
    pub(crate) platforms: Vec<String>,
    /// Draft or failed post to which the customer agrees, instead of connecting accounts: its id.
    #[arg(long, value_name = "ID", conflicts_with = "platforms")]
    pub(crate) post: Option<u64>,
    /// Seconds until the link expires, at most seven days. Default: an hour.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) expires_in: Option<u64>,
}

#[derive(Subcommand)]
pub(crate) enum ProfilesCommand {
    /// List profiles.
    List {
        /// Only the profile with this id in your own system.
        #[arg(long)]
        external_id: Option<String>,
        /// Number of the page, from 1.
        #[arg(long, default_value_t = 1)]
        page: u64,
    },
    /// Create a profile.
    Create {
        /// Name of the customer.
        name: String,
        /// Id of the customer in your own system; events contain it.
        #[arg(long)]
        external_id: Option<String>,
    },
    /// Rename a profile.
    Rename {
        /// Id of the profile.
        id: u64,
        /// New name.
        name: String,
    },
    /// Export the accounts, posts, attempts and files of a profile to an archive.
    #[command(after_help = EXPORT_HELP)]
    Export {
        /// Id of the profile, or its id in your own system.
        // The global option `--profile` has the id `profile`.
        #[arg(id = "of_profile", value_name = "PROFILE")]
        profile: String,
        /// Archive to create, a tar file. A file that exists is never replaced.
        #[arg(value_name = "FILE")]
        archive: PathBuf,
    },
    /// Delete a profile without connected accounts. Its posts stay, unless you add --erase.
    Delete {
        /// Id of the profile.
        id: u64,
        /// Also delete the posts of the profile with their attempts, its files, and all other records of it,
        /// within two hours. Public posts stay on the platforms. This cannot be undone, and a profile
        /// that is deleted without --erase cannot be erased later.
        #[arg(long)]
        erase: bool,
    },
}
