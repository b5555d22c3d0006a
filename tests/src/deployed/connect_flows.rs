//! Connect flows, where requests take the way of the gateway.

use reqwest::Method;
use serde_json::json;

use crate::{
    answer::{list, text},
    ensure,
    fault::{Result, same},
    world::Deployment,
};

/// Somebody else allows access at the platform, and comes back by way of the
/// gateway: the owner gets nothing, and can go on.
pub async fn a_connect_flow_is_followed_by_somebody_else(world: &Deployment) -> Result {
    let (mut owner, mut other) = (world.new_user().await?, world.new_user().await?);
    let request = owner.begin().await?;

    let refused = other.consent(&request, 0, "Allow").await?;

    same(refused.status.as_u16(), 403, "status of somebody else's way back")?;
    let all = owner.api.get("/connections").await?.ok(200)?;
    ensure!(list(&all, "data")?.is_empty(), "connected: {all}");
    owner.consent(&request, 0, "Allow").await?;
    let status = owner.api.get(text(&request, "poll_url")?).await?.ok(200)?;
    same(&status["status"], &json!("completed"), "status of the connect flow")
}

/// Each server that users name has an address of its own, which leads to the
/// function.
pub async fn a_server_has_a_way_back(world: &Deployment) -> Result {
    let mut browser = world.browser()?;
    let address = format!("{}/connect/callback/mastodon/some-server?state=unknown&code=1", world.origin());
    let page = browser.open(&address).await?;
    same(page.status.as_u16(), 404, "status of an unknown connect flow")?;
    ensure!(page.html.contains("has expired or is invalid"), "{}", page.fault("it is not the function that answers"));
    let posted = world.http().request(Method::POST, &address).send().await?;
    same(posted.status().as_u16(), 405, "status of another method there")
}
