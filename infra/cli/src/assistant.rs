//! `social mcp`.

use crate::arguments::Mcp;
use crate::error::CliError;
use crate::output::{self, notice};
use crate::session::Session;

/// What permits an assistant more than reading and drafts.
const BEYOND_DRAFTS: [&str; 3] = ["posts:write", "connections:write", "webhooks:write"];

/// How a person holds an assistant to drafts.
const DRAFTS_ONLY: &str = "To hold an assistant to drafts, sign in once with `social --profile drafts login --drafts`, \
    and let it start `social --profile drafts mcp --drafts`.";

/// Offers the tools, after saying on standard error what they may do: the
/// assistant's program shows or logs it.
pub(crate) async fn run(session: &Session, arguments: &Mcp) -> Result<(), CliError> {
    let permitted = match session.client.show_user().await {
        Ok(user) => Some(user.scopes.clone()),
        // A token without `user:read` cannot ask what it permits.
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
                return Err(CliError::Usage(format!("this login permits more than drafts: {wider}. {DRAFTS_ONLY}")));
            }
            notice(&format!("The assistant works at {origin} with {}", output::plain(&scopes.join(", "))));
            if !wider.is_empty() {
                notice(DRAFTS_ONLY);
            }
        }
        None if arguments.drafts => {
            let text = "this login lacks user:read, so it cannot be checked that it permits drafts only";
            return Err(CliError::Usage(format!("{text}. {DRAFTS_ONLY}")));
        }
        None => {
            notice(&format!("The assistant works at {origin}. What the token permits is unknown: it lacks user:read"));
        }
    }
    tools::over_stdio(session.client.clone()).await.map_err(|error| CliError::Failed(error.to_string()))
}
