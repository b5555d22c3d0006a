//! `social demo`: the sandbox publishes a post and loses its response; the service finds the post
//! and does not send it again.

use client::{Connection, ListAttempts, ListConnections, NewPost, NewPostPlatform, PostTime};
use serde_json::json;

use crate::account;
use crate::arguments::{Connect, Demo};
use crate::connecting::connect;
use crate::error::CliError;
use crate::output::{self, notice};
use crate::posts;
use crate::session::{self, Session};
use crate::sign_in::{open, web_page};

const SANDBOX: &str = "sandbox";

pub(crate) async fn run(session: &Session, arguments: &Demo) -> Result<(), CliError> {
    let origin = session.client.base().origin();
    if !session.client.base().is_this_machine() {
        return Err(CliError::Usage(format!(
            "the demo needs the sandbox of `cargo dev` on this machine, not {origin}; add --url http://localhost:3000"
        )));
    }
    let account = sandbox_account(session, arguments).await?;
    notice(&format!(
        "The sandbox will publish the next post of {}, and cut the connection before its response.",
        account::name(&account)
    ));
    lose_response(&origin, &account).await?;

    let post = NewPost {
        platforms: Some(vec![NewPostPlatform { connected_account_id: account.id, ..NewPostPlatform::default() }]),
        scheduled_at: Some(PostTime::Now),
        ..NewPost::new("This response was lost, and the post is here once.".to_owned())
    };
    let id = session.client.create_post(&post, None).await?.id;
    posts::watch_publication(session, id).await?;
    output::line("")?;
    posts::attempts(session, id, &ListAttempts::default()).await?;

    let page = web_page(&format!("{origin}/account/posts/{id}/attempts"))?;
    notice(&format!("\nEvery call of this post: {page}"));
    if !arguments.no_browser && output::is_interactive() {
        open(&page);
    }
    Ok(())
}

/// Connects an account if there is none.
async fn sandbox_account(session: &Session, arguments: &Demo) -> Result<Connection, CliError> {
    let find = async || {
        let accounts = session.client.list_connections(&ListConnections::default()).await?.value.data;
        Ok::<_, CliError>(accounts.into_iter().find(|it| it.provider == SANDBOX && !it.needs_reconnection))
    };
    if let Some(account) = find().await? {
        return Ok(account);
    }
    let platform = SANDBOX.to_owned();
    connect(session, &Connect { platform, of_profile: None, no_browser: arguments.no_browser }).await?;
    find().await?.ok_or_else(|| CliError::Refused("no account of the sandbox is connected".to_owned()))
}

async fn lose_response(origin: &str, account: &Connection) -> Result<(), CliError> {
    let fault = json!({ "account": account.username, "kind": "lose_answer" });
    let request = session::http(true)?.post(format!("{origin}/sandbox/faults")).json(&fault);
    let failed = |why: String| CliError::Failed(format!("the sandbox at {origin} cannot lose a response: {why}"));
    let response = request.send().await.map_err(|error| failed(error.to_string()))?;
    if response.status().is_success() { Ok(()) } else { Err(failed(response.status().to_string())) }
}
