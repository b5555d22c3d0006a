//! Attempts to bring the code of one server to another (mix-up attacks).

use std::collections::BTreeMap;

use domain::clock::Clock;
use fakes::conformance::fake_platform::{Call, Decision, Detour, FakePlatform};
use fakes::{mastodon::Server, matrix::Matrix};
use reqwest::Method;
use secrecy::ExposeSecret;
use serde_json::Value;

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    deployment::{Deployment, User},
    ensure,
    error::Result,
    harness::{Harness, LIFTED},
    http_response::{list, text},
    platforms::connecting::{submit_form_for_redirect, types},
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(2, [
        "a hostile server redirects the user to an honest one, with the state of its own connect flow",
            "the connect flow fails, and no code is sent to either server" => code_of_another_server;
        "a hostile homeserver sends the person on to the old page of an honest one, which gives its token to any address",
            "no redirect to the hostile page" => old_page_of_another_homeserver;
        "a hostile homeserver names the authorization server of an honest one as its own",
            "no redirect to it" => authorization_server_of_another_homeserver;
        "a hostile homeserver sends the person on to the page of an honest one, where it registered as this service",
            "the connect flow fails, and nothing secret is sent to the hostile one" => page_of_another_homeserver;
    ])
}

/// Returns the flow, and the page to open.
async fn begin_connect_flow(user: &User<'_>, server: &Server) -> Result<(Value, url::Url)> {
    let flow = user.api.call(Method::POST, "/connections/connect/mastodon").send().await?.ok(201)?;
    let field_values = [("server".to_owned(), server.base_url().to_owned())];
    let page = submit_form_for_redirect(user, &flow, &field_values.into()).await?;
    Ok((flow, page))
}

async fn code_of_another_server(_: &AttackTargets) -> Result<String> {
    let (hostile, honest): (Server, Server) = (Server::start(Clock::System).await, Server::start(Clock::System).await);
    let addresses: Vec<_> =
        [hostile.addresses(), honest.addresses()].concat().iter().map(ToString::to_string).collect();
    let mut arguments: Vec<_> = addresses.iter().flat_map(|it| ["--allow-fetch-from", it]).collect();
    arguments.extend(LIFTED);
    let stack = Harness::start(&arguments).await?;
    let deployment = Deployment::new(stack.ready().clone()).await?;
    let user = deployment.new_user().await?;
    let (flow, _) = begin_connect_flow(&user, &hostile).await?;
    let (_, mut page) = begin_connect_flow(&user, &honest).await?;
    let calls = || (hostile.call_count(Call::Exchange), honest.call_count(Call::Exchange));
    let before = calls();

    // The hostile server knows our client id at the honest one, which is no secret.
    let state = text(&flow, "state_token")?.to_owned();
    let pairs: Vec<_> = page.query_pairs().into_owned().collect();
    page.query_pairs_mut().clear().extend_pairs(pairs.into_iter().filter(|it| it.0 != "state"));
    page.query_pairs_mut().append_pair("state", &state);
    let callback = honest.redirect_url(page.as_str(), Decision::Allow).await;
    user.browser.clone().open(callback.as_str()).await?;

    let status = user.api.get(text(&flow, "poll_url")?).await?.ok(200)?;
    ensure!(calls() == before, "a code was sent: {:?} calls before, {:?} after; {status}", before, calls());
    ensure!(status["status"] == "failed", "the connect flow is {status}");
    let all = user.api.get("/connections").await?.ok(200)?;
    ensure!(list(&all, "data")?.is_empty(), "connected: {all}");
    Ok("failed, no call".to_owned())
}

struct Homeservers<N> {
    hostile: N,
    honest: N,
    deployment: Deployment,
    _stack: Harness,
}

impl<N: FakePlatform> Homeservers<N> {
    async fn start(detour: Detour) -> Result<Self> {
        let (hostile, honest) = (N::start(Clock::System).await, N::start(Clock::System).await);
        let addresses = [hostile.addresses(), honest.addresses()].concat();
        let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        let mut arguments: Vec<_> = addresses.iter().flat_map(|it| ["--allow-fetch-from", it]).collect();
        arguments.extend(LIFTED);
        let stack = Harness::start(&arguments).await?;
        let deployment = Deployment::new(stack.ready().clone()).await?;
        ensure!(hostile.redirect_users_to(&honest.detour_target(), detour), "there is no redirect to it");
        Ok(Self { hostile, honest, deployment, _stack: stack })
    }

    /// The user names the hostile homeserver. Returns the flow and the field values.
    async fn begin_at_hostile(&self, user: &User<'_>) -> Result<(Value, BTreeMap<String, String>)> {
        let flow = user.api.call(Method::POST, "/connections/connect/matrix").send().await?.ok(201)?;
        let field_values = self.hostile.form_values_naming_server().unwrap_or_default();
        Ok((flow, field_values.into_iter().map(|(name, it)| (name, it.expose_secret().to_owned())).collect()))
    }

    /// Our form shows an error, and the hostile homeserver receives nothing.
    async fn ensure_user_stays(self) -> Result<String> {
        let user = self.deployment.new_user().await?;
        let (flow, field_values) = self.begin_at_hostile(&user).await?;
        let page = types(&user, &flow, &field_values).await?;
        ensure!(page.form_with_field("password").is_some(), "{}", page.test_error("it asks for no password or token"));
        ensure!(page.url.as_str().starts_with(user.deployment.origin()), "{}", page.test_error("the person left"));
        self.ensure_no_secret_leaked("")?;
        Ok("our page asks for a token".to_owned())
    }

    fn ensure_no_secret_leaked(&self, proof: &str) -> Result {
        let secrets = self.honest.issued_secrets().into_iter().chain([proof.to_owned()]).filter(|it| !it.is_empty());
        let received = secrets.filter(|it| self.hostile.has_received(it)).count();
        ensure!(received == 0, "the hostile homeserver was sent {received} secrets of the honest one");
        Ok(())
    }
}

async fn old_page_of_another_homeserver(_: &AttackTargets) -> Result<String> {
    Homeservers::<Matrix>::start(Detour::Redirected).await?.ensure_user_stays().await
}

async fn authorization_server_of_another_homeserver(_: &AttackTargets) -> Result<String> {
    Homeservers::<Matrix<true>>::start(Detour::Named).await?.ensure_user_stays().await
}

async fn page_of_another_homeserver(_: &AttackTargets) -> Result<String> {
    let homeservers = Homeservers::<Matrix<true>>::start(Detour::Redirected).await?;
    let user = homeservers.deployment.new_user().await?;
    let (flow, field_values) = homeservers.begin_at_hostile(&user).await?;
    let page = submit_form_for_redirect(&user, &flow, &field_values).await?;

    let callback = homeservers.honest.redirect_url(page.as_str(), Decision::Allow).await;
    user.browser.clone().open(callback.as_str()).await?;

    let code = callback.query_pairs().find(|it| it.0 == "code").map(|it| it.1.into_owned()).unwrap_or_default();
    ensure!(!code.is_empty(), "the honest homeserver gave no code");
    homeservers.ensure_no_secret_leaked(&code)?;
    let status = user.api.get(text(&flow, "poll_url")?).await?.ok(200)?;
    ensure!(status["status"] == "failed", "the connect flow is {status}");
    Ok("failed, the code was not sent".to_owned())
}
