//! `social profiles …` and `social connect-link`.

mod archive;
mod export;
mod files;

use client::{ListProfiles, NewConnectLink, NewProfile, Profile, ProfileChanges};

use secrecy::ExposeSecret;

use crate::arguments::{ConnectLink, ProfilesCommand};
use crate::error::CliError;
use crate::output::{self, plain};
use crate::session::Session;

const PER_PAGE: u64 = 100;

/// Prints the URL, which the caller sends to the customer.
pub(crate) async fn create_link(session: &Session, arguments: ConnectLink) -> Result<(), CliError> {
    let ConnectLink { profile, return_url, platforms, post, expires_in } = arguments;
    let link = NewConnectLink { profile_id: profile, platforms, post_id: post, return_url, expires_in };
    let link = session.client.create_connect_link(&link).await?;
    output::line(if session.json { &link.json } else { link.url.expose_secret() })
}

pub(crate) async fn run(session: &Session, command: ProfilesCommand) -> Result<(), CliError> {
    let client = &session.client;
    let print = |json: &str, words: String| output::print_done(if session.json { json } else { &words });
    match command {
        ProfilesCommand::List { external_id, page } => {
            let filter = ListProfiles { external_id, per_page: Some(PER_PAGE), page: Some(page) };
            let profiles = client.list_profiles(&filter).await?;
            if session.json {
                return output::line(&profiles.json);
            }
            let row =
                |it: &Profile| vec![it.id.to_string(), it.name.clone(), it.external_id.clone().unwrap_or_default()];
            output::table(&["ID", "NAME", "EXTERNAL ID"], &profiles.data.iter().map(row).collect::<Vec<_>>())?;
            if page < profiles.meta.last_page {
                output::notice(&format!("next page: social profiles list --page {}", page + 1));
            }
            Ok(())
        }
        ProfilesCommand::Create { name, external_id } => {
            let profile = client.create_profile(&NewProfile { name, external_id }).await?;
            print(&profile.json, format!("Profile {} is created", profile.id))
        }
        ProfilesCommand::Rename { id, name } => {
            let renamed = client.change_profile(id, &ProfileChanges { name }).await;
            let renamed = renamed.map_err(CliError::about("profile", id))?;
            print(&renamed.json, format!("Profile {id} is now {}", plain(&renamed.name)))
        }
        ProfilesCommand::Export { profile, archive } => export::run(session, &profile, &archive).await,
        ProfilesCommand::Delete { id, erase } => {
            client.delete_profile(id, erase).await.map_err(CliError::about("profile", id))?;
            let erased = if erase { ". Its posts, files and records are deleted within two hours" } else { "" };
            output::print_done(&format!("Profile {id} is deleted{erased}"))
        }
    }
}
