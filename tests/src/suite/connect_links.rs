//! Connect links: a customer connects accounts for a profile, without an account of the service.

use serde_json::json;

use super::pages::check_page;
use crate::{
    browser::{Browser, Page},
    checks,
    deployment::{Deployment, User, complete_consent, fresh},
    ensure,
    error::{Result, same},
    http_response::{integer, list, text},
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "connect links",
        [
            customer_connects_accounts_and_returns,
            customer_cancels_and_returns,
            invalid_link_is_refused,
            link_asks_for_consents_only_where_a_post_needs_one,
        ]
    )
}

struct Link {
    id: i64,
    url: String,
    profile: i64,
}

async fn a_link(user: &User<'_>) -> Result<Link> {
    let profile = integer(&user.api.post("/profiles", &json!({ "name": "The Harbor" })).await?.ok(201)?, "id")?;
    let return_url = format!("{}/docs?tab=1", user.deployment.origin());
    let body = json!({ "profile_id": profile, "return_url": return_url });
    let link = user.api.post("/connect-links", &body).await?.ok(201)?;
    Ok(Link { id: integer(&link, "id")?, url: text(&link, "url")?.to_owned(), profile })
}

/// Opens the link; returns the page with the platforms.
async fn open(browser: &mut Browser, link: &Link) -> Result<Page> {
    let page = browser.open(&link.url).await?;
    check_page(&page, true)?;
    let page = browser.press(&page, "Continue", &[]).await?;
    check_page(&page, true)?;
    let secret = link.url.rsplit('/').next().unwrap_or_default();
    ensure!(!page.url.path().contains(secret), "{}", page.test_error("its address has the secret of the link"));
    Ok(page)
}

/// Allows or denies access to an account of the sandbox; returns the last page.
async fn connect(browser: &mut Browser, page: &Page, account: usize, decision: &str) -> Result<Page> {
    let Some(form) = page.form_with_field("csrf").filter(|it| it.action.ends_with("/connect")) else {
        return Err(page.test_error("there are no platforms"));
    };
    let sandbox = form.buttons.iter().find(|it| it.sends.as_ref().is_some_and(|(_, value)| value == "sandbox"));
    let consent = browser.submit(page, &form, sandbox, &[]).await?;
    complete_consent(browser, consent, account, decision).await
}

fn returned(page: &Page, link: &Link, status: &str) -> Result {
    let query = format!("tab=1&connect_link={}&status={status}", link.id);
    ensure!(
        page.url.path() == "/docs" && page.url.query() == Some(&query),
        "{}",
        page.test_error("it is not the product")
    );
    Ok(())
}

async fn customer_connects_accounts_and_returns(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let link = a_link(&user).await?;
    let mut browser = deployment.browser()?;
    let first = browser.open(&link.url).await?;
    ensure!(first.html.contains(&user.email), "{}", first.test_error("the page does not name the recipient"));

    let mut page = open(&mut browser, &link).await?;
    for account in [0, 1, 0] {
        page = connect(&mut browser, &page, account, "Allow").await?;
        check_page(&page, true)?;
    }
    page = browser.open(&link.url).await?;
    let listed = user.api.get(&format!("/connections?profile_id={}", link.profile)).await?.ok(200)?;
    same(list(&listed, "data")?.len(), 2, "the accounts of the profile, one of which was connected twice")?;
    for account in list(&listed, "data")? {
        let name = format!("@{}", text(account, "username")?);
        ensure!(page.html.contains(&name), "{}", page.test_error(&format!("{name} is not on the page")));
    }
    let end = browser.press(&page, "Done", &[]).await?;
    returned(&end, &link, "completed")?;
    returned(&browser.open(&link.url).await?, &link, "completed")
}

async fn customer_cancels_and_returns(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let link = a_link(&user).await?;
    let mut browser = deployment.browser()?;
    let page = open(&mut browser, &link).await?;
    let denied = connect(&mut browser, &page, 0, "Deny").await?;
    ensure!(denied.html.contains("Access was denied"), "{}", denied.test_error("it does not say why"));
    ensure!(denied.html.contains(page.url.path()), "{}", denied.test_error("it does not lead back"));
    returned(&browser.press(&page, "Cancel", &[]).await?, &link, "cancelled")
}

async fn invalid_link_is_refused(deployment: &Deployment) -> Result {
    let (user, other) = (deployment.new_user().await?, deployment.new_user().await?);
    let profile = integer(&user.api.post("/profiles", &json!({ "name": "The Harbor" })).await?.ok(201)?, "id")?;
    let return_url = format!("{}/docs", deployment.origin());
    for (body, field) in [
        (json!({ "return_url": return_url }), "profile_id"),
        (json!({ "profile_id": profile }), "return_url"),
        (json!({ "profile_id": profile, "return_url": "https://evil.example/" }), "return_url"),
        (json!({ "profile_id": profile, "return_url": return_url, "expires_in": 1 }), "expires_in"),
        (json!({ "profile_id": profile, "return_url": return_url, "expires_in": 604_801 }), "expires_in"),
        (json!({ "profile_id": profile, "return_url": return_url, "platforms": ["myspace"] }), "platforms.0"),
        (json!({ "profile_id": profile, "return_url": return_url, "platforms": [] }), "platforms"),
        (json!({ "profile_id": profile, "return_url": return_url, "brand": "Acme" }), "brand"),
        (json!({ "profile_id": "1", "return_url": return_url }), "profile_id"),
    ] {
        user.api.post("/connect-links", &body).await?.invalid(&[field])?;
    }
    let body = json!({ "profile_id": profile, "return_url": return_url });
    other.api.post("/connect-links", &body).await?.invalid(&["profile_id"])?;
    let missing = deployment.browser()?.open(&format!("{}/connect-links/unknown", deployment.origin())).await?;
    same(missing.status.as_u16(), 404, "the status of a link that does not exist")
}

/// The sandbox requires no consent; `tests/browser/tiktok.mjs` gives one.
async fn link_asks_for_consents_only_where_a_post_needs_one(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let profile = integer(&user.api.post("/profiles", &json!({ "name": "The Harbor" })).await?.ok(201)?, "id")?;
    let account = integer(&user.connect_for(profile, 0).await?, "id")?;
    let post = json!({ "content": fresh("consents"), "platforms": [{ "connected_account_id": account }] });
    let post = integer(&user.create(&post).await?, "id")?;
    let mut body =
        json!({ "profile_id": profile, "post_id": post, "return_url": format!("{}/docs", deployment.origin()) });
    user.api.post("/connect-links", &body).await?.invalid(&["post_id"])?;
    body["platforms"] = json!(["sandbox"]);
    user.api.post("/connect-links", &body).await?.invalid(&["platforms", "post_id"])?;

    let (mut browser, unknown) = (deployment.browser()?, format!("{}/connect-links/unknown", deployment.origin()));
    for missing in [
        browser.open(&format!("{unknown}/consent")).await?,
        browser.open(&format!("{unknown}/files/1")).await?,
        browser.post(&format!("{unknown}/consent/{account}"), &[("csrf", "AAAA")]).await?,
    ] {
        same(missing.status.as_u16(), 404, "the status of a link that does not exist")?;
        check_page(&missing, true)?;
    }
    Ok(())
}
