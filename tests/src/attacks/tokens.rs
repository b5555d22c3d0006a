//! Attacks with invalid, expired or revoked tokens.

use std::{net::Ipv4Addr, ops::Range};

use domain::{access_token::AccessToken, id::UserId};
use futures::future::join_all;
use reqwest::{Client, Method};
use secrecy::ExposeSecret;
use serde_json::json;

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    client::Api,
    deployment::{Deployment, User},
    ensure,
    error::{Result, TestError},
    harness::Harness,
    http_response::{HttpResponse, list},
    moment,
};

pub(super) fn attacks() -> Vec<Attack> {
    let mut all = attacks!(6, [
        "a revoked token is sent 100 times concurrently", "401 or 429, and its owner's limit is unchanged" => revoked_token;
        "100 tokens are invented with a user's id", "401 or 429, and the user's limit is unchanged" => forged_tokens_of_a_user;
    ]);
    all.extend(attacks!(12, [
        "a browser goes on after \"Sign out everywhere\" in another", "it is signed out" => sign_out_everywhere;
    ]));
    all.extend(attacks!(13, [
        "300 invented tokens are sent from one address", "one read each after the limit and no write; a valid token works" => flood_of_forged_tokens;
        "300 requests over a user's limit", "no store calls after the limit" => requests_over_limit;
        "made-up tokens flood /mcp from one address",
            "401, then 429; an assistant of another address gets a response; the audit trail names the address" => flood_of_mcp;
    ]));
    all
}

async fn request(api: &Api) -> Result<HttpResponse> {
    api.call(Method::GET, "/user").without_waiting().send().await
}

/// Until most of a minute is left.
async fn wait_for_new_minute() {
    let second = moment::now().timestamp() % 60;
    if 15 < second {
        tokio::time::sleep(std::time::Duration::from_secs(61_u64.saturating_sub(second.unsigned_abs()))).await;
    }
}

async fn remaining_requests(user: &User<'_>) -> Result<i64> {
    let response = request(&user.api).await?.is(200)?;
    response.header("x-ratelimit-remaining").parse().map_err(|_| response.test_error("x-ratelimit-remaining"))
}

fn forge_token(user: i64) -> Result<String> {
    let id = u64::try_from(user).ok().and_then(UserId::new).ok_or_else(|| TestError::new("not the id of a user"))?;
    Ok(AccessToken::mint(id).secret().expose_secret().to_owned())
}

fn ensure_refused(responses: Vec<Result<HttpResponse>>) -> Result<()> {
    for response in responses {
        let response = response?;
        ensure!([401, 429].contains(&response.status), "{}", response.test_error("a bad token"));
    }
    Ok(())
}

async fn revoked_token(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.limited();
    let mut user = deployment.new_user().await?;
    let email = user.email.clone();
    let stolen = deployment.grant(&mut user.browser, &email, &[]).await?;
    let account = user.browser.open(&format!("{}/account", deployment.origin())).await?;
    // The latest is the first on the page.
    let form = account.form_with_field("grant").ok_or_else(|| account.test_error("no device is listed"))?;
    user.browser.submit(&account, &form, form.buttons.first(), &[]).await?;
    wait_for_new_minute().await;
    let before = remaining_requests(&user).await?;

    ensure_refused(join_all((0..100).map(|_| request(&stolen))).await)?;

    let after = remaining_requests(&user).await?;
    ensure!(after == before - 1, "the owner had {before} requests left, and then {after}");
    Ok(format!("the owner had {before} requests left, and {after} after the next of their own"))
}

async fn forged_tokens_of_a_user(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.limited();
    let user = deployment.new_user().await?;
    let stranger = deployment.stranger()?;
    wait_for_new_minute().await;
    let before = remaining_requests(&user).await?;

    let tokens = (0..100).map(|_| forge_token(user.id)).collect::<Result<Vec<_>>>()?;
    let callers: Vec<_> = tokens.iter().map(|it| stranger.with_token(Some(it))).collect();
    ensure_refused(join_all(callers.iter().map(request)).await)?;

    let after = remaining_requests(&user).await?;
    ensure!(after == before - 1, "the user had {before} requests left, and then {after}");
    Ok(format!("the user had {before} requests left, and {after} after the next of their own"))
}

async fn sign_out_everywhere(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let mut user = deployment.new_user().await?;
    let address = format!("{}/account", deployment.origin());
    let mut stolen = deployment.browser()?;
    deployment.sign_in(&mut stolen, &address, &user.email).await?;

    let account = user.browser.open(&address).await?;
    user.browser.press(&account, "Sign out everywhere", &[]).await?;

    for browser in [&mut user.browser, &mut stolen] {
        let page = browser.open(&address).await?;
        ensure!(page.form_with_button("Sign in").is_some(), "{}", page.test_error("still signed in"));
    }
    Ok("both have to sign in".to_owned())
}

async fn start_metered() -> Result<(Harness, Deployment)> {
    let stack = Harness::start(&["--meter"]).await?;
    let deployment = Deployment::new(stack.ready().clone()).await?;
    Ok((stack, deployment))
}

/// The calls to the tables that identify callers.
async fn calls(deployment: &Deployment) -> Result<Vec<String>> {
    let address = format!("{}/dev/store-calls", deployment.origin());
    let body = deployment.http().get(address).send().await?.text().await?;
    let body: serde_json::Value = serde_json::from_str(&body)?;
    let calls = list(&body, "calls")?.iter();
    let is_caller_lookup = |it: &&serde_json::Value| {
        let tables = it["tables"].as_array().into_iter().flatten();
        let mut names = tables.filter_map(serde_json::Value::as_str);
        names.any(|it| ["-users", "-grants", "-limits"].iter().any(|end| it.ends_with(end)))
    };
    Ok(calls.filter(is_caller_lookup).map(|it| it["operation"].as_str().unwrap_or("?").to_owned()).collect())
}

async fn flood_of_forged_tokens(_: &AttackTargets) -> Result<String> {
    let (_stack, deployment) = start_metered().await?;
    let user = deployment.new_user().await?;
    let stranger = deployment.stranger()?;
    wait_for_new_minute().await;
    let send = async |users: Range<i64>| {
        for user in users {
            let token = forge_token(user)?;
            let response = request(&stranger.with_token(Some(&token))).await?;
            ensure!([401, 429].contains(&response.status), "{}", response.test_error("a made-up token"));
        }
        Ok(())
    };
    send(1..71).await?;
    let before = calls(&deployment).await?.len();

    send(71..301).await?;

    let cost = calls(&deployment).await?.split_off(before);
    let is_a_read_each = cost.len() <= 230 && cost.iter().all(|it| it == "GetItem");
    ensure!(is_a_read_each, "230 requests over the limit made these calls of the store: {cost:?}");
    let good = request(&stranger.with_token(Some(user.api.token()))).await?;
    ensure!(good.status == 200, "{}", good.test_error("a good token from that address"));
    Ok(format!("70 requests made {before} calls, 230 more {} reads; the good token: 200", cost.len()))
}

async fn requests_over_limit(_: &AttackTargets) -> Result<String> {
    let (_stack, deployment) = start_metered().await?;
    let user = deployment.new_user().await?;
    wait_for_new_minute().await;
    for _ in 0..70 {
        request(&user.api).await?;
    }
    let before = calls(&deployment).await?.len();

    for response in join_all((0..230).map(|_| request(&user.api))).await {
        let response = response?;
        ensure!(response.status == 429, "{}", response.test_error("a request over the limit"));
    }

    let cost = calls(&deployment).await?.len() - before;
    ensure!(cost == 0, "230 requests over the limit made {cost} calls of the store");
    Ok("230 requests: 429, and no call of the store".to_owned())
}

/// An unused address: those of other clients begin with 127.20 or more.
const FLOODING: Ipv4Addr = Ipv4Addr::new(127, 7, 7, 7);

async fn list_tools(deployment: &Deployment, http: &Client, token: &str) -> Result<reqwest::Response> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let request = http.post(format!("{}/mcp", deployment.origin())).bearer_auth(token);
    let request = request.header("accept", "application/json, text/event-stream");
    Ok(request.header("content-type", "application/json").body(body.to_string()).send().await?)
}

async fn flood_of_mcp(_: &AttackTargets) -> Result<String> {
    let stack = Harness::start(&[]).await?;
    let deployment = Deployment::new(stack.ready().clone()).await?;
    let assistant = deployment.new_user().await?;
    let flooding = Client::builder().no_proxy().local_address(std::net::IpAddr::V4(FLOODING)).build()?;
    wait_for_new_minute().await;

    let mut statuses = Vec::new();
    for user in 1..71 {
        let response = list_tools(&deployment, &flooding, &forge_token(user)?).await?;
        let header = |name: &str| response.headers().get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
        match response.status().as_u16() {
            401 => ensure!(header("www-authenticate").starts_with("Bearer resource_metadata="), "no challenge"),
            429 => ensure!(!header("retry-after").is_empty(), "429 without retry-after"),
            other => crate::fail!("made-up token {user}: {other}"),
        }
        statuses.push(response.status().as_u16());
    }
    let (before, after) = statuses.split_at(60);
    ensure!(before.iter().all(|it| *it == 401) && after.iter().all(|it| *it == 429), "{statuses:?}");
    let status = list_tools(&deployment, deployment.http(), assistant.api.token()).await?.status().as_u16();
    ensure!(status == 200, "an assistant of another address gets {status}");
    let log = stack.log();
    let refusals: Vec<_> = log.lines().filter(|it| it.contains("token_refused")).collect();
    let address = FLOODING.to_string();
    let is_named = |it: &&str| it.contains(&address);
    ensure!(!refusals.is_empty() && refusals.iter().all(is_named), "the trail does not name {address}: {refusals:?}");
    Ok(format!("60 times 401, then 429; the other assistant {status}; {} entries name {address}", refusals.len()))
}
