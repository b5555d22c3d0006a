//! Connecting an account of a platform other than the sandbox.

use std::collections::BTreeMap;

use platforms::conformance::network::{Decision, Network};
use reqwest::Method;
use secrecy::ExposeSecret;
use serde_json::Value;
use url::Url;

use crate::{
    answer::text,
    browser::{Browser, Page},
    deployment::User,
    ensure,
    error::Result,
    html::Form,
};

/// Connects the account of a network: our form if it has fields, the platform's page if it has one,
/// and the callback.
pub async fn connect(user: &User<'_>, network: &dyn Network) -> Result<Value> {
    let begun =
        user.api.call(Method::POST, &format!("/connections/connect/{}", network.name())).send().await?.ok(201)?;
    let answers = network.answers().into_iter().map(|(name, it)| (name, it.expose_secret().to_owned())).collect();
    if network.has_page() {
        let first = text(&begun, "authorization_url")?;
        let is_ours = first.starts_with(user.deployment.origin());
        let departed = if is_ours { departs(user, &begun, &answers).await? } else { Url::parse(first)? };
        let back = network.send_back(departed.as_str(), Decision::Allow).await;
        returns(user, &back).await?;
    } else {
        types(user, &begun, &answers).await?;
    }
    connected(user, &begun).await
}

/// Submits our form; returns the address that it redirects to.
pub async fn departs(user: &User<'_>, begun: &Value, answers: &BTreeMap<String, String>) -> Result<Url> {
    let (mut browser, page, form) = asked(user, begun).await?;
    browser.leads_on(&page, &form, &pairs(answers)).await
}

/// Submits our form when its values are enough to connect an account.
pub async fn types(user: &User<'_>, begun: &Value, answers: &BTreeMap<String, String>) -> Result<Page> {
    let (mut browser, page, form) = asked(user, begun).await?;
    browser.submit(&page, &form, form.buttons.first(), &pairs(answers)).await
}

/// Our page, in a browser in which the user is signed in.
async fn asked(user: &User<'_>, begun: &Value) -> Result<(Browser, Page, Form)> {
    let mut browser = user.browser.clone();
    let page = browser.open(text(begun, "authorization_url")?).await?;
    // Another form of the page signs out.
    let form = page.forms().into_iter().find(|it| it.action.starts_with("/connect/"));
    let form = form.ok_or_else(|| page.test_error("there is no form to fill in"))?;
    Ok((browser, page, form))
}

fn pairs(answers: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    answers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// Opens the callback that the platform redirects to.
pub async fn returns(user: &User<'_>, back: &Url) -> Result {
    let page = user.browser.clone().open(back.as_str()).await?;
    ensure!(page.status.is_success(), "{}", page.test_error("the answer was refused"));
    Ok(())
}

/// The connection that a connect flow has created.
pub async fn connected(user: &User<'_>, begun: &Value) -> Result<Value> {
    let status = user.api.get(text(begun, "poll_url")?).await?.ok(200)?;
    ensure!(status["status"] == "completed", "the connect flow is {status}: {}", page_of(user, begun).await?);
    Ok(status["connection"].clone())
}

/// The text of a connect flow's page.
async fn page_of(user: &User<'_>, begun: &Value) -> Result<String> {
    let token = text(begun, "state_token")?;
    let page = user.browser.clone().open(&format!("{}/connect/{token}", user.deployment.origin())).await?;
    Ok(page.html)
}
