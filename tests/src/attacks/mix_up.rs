//! Attempts to have the code of one server brought to another.

use domain::clock::Clock;
use networks::mastodon::Server;
use platforms::conformance::network::{Call, Decision, Network};
use reqwest::Method;
use serde_json::Value;

use super::{Arena, Attack};
use crate::{
    answer::{list, text},
    attacks, ensure,
    fault::Result,
    harness::{Harness, LIFTED},
    platforms::connecting::departs,
    world::{User, World},
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(2, [
        "a hostile server sends the person on to an honest one, with the state of its own hand-off",
            "the hand-off fails, and no code is sent to either server" => the_code_of_another_server;
    ])
}

/// Begins a hand-off at a server; what was begun, and the page to go to.
async fn begin(user: &User<'_>, server: &Server) -> Result<(Value, url::Url)> {
    let begun = user.api.call(Method::POST, "/connections/connect/mastodon").send().await?.ok(201)?;
    let answers = [("server".to_owned(), server.base_url().to_owned())];
    let page = departs(user, &begun, &answers.into()).await?;
    Ok((begun, page))
}

async fn the_code_of_another_server(_: &Arena) -> Result<String> {
    let (hostile, honest): (Server, Server) = (Server::start(Clock::System).await, Server::start(Clock::System).await);
    let addresses: Vec<_> =
        [hostile.addresses(), honest.addresses()].concat().iter().map(ToString::to_string).collect();
    let mut arguments: Vec<_> = addresses.iter().flat_map(|it| ["--allow-fetch-from", it]).collect();
    arguments.extend(LIFTED);
    let stack = Harness::start(&arguments).await?;
    let world = World::new(stack.ready().clone()).await?;
    let user = world.new_user().await?;
    let (begun, _) = begin(&user, &hostile).await?;
    let (_, mut page) = begin(&user, &honest).await?;
    let calls = || (hostile.calls(Call::Exchange), honest.calls(Call::Exchange));
    let before = calls();

    // The hostile server knows our id at the honest one, which is no secret.
    let state = text(&begun, "state_token")?.to_owned();
    let pairs: Vec<_> = page.query_pairs().into_owned().collect();
    page.query_pairs_mut().clear().extend_pairs(pairs.into_iter().filter(|it| it.0 != "state"));
    page.query_pairs_mut().append_pair("state", &state);
    let back = honest.send_back(page.as_str(), Decision::Allow).await;
    user.browser.clone().open(back.as_str()).await?;

    let status = user.api.get(text(&begun, "poll_url")?).await?.ok(200)?;
    ensure!(calls() == before, "a code was sent: {:?} calls before, {:?} after; {status}", before, calls());
    ensure!(status["status"] == "failed", "the hand-off is {status}");
    let all = user.api.get("/connections").await?.ok(200)?;
    ensure!(list(&all, "data")?.is_empty(), "connected: {all}");
    Ok("failed, no call".to_owned())
}
