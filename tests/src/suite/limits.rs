//! Rate limits, on a deployment with the limits of the specification.

use reqwest::Method;
use serde_json::json;

use crate::{
    checks,
    client::Api,
    deployment::Deployment,
    ensure,
    error::{Result, same},
    http_response::HttpResponse,
    moment,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "limits",
        [
            user_may_make_sixty_requests_per_minute,
            media_has_its_own_limit_of_thirty_per_minute,
            anonymous_clients_are_limited_by_address,
            users_do_not_share_a_limit,
            client_header_cannot_change_the_address,
            responses_have_request_id_and_rate_limit_headers,
        ]
    )
}

/// Waits for the first part of a minute, so that a limit's window does not end during a check.
async fn wait_for_new_window() {
    let second = moment::now().timestamp() % 60;
    if 25 < second {
        let wait = 61 - second;
        tokio::time::sleep(std::time::Duration::from_secs(wait.unsigned_abs())).await;
    }
}

fn number(response: &HttpResponse, name: &str) -> Result<i64> {
    response.header(name).parse().map_err(|_| response.test_error(&format!("{name} is not a number")))
}

async fn send_once(api: &Api, method: Method, path: &str) -> Result<HttpResponse> {
    let call = api.call(method.clone(), path).without_waiting();
    let call = if method == Method::POST { call.json(&json!({ "mime_type": "image/png" })) } else { call };
    call.send().await
}

/// Sends requests until one is refused; returns the number of successful ones, and the error.
async fn exhaust_limit(api: &Api, method: Method, path: &str) -> Result<(i64, HttpResponse)> {
    for count in 0..200 {
        let response = send_once(api, method.clone(), path).await?;
        if response.status == 429 {
            return Ok((count, response));
        }
    }
    crate::fail!("200 requests to {path} within a minute succeeded")
}

fn check_refusal(response: HttpResponse) -> Result {
    same(number(&response, "x-ratelimit-remaining")?, 0, "x-ratelimit-remaining of a 429")?;
    let wait = number(&response, "retry-after")?;
    let reset = number(&response, "x-ratelimit-reset")? - moment::now().timestamp();
    ensure!((1..=60).contains(&wait) && (wait - reset).abs() <= 2, "retry-after is {wait}, reset in {reset} s");
    response.refused(429)?;
    Ok(())
}

async fn user_may_make_sixty_requests_per_minute(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    wait_for_new_window().await;
    let first = send_once(&user.api, Method::GET, "/user").await?.is(200)?;
    same(number(&first, "x-ratelimit-limit")?, 60, "x-ratelimit-limit")?;
    let left = number(&first, "x-ratelimit-remaining")?;
    // Reading the user's id took one request already, perhaps in the same minute.
    ensure!((58..=59).contains(&left), "after one request {left} remain");
    same(number(&first, "x-ratelimit-reset")? % 60, 0, "x-ratelimit-reset is the end of a minute")?;

    let (more, refused) = exhaust_limit(&user.api, Method::GET, "/posts").await?;

    same(more, left, "successful requests after the first")?;
    check_refusal(refused)?;
    // The path and the method are checked before the limit, everything else after it.
    send_once(&user.api, Method::GET, "/nope").await?.refused(404)?;
    send_once(&user.api, Method::PUT, "/posts").await?.refused(405)?;
    send_once(&user.api, Method::GET, "/posts/abc").await?.refused(429)?;
    send_once(&user.api, Method::POST, "/posts").await?.refused(429)?;
    Ok(())
}

async fn media_has_its_own_limit_of_thirty_per_minute(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    wait_for_new_window().await;
    let first = send_once(&user.api, Method::POST, "/media").await?.is(201)?;
    same(number(&first, "x-ratelimit-limit")?, 30, "x-ratelimit-limit")?;
    same(number(&first, "x-ratelimit-remaining")?, 29, "x-ratelimit-remaining")?;

    let (more, refused) = exhaust_limit(&user.api, Method::POST, "/media").await?;

    same(more, 29, "successful requests after the first")?;
    same(number(&refused, "x-ratelimit-limit")?, 30, "x-ratelimit-limit")?;
    check_refusal(refused)?;
    let other = send_once(&user.api, Method::GET, "/user").await?.is(200)?;
    same(number(&other, "x-ratelimit-limit")?, 60, "x-ratelimit-limit elsewhere")?;
    let left = number(&other, "x-ratelimit-remaining")?;
    ensure!((25..=29).contains(&left), "30 uploads and some requests leave {left} of 60");
    Ok(())
}

async fn anonymous_clients_are_limited_by_address(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let good = user.api.token().to_owned();
    let stranger = deployment.stranger()?;
    wait_for_new_window().await;

    let wrong = stranger.with_token(Some("sp_wrong"));
    send_once(&wrong, Method::GET, "/user").await?.refused(401)?;
    let (more, refused) = exhaust_limit(&wrong, Method::GET, "/user").await?;
    same(more, 59, "rejected tokens after the first")?;
    check_refusal(refused)?;
    send_once(&stranger, Method::GET, "/posts").await?.refused(429)?;
    let call = stranger.call(Method::POST, "/auth/device/code").without_waiting().json(&json!({}));
    call.send().await?.refused(429)?;

    send_once(&stranger.with_token(Some(&good)), Method::GET, "/user").await?.is(200)?;
    Ok(())
}

async fn users_do_not_share_a_limit(deployment: &Deployment) -> Result {
    let (first, second) = (deployment.new_user().await?, deployment.new_user().await?);
    wait_for_new_window().await;
    exhaust_limit(&first.api, Method::GET, "/posts").await?;

    send_once(&second.api, Method::GET, "/posts").await?.is(200)?;

    // Another token of the first user shares the same limit.
    let api = deployment.grant(&mut deployment.browser()?, &first.email, &[]).await?;
    send_once(&api, Method::GET, "/user").await?.refused(429)?;
    Ok(())
}

async fn client_header_cannot_change_the_address(deployment: &Deployment) -> Result {
    let stranger = deployment.stranger()?;
    wait_for_new_window().await;
    for number in 0..70 {
        let address = format!("203.0.113.{number}");
        let mut call = stranger.call(Method::GET, "/user").without_waiting();
        for name in ["x-forwarded-for", "x-real-ip", "forwarded", "cf-connecting-ip", "x-client-ip"] {
            call = call.header(name, &address);
        }
        let response = call.send().await?;
        if response.status == 429 {
            return same(number, 60, "requests answered");
        }
    }
    crate::fail!("a header with another address gets past the limit")
}

async fn responses_have_request_id_and_rate_limit_headers(deployment: &Deployment) -> Result {
    for (method, path, status) in [
        (Method::GET, "/", 200),
        (Method::GET, "/nothing-here", 404),
        (Method::GET, "/assets/style.css", 200),
        (Method::GET, "/assets/nothing.css", 404),
        (Method::GET, "/favicon.ico", 200),
        (Method::GET, "/files/a/1/2/3.png", 404),
        (Method::GET, "/.well-known/oauth-protected-resource", 200),
        (Method::GET, "/api/v1/openapi.json", 200),
        (Method::POST, "/api/v1/oauth/token", 400),
        (Method::POST, "/mcp", 401),
        (Method::GET, "/mcp", 405),
    ] {
        let response =
            deployment.http().request(method.clone(), format!("{}{path}", deployment.origin())).send().await?;
        let what = format!("{method} {path}");
        same(response.status().as_u16(), status, &what)?;
        let header = |name: &str| response.headers().get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
        ensure!(!header("x-request-id").is_empty(), "{what}: no x-request-id");
        for name in ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
            ensure!(header(name).parse::<i64>().is_ok(), "{what}: {name} is {:?}", header(name));
        }
    }
    Ok(())
}
