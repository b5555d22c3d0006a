//! Connect flows whose requests pass the gateway.

use reqwest::Method;
use serde_json::json;

use crate::{
    deployment::Deployment,
    ensure,
    error::{Result, same},
    http_response::{list, text},
};

/// Another user allows access at the platform and returns through the gateway: the owner gets
/// nothing, and can continue.
pub async fn connect_flow_is_closed_to_another_user(deployment: &Deployment) -> Result {
    let (mut owner, mut other) = (deployment.new_user().await?, deployment.new_user().await?);
    let request = owner.begin().await?;

    let refused = other.consent(&request, 0, "Allow").await?;

    same(refused.status.as_u16(), 403, "status of another user's callback")?;
    let all = owner.api.get("/connections").await?.ok(200)?;
    ensure!(list(&all, "data")?.is_empty(), "connected: {all}");
    owner.consent(&request, 0, "Allow").await?;
    let status = owner.api.get(text(&request, "poll_url")?).await?.ok(200)?;
    same(&status["status"], &json!("completed"), "status of the connect flow")
}

/// Each server that users name has a redirect URI of its own, which leads to the function.
pub async fn server_has_its_own_redirect_uri(deployment: &Deployment) -> Result {
    let mut browser = deployment.browser()?;
    let address = format!("{}/connect/callback/mastodon/some-server?state=unknown&code=1", deployment.origin());
    let page = browser.open(&address).await?;
    same(page.status.as_u16(), 404, "status of an unknown connect flow")?;
    ensure!(
        page.html.contains("has expired or is invalid"),
        "{}",
        page.test_error("the response is not the function's")
    );
    let posted = deployment.http().request(Method::POST, &address).send().await?;
    same(posted.status().as_u16(), 405, "status of another method there")
}
