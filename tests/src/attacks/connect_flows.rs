//! Attempts to connect a victim's account to the attacker's user.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    browser::{Browser, Page},
    deployment::{Deployment, User, unique_email},
    ensure,
    error::Result,
    harness::{Harness, LIFTED},
    http_response::{list, text},
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(1, [
        "a victim who is signed in as themselves follows an attacker's link and allows access",
            "403, the page says whose it is, nothing is connected" => link_followed_by_another_user;
        "a victim who is not signed in follows an attacker's link and allows access",
            "the sign-in is asked for, nothing is connected" => link_followed_while_signed_out;
        "a victim types an app password into an attacker's connect flow",
            "401 and 403, nothing is connected" => password_entered_by_victim;
        "another site sends the owner's form for them",
            "403, and the connect flow is as it was" => forged_owner_form;
        "guests permitted: a guest is sent off in one browser, and another browser comes back",
            "403, nothing is connected; the first browser can still end it" => guest_callback_in_another_browser;
        "guests permitted: another site presses for a guest",
            "403, and no redirect to the platform" => forged_guest_form;
    ])
}

/// The flow has to be still pending, too.
async fn ensure_nothing_connected(attacker: &User<'_>, request: &Value) -> Result {
    let status = attacker.api.get(text(request, "poll_url")?).await?.ok(200)?;
    ensure!(status["status"] == "pending", "the connect flow is {status}");
    let all = attacker.api.get("/connections").await?.ok(200)?;
    ensure!(list(&all, "data")?.is_empty(), "connected: {all}");
    Ok(())
}

async fn allow_access(victim: &mut Browser, request: &Value) -> Result<Page> {
    let page = victim.open(text(request, "authorization_url")?).await?;
    victim.press(&page, "Allow", &[]).await
}

async fn link_followed_by_another_user(deployments: &AttackTargets) -> Result<String> {
    let (attacker, mut victim) = (deployments.lifted().new_user().await?, deployments.lifted().new_user().await?);
    let request = attacker.begin().await?;

    let page = allow_access(&mut victim.browser, &request).await?;

    ensure_nothing_connected(&attacker, &request).await?;
    ensure!(page.status == 403, "{}", page.test_error("the victim was let in"));
    ensure!(page.html.contains(&attacker.email), "{}", page.test_error("the page does not name the owner"));
    Ok(format!("{} for {}, pending", page.status.as_u16(), attacker.email))
}

async fn link_followed_while_signed_out(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let (attacker, mut victim) = (deployment.new_user().await?, deployment.browser()?);
    let request = attacker.begin().await?;

    let page = allow_access(&mut victim, &request).await?;

    ensure_nothing_connected(&attacker, &request).await?;
    ensure!(page.form_with_button("Sign in").is_some(), "{}", page.test_error("the victim was let in"));
    // The flow is not consumed: signed in as themselves the victim is denied, and the owner could
    // still return.
    let page = deployment.sign_in_if_asked(&mut victim, page, &unique_email()).await?;
    ensure_nothing_connected(&attacker, &request).await?;
    ensure!(page.status == 403, "{}", page.test_error("the victim was let in"));
    Ok(format!("the sign-in, then {}, pending", page.status.as_u16()))
}

async fn password_entered_by_victim(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let (attacker, victim) = (deployment.new_user().await?, deployment.new_user().await?);
    let request = attacker.api.call(Method::POST, "/connections/connect/bluesky").send().await?.ok(201)?;
    let page = text(&request, "authorization_url")?.to_owned();
    let fields = [("handle", "victim.example"), ("app_password", "abcd-efgh-ijkl-mnop")];

    let mut statuses = Vec::new();
    for mut browser in [deployment.browser()?, victim.browser.clone()] {
        let shown = browser.open(&page).await?;
        ensure!(shown.form_with_field("app_password").is_none(), "{}", shown.test_error("a password is asked for"));
        statuses.push(browser.post(&page, &fields).await?.status.as_u16());
    }

    ensure_nothing_connected(&attacker, &request).await?;
    ensure!(statuses == [401, 403], "{statuses:?}");
    Ok(format!("{statuses:?}, pending"))
}

async fn forged_owner_form(deployments: &AttackTargets) -> Result<String> {
    let owner = deployments.lifted().new_user().await?;
    let request = owner.api.call(Method::POST, "/connections/connect/mastodon").send().await?.ok(201)?;
    let page = text(&request, "authorization_url")?;

    let mut statuses = Vec::new();
    for form in [&[("cancel", "1")][..], &[("server", "evil.example")], &[("cancel", "1"), ("csrf", "AAAA")]] {
        statuses.push(owner.browser.clone().post(page, form).await?.status.as_u16());
    }

    ensure_nothing_connected(&owner, &request).await?;
    ensure!(statuses.iter().all(|it| *it == 403), "{statuses:?}");
    Ok(format!("{statuses:?}, pending"))
}

async fn start_with_guests() -> Result<(Harness, Deployment)> {
    let mut arguments = vec!["--allow-guests"];
    arguments.extend(LIFTED);
    let stack = Harness::start(&arguments).await?;
    let deployment = Deployment::new(stack.ready().clone()).await?;
    Ok((stack, deployment))
}

async fn guest_callback_in_another_browser(_: &AttackTargets) -> Result<String> {
    let (_stack, deployment) = start_with_guests().await?;
    let owner = deployment.new_user().await?;
    let request = owner.begin().await?;
    let (mut guest, mut other) = (deployment.browser()?, deployment.browser()?);

    let start_page = guest.open(text(&request, "authorization_url")?).await?;
    ensure!(start_page.url.path().starts_with("/connect/"), "{}", start_page.test_error("no page asks first"));
    ensure!(start_page.html.contains(&owner.email), "{}", start_page.test_error("who receives access is not named"));
    let consent = guest.press(&start_page, "Continue to Sandbox", &[]).await?;

    // The platform's response to the guest's browser arrives in another browser.
    let refused = other.press(&consent, "Allow", &[]).await?;
    ensure_nothing_connected(&owner, &request).await?;
    ensure!(refused.status == 403, "{}", refused.test_error("another browser was let in"));

    let ended = guest.press(&consent, "Allow", &[]).await?;
    let status = owner.api.get(text(&request, "poll_url")?).await?.ok(200)?;
    ensure!(status["status"] == "completed", "{}", ended.test_error(&status.to_string()));
    ensure!(ended.html.contains(&owner.email), "{}", ended.test_error("who received it is not named"));
    Ok(format!("{}, then completed in the first browser", refused.status.as_u16()))
}

async fn forged_guest_form(_: &AttackTargets) -> Result<String> {
    let (_stack, deployment) = start_with_guests().await?;
    let attacker = deployment.new_user().await?;
    let request = attacker.begin().await?;
    let page = text(&request, "authorization_url")?;

    let mut statuses = Vec::new();
    let mut victim = deployment.browser()?;
    statuses.push(victim.post(page, &[]).await?.status.as_u16());
    victim.open(page).await?;
    statuses.push(victim.post(page, &[]).await?.status.as_u16());
    statuses.push(victim.post(page, &[("csrf", "AAAA")]).await?.status.as_u16());

    ensure_nothing_connected(&attacker, &request).await?;
    ensure!(statuses.iter().all(|it| *it == 403), "{statuses:?}");
    Ok(format!("{statuses:?}, {}", json!("pending")))
}
