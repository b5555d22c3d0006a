//! Connecting an account of a platform other than the sandbox.

use std::collections::BTreeMap;

use platforms::conformance::network::{Decision, Network};
use reqwest::{Method, header::LOCATION};
use secrecy::ExposeSecret;
use serde_json::Value;
use url::{Url, form_urlencoded};

use crate::{
    answer::text,
    ensure,
    fault::{Fault, Result},
    world::User,
};

/// Connects the account of a network: our page, the platform's, and back.
pub async fn connect<N: Network>(user: &User<'_>, network: &N) -> Result<Value> {
    let begun = user.api.call(Method::POST, &format!("/connections/connect/{}", N::NAME)).send().await?.ok(201)?;
    let answers = network.answers().into_iter().map(|(name, it)| (name, it.expose_secret().to_owned()));
    let departed = departs(user, &begun, &answers.collect()).await?;
    let back = network.decide(departed.as_str(), Decision::Allow).await;
    returns(user, N::NAME, &back).await?;
    connected(user, &begun).await
}

/// Fills in our page; returns the address to which the person is sent then.
pub async fn departs(user: &User<'_>, begun: &Value, answers: &BTreeMap<String, String>) -> Result<Url> {
    let page = Url::parse(text(begun, "authorization_url")?)?;
    let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(answers).finish();
    let request = user.world.http().post(page.clone()).header("origin", page.origin().ascii_serialization());
    let response = request.header("content-type", "application/x-www-form-urlencoded").body(form).send().await?;
    let Some(location) = response.headers().get(LOCATION).and_then(|it| it.to_str().ok()) else {
        return Err(Fault::new(format!("our page answered {}: {}", response.status(), response.text().await?)));
    };
    Ok(page.join(location)?)
}

/// The person comes back with the platform's answer.
pub async fn returns(user: &User<'_>, platform: &str, query: &BTreeMap<String, String>) -> Result {
    let mut callback = Url::parse(&format!("{}/connect/callback/{platform}", user.world.origin()))?;
    callback.query_pairs_mut().extend_pairs(query);
    let answered = user.world.http().get(callback).send().await?.status();
    ensure!(answered.is_redirection(), "the callback answered {answered}");
    Ok(())
}

/// The connection that a hand-off has made.
pub async fn connected(user: &User<'_>, begun: &Value) -> Result<Value> {
    let status = user.api.get(text(begun, "poll_url")?).await?.ok(200)?;
    ensure!(status["status"] == "completed", "the hand-off is {status}: {}", page_of(user, begun).await?);
    Ok(status["connection"].clone())
}

/// What the page of a hand-off says.
async fn page_of(user: &User<'_>, begun: &Value) -> Result<String> {
    let token = text(begun, "state_token")?;
    Ok(user.world.http().get(format!("{}/connect/{token}", user.world.origin())).send().await?.text().await?)
}
