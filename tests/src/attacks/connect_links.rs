//! Attempts to misuse a connect link: to connect a victim's account elsewhere, or to lead a customer away.

use reqwest::header::{CONTENT_SECURITY_POLICY, X_FRAME_OPTIONS};
use serde_json::json;

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    browser::{Browser, Page},
    deployment::{User, complete_consent},
    ensure,
    error::Result,
    http_response::{HttpResponse, integer, list, text},
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(25, [
        "a link that a customer has opened is forwarded, and its later address copied",
            "403 in every other browser, also that of the user; nothing is connected" => forwarded_link;
        "two browsers press Continue at once, ten times", "one of them gets the link each time" => two_browsers;
        "the platform's response to a customer arrives in another browser", "403, nothing is connected" => stolen_callback;
        "a link is used again after the customer has ended it", "it leads to the product, nothing is connected" => replayed_link;
        "another site presses Continue, a platform and Done for a customer", "403, the link is as it was" => forged_forms;
        "return_url leads to another origin", "422 for each" => open_redirect;
        "another site shows the pages of a link in a frame", "refused by headers" => framed_pages;
    ])
}

struct Link {
    url: String,
    profile: i64,
}

async fn request_link(user: &User<'_>, return_url: &str) -> Result<(i64, HttpResponse)> {
    let profile = integer(&user.api.post("/profiles", &json!({ "name": "The Harbor" })).await?.ok(201)?, "id")?;
    let body = json!({ "profile_id": profile, "return_url": return_url });
    Ok((profile, user.api.post("/connect-links", &body).await?))
}

async fn a_link(user: &User<'_>) -> Result<Link> {
    let (profile, created) = request_link(user, &format!("{}/docs", user.deployment.origin())).await?;
    Ok(Link { url: text(&created.ok(201)?, "url")?.to_owned(), profile })
}

async fn opened(browser: &mut Browser, link: &Link) -> Result<Page> {
    let page = browser.open(&link.url).await?;
    browser.press(&page, "Continue", &[]).await
}

/// The hidden field that proves that a form comes from the page.
fn csrf_of(page: &Page) -> String {
    let fields = page.forms().into_iter().flat_map(|it| it.fields);
    fields.filter(|it| it.name == "csrf").find_map(|it| it.value).unwrap_or_default()
}

async fn connected(user: &User<'_>, link: &Link) -> Result<usize> {
    let listed = user.api.get(&format!("/connections?profile_id={}", link.profile)).await?.ok(200)?;
    Ok(list(&listed, "data")?.len())
}

async fn forwarded_link(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let (user, victim) = (deployment.new_user().await?, deployment.new_user().await?);
    let link = a_link(&user).await?;
    // Each browser has seen the first page, so its forms are its own.
    let mut browsers = Vec::new();
    for mut other in [deployment.browser()?, victim.browser.clone(), user.browser.clone()] {
        let preview = other.open(&link.url).await?;
        browsers.push((other, preview));
    }
    let mut customer = deployment.browser()?;
    let page = opened(&mut customer, &link).await?;
    let Some(form) = page.form_with_field("csrf") else { return Err(page.test_error("there are no platforms")) };
    let connect = page.url.join(&form.action)?;

    let mut statuses = Vec::new();
    for (mut other, preview) in browsers {
        let csrf = csrf_of(&preview);
        for address in [link.url.as_str(), page.url.as_str()] {
            statuses.push(other.open(address).await?.status.as_u16());
        }
        statuses.push(other.post(&link.url, &[("csrf", &csrf)]).await?.status.as_u16());
        statuses.push(other.post(connect.as_str(), &[("csrf", &csrf), ("platform", "sandbox")]).await?.status.as_u16());
    }

    ensure!(statuses.iter().all(|it| *it == 403), "{statuses:?}");
    ensure!(connected(&user, &link).await? == 0, "an account is connected");
    Ok(format!("403 for {} requests of 3 browsers", statuses.len()))
}

async fn two_browsers(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let user = deployment.new_user().await?;
    for _ in 0..10 {
        let link = a_link(&user).await?;
        let (mut first, mut second) = (deployment.browser()?, deployment.browser()?);
        let (one, other) = (first.open(&link.url).await?, second.open(&link.url).await?);
        let (one, other) = tokio::join!(first.press(&one, "Continue", &[]), second.press(&other, "Continue", &[]));
        let mut statuses = [one?.status.as_u16(), other?.status.as_u16()];
        statuses.sort_unstable();
        ensure!(statuses == [200, 403], "{statuses:?}");
    }
    Ok("200 and 403, ten times".to_owned())
}

async fn consent(customer: &mut Browser, link: &Link) -> Result<Page> {
    let page = opened(customer, link).await?;
    customer.press(&page, "Sandbox", &[]).await
}

async fn stolen_callback(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let user = deployment.new_user().await?;
    let link = a_link(&user).await?;
    let mut customer = deployment.browser()?;
    let page = consent(&mut customer, &link).await?;

    let mut statuses = Vec::new();
    for mut other in [deployment.browser()?, user.browser.clone()] {
        statuses.push(other.press(&page, "Allow", &[]).await?.status.as_u16());
    }

    ensure!(statuses == [403, 403] && connected(&user, &link).await? == 0, "{statuses:?}");
    Ok(format!("{statuses:?}, nothing is connected"))
}

async fn replayed_link(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let user = deployment.new_user().await?;
    let link = a_link(&user).await?;
    let mut customer = deployment.browser()?;
    let page = consent(&mut customer, &link).await?;
    let page = complete_consent(&mut customer, page, 0, "Allow").await?;
    customer.press(&page, "Done", &[]).await?;
    let connections = connected(&user, &link).await?;

    let again = customer.press(&page, "Sandbox", &[]).await?;
    ensure!(again.url.path() == "/docs", "{}", again.test_error("it does not lead to the product"));
    let other = deployment.browser()?.open(&link.url).await?.status.as_u16();
    ensure!((other, connected(&user, &link).await?) == (403, connections), "{other}");
    Ok(format!("to the product; {other} in another browser"))
}

async fn forged_forms(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let user = deployment.new_user().await?;
    let link = a_link(&user).await?;
    let mut customer = deployment.browser()?;
    let mut statuses = Vec::new();
    customer.open(&link.url).await?;
    statuses.push(customer.post(&link.url, &[("csrf", "AAAA")]).await?.status.as_u16());
    let page = opened(&mut customer, &link).await?;
    for button in ["connect", "end"] {
        let address = page.url.as_str().replace("/accounts", &format!("/{button}"));
        statuses.push(customer.post(&address, &[("csrf", "AAAA"), ("platform", "sandbox")]).await?.status.as_u16());
    }

    let after = customer.open(page.url.as_str()).await?;
    ensure!(statuses == [403; 3] && after.form_with_button("Cancel").is_some(), "{statuses:?}");
    Ok(format!("{statuses:?}, the link is open"))
}

async fn open_redirect(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let user = deployment.new_user().await?;
    let origin = deployment.origin();
    let host = origin.split_once("://").map_or(origin, |it| it.1);
    let urls = [
        "https://evil.example/".to_owned(),
        format!("{origin}.evil.example/"),
        format!("{origin}@evil.example/"),
        format!("https://evil.example/{origin}"),
        format!("https://evil.example#{origin}"),
        format!("https://evil.example?{origin}"),
        format!("https://{host}/"),
        format!("//{host}/"),
        "//evil.example".to_owned(),
        "/docs".to_owned(),
        "javascript:alert(1)".to_owned(),
        "data:text/html,<h1>".to_owned(),
        format!("{origin}/\r\nlocation: https://evil.example"),
        format!("\\\\evil.example\\{host}"),
    ];
    for url in &urls {
        let (_, response) = request_link(&user, url).await?;
        // A URL reader removes line breaks, so this one stays at its origin and is harmless.
        let is_harmless = url.contains('\n') && response.status == 201;
        ensure!(is_harmless || response.status == 422, "{url}: {} {}", response.status, response.text);
    }
    Ok(format!("{} URLs", urls.len()))
}

async fn framed_pages(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let user = deployment.new_user().await?;
    let link = a_link(&user).await?;
    let mut customer = deployment.browser()?;
    let pages = [customer.open(&link.url).await?, opened(&mut customer, &link).await?];
    for page in &pages {
        let header = |name| page.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let is_refused =
            header(X_FRAME_OPTIONS) == "DENY" && header(CONTENT_SECURITY_POLICY).contains("frame-ancestors 'none'");
        ensure!(is_refused, "{}", page.test_error("it can be framed"));
    }
    Ok("DENY and frame-ancestors 'none'".to_owned())
}
