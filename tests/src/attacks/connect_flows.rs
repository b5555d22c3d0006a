//! Attempts to connect a victim's account to the attacker's user.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Arena, Attack};
use crate::{
    answer::{list, text},
    attacks,
    browser::{Browser, Page},
    deployment::{Deployment, User, fresh_email},
    ensure,
    error::Result,
    harness::{Harness, LIFTED},
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(1, [
        "a victim who is signed in as themselves follows an attacker's link and allows access",
            "403, the page says whose it is, nothing is connected" => another_users_link;
        "a victim who is not signed in follows an attacker's link and allows access",
            "the sign-in is asked for, nothing is connected" => a_strangers_link;
        "a victim types an app password into an attacker's connect flow",
            "401 and 403, nothing is connected" => a_typed_password;
        "another site sends the owner's form for them",
            "403, and the connect flow is as it was" => a_forged_form;
        "guests permitted: a guest is sent off in one browser, and another browser comes back",
            "403, nothing is connected; the first browser can still end it" => a_guests_answer_elsewhere;
        "guests permitted: another site presses for a guest",
            "403, and no redirect to the platform" => a_forged_press;
    ])
}

/// Checks that the connect flow is still pending and has connected nothing.
async fn nothing_is_connected(attacker: &User<'_>, request: &Value) -> Result {
    let status = attacker.api.get(text(request, "poll_url")?).await?.ok(200)?;
    ensure!(status["status"] == "pending", "the connect flow is {status}");
    let all = attacker.api.get("/connections").await?.ok(200)?;
    ensure!(list(&all, "data")?.is_empty(), "connected: {all}");
    Ok(())
}

/// The victim allows access at the sandbox platform; returns the last page.
async fn allows(victim: &mut Browser, request: &Value) -> Result<Page> {
    let page = victim.open(text(request, "authorization_url")?).await?;
    victim.press(&page, "Allow", &[]).await
}

async fn another_users_link(arena: &Arena) -> Result<String> {
    let (attacker, mut victim) = (arena.lifted().new_user().await?, arena.lifted().new_user().await?);
    let request = attacker.begin().await?;

    let page = allows(&mut victim.browser, &request).await?;

    nothing_is_connected(&attacker, &request).await?;
    ensure!(page.status == 403, "{}", page.test_error("the victim was let in"));
    ensure!(page.html.contains(&attacker.email), "{}", page.test_error("the page does not name the owner"));
    Ok(format!("{} for {}, pending", page.status.as_u16(), attacker.email))
}

async fn a_strangers_link(arena: &Arena) -> Result<String> {
    let deployment = arena.lifted();
    let (attacker, mut victim) = (deployment.new_user().await?, deployment.browser()?);
    let request = attacker.begin().await?;

    let page = allows(&mut victim, &request).await?;

    nothing_is_connected(&attacker, &request).await?;
    ensure!(page.form_with_button("Sign in").is_some(), "{}", page.test_error("the victim was let in"));
    // The flow is not consumed: signed in as themselves the victim is denied, and the owner could
    // still return.
    let page = deployment.sign_in_on(&mut victim, page, &fresh_email()).await?;
    nothing_is_connected(&attacker, &request).await?;
    ensure!(page.status == 403, "{}", page.test_error("the victim was let in"));
    Ok(format!("the sign-in, then {}, pending", page.status.as_u16()))
}

async fn a_typed_password(arena: &Arena) -> Result<String> {
    let deployment = arena.lifted();
    let (attacker, victim) = (deployment.new_user().await?, deployment.new_user().await?);
    let request = attacker.api.call(Method::POST, "/connections/connect/bluesky").send().await?.ok(201)?;
    let page = text(&request, "authorization_url")?.to_owned();
    let typed = [("handle", "victim.example"), ("app_password", "abcd-efgh-ijkl-mnop")];

    let mut seen = Vec::new();
    for mut browser in [deployment.browser()?, victim.browser.clone()] {
        let asked = browser.open(&page).await?;
        ensure!(asked.form_with_field("app_password").is_none(), "{}", asked.test_error("a password is asked for"));
        seen.push(browser.post(&page, &typed).await?.status.as_u16());
    }

    nothing_is_connected(&attacker, &request).await?;
    ensure!(seen == [401, 403], "{seen:?}");
    Ok(format!("{seen:?}, pending"))
}

async fn a_forged_form(arena: &Arena) -> Result<String> {
    let owner = arena.lifted().new_user().await?;
    let request = owner.api.call(Method::POST, "/connections/connect/mastodon").send().await?.ok(201)?;
    let page = text(&request, "authorization_url")?;

    let mut seen = Vec::new();
    for form in [&[("cancel", "1")][..], &[("server", "evil.example")], &[("cancel", "1"), ("csrf", "AAAA")]] {
        seen.push(owner.browser.clone().post(page, form).await?.status.as_u16());
    }

    nothing_is_connected(&owner, &request).await?;
    ensure!(seen.iter().all(|it| *it == 403), "{seen:?}");
    Ok(format!("{seen:?}, pending"))
}

/// A service that lets guests connect accounts.
async fn with_guests() -> Result<(Harness, Deployment)> {
    let mut arguments = vec!["--allow-guests"];
    arguments.extend(LIFTED);
    let stack = Harness::start(&arguments).await?;
    let deployment = Deployment::new(stack.ready().clone()).await?;
    Ok((stack, deployment))
}

async fn a_guests_answer_elsewhere(_: &Arena) -> Result<String> {
    let (_stack, deployment) = with_guests().await?;
    let agency = deployment.new_user().await?;
    let request = agency.begin().await?;
    let (mut guest, mut other) = (deployment.browser()?, deployment.browser()?);

    let asked = guest.open(text(&request, "authorization_url")?).await?;
    ensure!(asked.url.path().starts_with("/connect/"), "{}", asked.test_error("no page asks first"));
    ensure!(asked.html.contains(&agency.email), "{}", asked.test_error("who receives access is not named"));
    let consent = guest.press(&asked, "Continue to Sandbox", &[]).await?;

    // The platform's response to the guest's browser arrives in another browser.
    let refused = other.press(&consent, "Allow", &[]).await?;
    nothing_is_connected(&agency, &request).await?;
    ensure!(refused.status == 403, "{}", refused.test_error("another browser was let in"));

    let ended = guest.press(&consent, "Allow", &[]).await?;
    let status = agency.api.get(text(&request, "poll_url")?).await?.ok(200)?;
    ensure!(status["status"] == "completed", "{}", ended.test_error(&status.to_string()));
    ensure!(ended.html.contains(&agency.email), "{}", ended.test_error("who received it is not named"));
    Ok(format!("{}, then completed in the first browser", refused.status.as_u16()))
}

async fn a_forged_press(_: &Arena) -> Result<String> {
    let (_stack, deployment) = with_guests().await?;
    let attacker = deployment.new_user().await?;
    let request = attacker.begin().await?;
    let page = text(&request, "authorization_url")?;

    let mut seen = Vec::new();
    let mut victim = deployment.browser()?;
    seen.push(victim.post(page, &[]).await?.status.as_u16());
    victim.open(page).await?;
    seen.push(victim.post(page, &[]).await?.status.as_u16());
    seen.push(victim.post(page, &[("csrf", "AAAA")]).await?.status.as_u16());

    nothing_is_connected(&attacker, &request).await?;
    ensure!(seen.iter().all(|it| *it == 403), "{seen:?}");
    Ok(format!("{seen:?}, {}", json!("pending")))
}
