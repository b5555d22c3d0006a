//! `social mcp`.

use crate::arguments::Mcp;
use crate::error::CliError;
use crate::output::{self, notice};
use crate::session::Session;

/// Scopes that permit more than reading and drafts.
const BEYOND_DRAFTS: [&str; 3] = ["posts:write", "connections:write", "webhooks:write"];

/// How to get a token for drafts. The profile is new, so the login needs the URL.
fn drafts_only(origin: &str) -> String {
    format!(
        "To limit an assistant to drafts, sign in once with `social --profile drafts login --drafts --url {origin}`, and \
         let it start `social --profile drafts mcp --drafts`."
    )
}

/// Serves the tools, and first prints their permissions on standard error, which the assistant's
/// program shows or logs.
pub(crate) async fn run(session: &Session, arguments: &Mcp) -> Result<(), CliError> {
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
    tools::serve_stdio(session.client.clone(), offset).await.map_err(|error| CliError::Failed(error.to_string()))
}
