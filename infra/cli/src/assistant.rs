//! `social mcp`.

use std::path::Path;

use client::Client;
use futures::FutureExt;
use tools::LocalFiles;

use crate::arguments::Mcp;
use crate::error::CliError;
use crate::files::Medium;
use crate::output::{self, notice};
use crate::posting::key;
use crate::session::Session;

const BEYOND_DRAFTS: [&str; 3] = ["posts:write", "connections:write", "webhooks:write"];

/// The profile is new, so the login needs the URL.
fn drafts_only(origin: &str) -> String {
    format!(
        "To limit an assistant to drafts, sign in once with `social --profile drafts login --drafts --url {origin}`, and \
         let it start `social --profile drafts mcp --drafts`."
    )
}

/// First prints the permissions of the tools on standard error, which the assistant's program shows
/// or logs.
pub(crate) async fn run(session: &Session, arguments: &Mcp) -> Result<(), CliError> {
    let files = arguments.files.as_deref().map(|it| shared_files(session, it)).transpose()?;
    let permitted = match session.client.show_user().await {
        Ok(user) => Some(user.scopes.clone()),
        // A token without `user:read` cannot read its own scopes.
        Err(error) if error.status() == Some(403) => None,
        Err(error) => return Err(error.into()),
    };
    let origin = session.client.base().origin();
    match &permitted {
        Some(scopes) => {
            let beyond = |scope: &&String| BEYOND_DRAFTS.contains(&scope.as_str());
            let wider: Vec<_> = scopes.iter().filter(beyond).map(String::as_str).collect();
            if arguments.drafts && !wider.is_empty() {
                let wider = output::plain(&wider.join(", "));
                let advice = drafts_only(&origin);
                return Err(CliError::Usage(format!("this token permits more than drafts: {wider}. {advice}")));
            }
            notice(&format!("The assistant uses {origin} with the scopes {}", output::plain(&scopes.join(", "))));
            if !wider.is_empty() {
                notice(&drafts_only(&origin));
            }
        }
        None if arguments.drafts => {
            let text = "this token lacks the scope user:read, so its scopes cannot be checked";
            return Err(CliError::Usage(format!("{text}. {}", drafts_only(&origin))));
        }
        None => {
            notice(&format!(
                "The assistant uses {origin}. The scopes of the token are unknown because it lacks user:read"
            ));
        }
    }
    let offset = chrono::Local::now().format("%:z").to_string();
    tools::serve_stdio(session.client.clone(), offset, files).await.map_err(|error| CliError::Failed(error.to_string()))
}

/// A text that the assistant reads can contain instructions, which must not publish other files of
/// the machine.
fn shared_files(session: &Session, folder: &Path) -> Result<LocalFiles, CliError> {
    let folder = folder.canonicalize().map_err(|it| CliError::Usage(format!("{}: {it}", folder.display())))?;
    let client = session.client.clone();
    Ok(LocalFiles::new(move |name| {
        let (client, folder) = (client.clone(), folder.clone());
        async move { upload(&client, &folder, &name).await.map_err(|it| it.to_string()) }.boxed()
    }))
}

async fn upload(client: &Client, folder: &Path, name: &str) -> Result<String, CliError> {
    inspect(folder, name)?.send(client, key(None)?.as_str()).await
}

fn inspect(folder: &Path, name: &str) -> Result<Medium, CliError> {
    let path = folder.join(name).canonicalize().map_err(|it| CliError::Usage(format!("{name}: {it}")))?;
    if !path.starts_with(folder) {
        return Err(CliError::Usage(format!("{name} is not in {}", folder.display())));
    }
    Medium::inspect(&path.to_string_lossy(), folder)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use super::*;

    #[test]
    fn only_files_of_the_folder_are_shared() {
        let machine = tempfile::tempdir().unwrap();
        let folder = machine.path().canonicalize().unwrap().join("shared");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("boat.png"), "picture").unwrap();
        let private = machine.path().join("private.png");
        std::fs::write(&private, "picture").unwrap();
        std::os::unix::fs::symlink(&private, folder.join("link.png")).unwrap();

        assert!(inspect(&folder, "boat.png").is_ok());
        for name in
            ["../private.png", private.to_str().unwrap(), "link.png", "missing.png", "https://example.com/a.png"]
        {
            assert!(inspect(&folder, name).is_err(), "{name}");
        }
    }
}
