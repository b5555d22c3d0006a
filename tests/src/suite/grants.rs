//! One grant that covers several accounts.

use serde_json::{Value, json};

use super::{faults::MEADOW, publishing::once};
use crate::{
    checks,
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, same},
    http_response::{integer, list, text},
    moment,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    let mut checks = checks!(
        "grants",
        [
            accounts_of_one_grant_connect_together_and_publish,
            only_chosen_accounts_are_connected,
            grant_ends_with_its_last_account,
            account_connected_alone_leaves_its_grant,
        ]
    );
    checks.extend(checks!("grants", MEADOW.0, [lost_grant_affects_all_its_accounts]));
    checks
}

/// Allows access for these accounts of the consent page together, and presses `button` on the page
/// that asks which of them to connect, with `ticked` of them selected. Returns all connections of
/// the user.
async fn connect(user: &mut User<'_>, accounts: &[usize], ticked: &[usize], button: &str) -> Result<Vec<Value>> {
    let request = user.begin().await?;
    let mut page = user.browser.open(text(&request, "authorization_url")?).await?;
    if let Some((form, button)) = page.form_with_button("Continue to Sandbox") {
        page = user.browser.submit(&page, &form, Some(&button), &[]).await?;
    }
    let (form, allow) = page.form_with_button("Allow").ok_or_else(|| page.test_error("nothing to allow"))?;
    let handles: Vec<String> =
        form.fields.iter().filter_map(|it| it.name.strip_prefix("also.")).map(str::to_owned).collect();
    let also: Vec<String> = accounts.iter().map(|it| format!("also.{}", handles[*it])).collect();
    let mut fill = vec![("account", handles[accounts[0]].as_str())];
    fill.extend(also.iter().map(|it| (it.as_str(), "on")));
    let page = user.browser.submit(&page, &form, Some(&allow), &fill).await?;

    let (form, press) = page.form_with_button(button).ok_or_else(|| page.test_error("nothing to choose"))?;
    let offered: Vec<&str> =
        form.fields.iter().map(|it| it.name.as_str()).filter(|it| it.starts_with("account.")).collect();
    same(offered.len(), accounts.len(), "accounts to choose from")?;
    let fill: Vec<(&str, &str)> = ticked.iter().map(|it| (offered[*it], "on")).collect();
    let end = user.browser.submit(&page, &form, Some(&press), &fill).await?;
    ensure!(end.html.contains("connected."), "{}", end.test_error("the end says nothing of accounts"));
    let status = user.api.get(text(&request, "poll_url")?).await?.ok(200)?;
    same(&status["status"], &json!("completed"), "status of the connect flow")?;
    let all = user.api.get("/connections").await?.ok(200)?;
    Ok(list(&all, "data")?.to_vec())
}

async fn accounts_of_one_grant_connect_together_and_publish(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;

    let connections = connect(&mut user, &[0, 1, 2], &[], "Connect all 3").await?;

    same(connections.len(), 3, "connections")?;
    ensure_publishes(deployment, &user, &connections[0]).await?;
    ensure_publishes(deployment, &user, &connections[1]).await
}

/// Checks that a post on this account alone is published, as this account.
async fn ensure_publishes(deployment: &Deployment, user: &User<'_>, connection: &Value) -> Result {
    let content = fresh("by one of several");
    let id = user.schedule(&content, &[connection], 1).await?;
    user.reaches(id, "published", 20).await?;
    same(&once(deployment, &content).await?["account"], &connection["username"], "the account that posted")
}

async fn only_chosen_accounts_are_connected(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;

    let connections = connect(&mut user, &[3, 4, 5], &[0, 2], "Connect selected").await?;

    let names: Vec<_> = connections.iter().map(|it| it["username"].as_str()).collect();
    same(names, vec![Some("windmill"), Some("ferry")], "accounts")
}

async fn grant_ends_with_its_last_account(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connections = connect(&mut user, &[0, 1], &[], "Connect all 2").await?;

    let first = format!("/connections/{}", integer(&connections[0], "id")?);
    user.api.delete(&first).await?.is(204)?;

    ensure_publishes(deployment, &user, &connections[1]).await?;
    let last = format!("/connections/{}", integer(&connections[1], "id")?);
    user.api.delete(&last).await?.is(204)?;
    let all = user.api.get("/connections").await?.ok(200)?;
    same(list(&all, "data")?.len(), 0, "connections at the end")
}

async fn lost_grant_affects_all_its_accounts(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let both = [MEADOW.1, 0];
    let connections = connect(&mut user, &both, &[], "Connect all 2").await?;
    deployment.arm(&json!({ "account": text(&connections[0], "username")?, "kind": "revoke" })).await?;

    let content = fresh("after the grant was taken back");
    let body =
        json!({ "content": content, "platforms": targets(&[&connections[0]])?, "scheduled_at": moment::in_seconds(1) });
    let id = integer(&user.create(&body).await?, "id")?;
    user.loses_grant(&connections[1], 30).await?;

    // Both accounts work again after a new grant, and the waiting post is published.
    let again = connect(&mut user, &both, &[], "Connect all 2").await?;
    let is_same = again.iter().zip(&connections).all(|(new, old)| new["id"] == old["id"]);
    ensure!(is_same && again.iter().all(|it| it["needs_reconnection"] == false), "connected anew: {again:?}");
    user.reaches(id, "published", 60).await?;
    ensure_publishes(deployment, &user, &again[1]).await
}

async fn account_connected_alone_leaves_its_grant(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connections = connect(&mut user, &[0, 1], &[], "Connect all 2").await?;

    let alone = user.connect(0).await?;

    same(&alone["id"], &connections[0]["id"], "its id")?;
    ensure_publishes(deployment, &user, &alone).await?;
    ensure_publishes(deployment, &user, &connections[1]).await
}
