//! Connecting an account of a platform other than the sandbox.

use std::collections::BTreeMap;

use fakes::conformance::fake_platform::{Decision, FakePlatform};
use secrecy::ExposeSecret;
use serde_json::Value;
use url::Url;

use crate::{
    browser::{Browser, Page},
    deployment::User,
    ensure,
    error::Result,
    html::Form,
    http_response::text,
};

/// Connects the account of a network: our form if it has fields, the platform's page if it has one,
/// and the callback.
pub async fn connect(user: &User<'_>, fake: &dyn FakePlatform) -> Result<Value> {
    let flow = user.begin_at(fake.name()).await?;
    complete(user, fake, &flow).await
}

pub async fn connect_for(user: &User<'_>, fake: &dyn FakePlatform, profile: i64) -> Result<Value> {
    let flow = user.begin_at(&format!("{}?profile_id={profile}", fake.name())).await?;
    complete(user, fake, &flow).await
}

async fn complete(user: &User<'_>, fake: &dyn FakePlatform, flow: &Value) -> Result<Value> {
    let field_values = fake.form_values().into_iter().map(|(name, it)| (name, it.expose_secret().to_owned())).collect();
    if fake.has_authorization_page() {
        let first = text(flow, "authorization_url")?;
        let is_ours = first.starts_with(user.deployment.origin());
        let redirect =
            if is_ours { submit_form_for_redirect(user, flow, &field_values).await? } else { Url::parse(first)? };
        let callback = fake.redirect_url(redirect.as_str(), Decision::Allow).await;
        returns(user, &callback).await?;
    } else {
        types(user, flow, &field_values).await?;
    }
    connected(user, flow).await
}

/// Submits our form; returns the address that it redirects to.
pub async fn submit_form_for_redirect(
    user: &User<'_>,
    flow: &Value,
    field_values: &BTreeMap<String, String>,
) -> Result<Url> {
    let (mut browser, page, form) = open_form(user, flow).await?;
    browser.submit_for_redirect(&page, &form, &as_pairs(field_values)).await
}

/// Submits our form when its values are enough to connect an account.
pub async fn types(user: &User<'_>, flow: &Value, field_values: &BTreeMap<String, String>) -> Result<Page> {
    let (mut browser, page, form) = open_form(user, flow).await?;
    browser.submit(&page, &form, form.buttons.first(), &as_pairs(field_values)).await
}

/// Our page, in a browser in which the user is signed in.
async fn open_form(user: &User<'_>, flow: &Value) -> Result<(Browser, Page, Form)> {
    let mut browser = user.browser.clone();
    let page = browser.open(text(flow, "authorization_url")?).await?;
    // Another form of the page signs out.
    let form = page.forms().into_iter().find(|it| it.action.starts_with("/connect/"));
    let form = form.ok_or_else(|| page.test_error("there is no form to fill in"))?;
    Ok((browser, page, form))
}

fn as_pairs(field_values: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    field_values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// Opens the callback that the platform redirects to.
pub async fn returns(user: &User<'_>, callback: &Url) -> Result {
    let page = user.browser.clone().open(callback.as_str()).await?;
    ensure!(page.status.is_success(), "{}", page.test_error("the answer was refused"));
    Ok(())
}

pub async fn connected(user: &User<'_>, flow: &Value) -> Result<Value> {
    let status = user.api.get(text(flow, "poll_url")?).await?.ok(200)?;
    ensure!(status["status"] == "completed", "the connect flow is {status}: {}", read_flow_page(user, flow).await?);
    Ok(status["connection"].clone())
}

async fn read_flow_page(user: &User<'_>, flow: &Value) -> Result<String> {
    let token = text(flow, "state_token")?;
    let page = user.browser.clone().open(&format!("{}/connect/{token}", user.deployment.origin())).await?;
    Ok(page.html)
}
