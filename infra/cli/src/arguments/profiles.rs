//! Arguments of `social profiles`.

use clap::Subcommand;

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
    /// Delete a profile without connected accounts. Its posts stay.
    Delete {
        /// Id of the profile.
        id: u64,
    },
}
