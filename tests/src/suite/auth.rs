//! The device flow, from the code to the token.

use serde_json::{Value, json};

use crate::{
    browser::{Browser, Page},
    checks,
    client::Api,
    deployment::{Deployment, Device, SCOPES, unique_email},
    ensure,
    error::{Result, same},
    http_response::text,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "auth",
        [
            device_code_response_is_complete,
            approved_code_is_exchanged_once,
            code_entry_ignores_case_and_dash,
            denied_code_returns_access_denied,
            unknown_device_code_is_invalid,
            approval_page_shows_the_app_and_needs_a_click,
            sixth_code_entry_is_refused_after_five_wrong_ones,
            token_request_is_validated,
        ]
    )
}

async fn exchange(api: &Api, device: &Device) -> Result<crate::http_response::HttpResponse> {
    api.post("/auth/device/token", &json!({ "device_code": device.device_code })).await
}

async fn device_code_response_is_complete(deployment: &Deployment) -> Result {
    let api = deployment.stranger()?;
    for body in [json!({}), json!({ "scopes": null }), json!({ "scopes": [] }), json!({ "scopes": ["posts:read"] })] {
        let response = api.post("/auth/device/code", &body).await?.ok(201)?;
        same(response.as_object().map(serde_json::Map::len), Some(6), "number of fields")?;
        same(&response["expires_in"], &json!(900), "expires_in")?;
        same(&response["interval"], &json!(5), "interval")?;
        let code = text(&response, "user_code")?;
        let letters =
            code.split('-').all(|it| it.len() == 4 && it.chars().all(|it| "BCDFGHJKLMNPQRSTVWXZ".contains(it)));
        ensure!(letters && code.len() == 9, "user_code is {code}");
        ensure!(43 <= text(&response, "device_code")?.len(), "device_code has less than 256 bits: {response}");
        let uri = format!("{}/device", deployment.origin());
        same(text(&response, "verification_uri")?, &uri, "verification_uri")?;
        same(
            text(&response, "verification_uri_complete")?,
            &format!("{uri}?user_code={code}"),
            "verification_uri_complete",
        )?;
    }
    // The body is optional.
    let response = api.call(reqwest::Method::POST, "/auth/device/code").send().await?;
    response.is(201)?;
    Ok(())
}

async fn approved_code_is_exchanged_once(deployment: &Deployment) -> Result {
    let (api, mut browser, email) = (deployment.stranger()?, deployment.browser()?, unique_email());
    let device = deployment.device(&api, &[]).await?;

    exchange(&api, &device).await?.error(400, "authorization_pending")?;
    let page = deployment.approval(&mut browser, &device, &email).await?;
    exchange(&api, &device).await?.error(400, "authorization_pending")?;
    browser.press(&page, "Approve", &[]).await?;
    let granted = exchange(&api, &device).await?.ok(200)?;
    exchange(&api, &device).await?.error(400, "invalid_device_code")?;

    same(text(&granted, "token_type")?, "Bearer", "token_type")?;
    let token = text(&granted, "access_token")?;
    ensure!(token.starts_with("sp_") && 46 < token.len(), "the token is not sp_ and 256 bits and a checksum");
    same(text(&granted["user"], "email")?, email.as_str(), "user.email")?;
    text(&granted["user"], "name")?;
    let user = api.with_token(Some(token)).get("/user").await?.ok(200)?;
    same(&user["id"], &granted["user"]["id"], "the id of GET /user")?;
    same(granted.as_object().map(serde_json::Map::len), Some(3), "fields of the token response")?;
    same(granted["user"].as_object().map(serde_json::Map::len), Some(3), "fields of its user")
}

async fn code_entry_ignores_case_and_dash(deployment: &Deployment) -> Result {
    let (api, mut browser) = (deployment.stranger()?, deployment.browser()?);
    let device = deployment.device(&api, &[]).await?;
    let typed = device.user_code.replace('-', "").to_lowercase();

    let page = enter_code(deployment, &mut browser, &typed).await?;
    browser.press(&page, "Approve", &[]).await?;

    exchange(&api, &device).await?.is(200)?;
    Ok(())
}

async fn enter_code(deployment: &Deployment, browser: &mut Browser, code: &str) -> Result<Page> {
    let page = deployment.sign_in(browser, &format!("{}/device", deployment.origin()), &unique_email()).await?;
    let Some(form) = page.form_with_field("user_code") else {
        return Err(page.test_error("there is no field user_code"));
    };
    browser.submit(&page, &form, form.buttons.first(), &[("user_code", code)]).await
}

async fn denied_code_returns_access_denied(deployment: &Deployment) -> Result {
    let (api, mut browser) = (deployment.stranger()?, deployment.browser()?);
    let device = deployment.device(&api, &[]).await?;

    let page = deployment.approval(&mut browser, &device, &unique_email()).await?;
    browser.press(&page, "Deny", &[]).await?;
    let late = browser.press(&page, "Approve", &[]).await?;

    same(late.status.as_u16(), 410, "status of a second decision")?;
    exchange(&api, &device).await?.error(400, "access_denied")?;
    Ok(())
}

async fn unknown_device_code_is_invalid(deployment: &Deployment) -> Result {
    let api = deployment.stranger()?;
    for code in ["x", "", "ä", &"A".repeat(43), &"a".repeat(5000)] {
        let response = api.post("/auth/device/token", &json!({ "device_code": code })).await?;
        if code.is_empty() && response.status == 422 {
            continue;
        }
        response.error(400, "invalid_device_code")?;
    }
    Ok(())
}

async fn approval_page_shows_the_app_and_needs_a_click(deployment: &Deployment) -> Result {
    let (api, mut browser) = (deployment.stranger()?, deployment.browser()?);
    deployment.sign_in(&mut browser, &format!("{}/device", deployment.origin()), &unique_email()).await?;
    // The description of a scope is the text on every page with this scope and on no page without
    // it.
    let mut shown_texts = Vec::new();
    for scope in SCOPES {
        let (first, second) = (
            shown_scope_texts(deployment, &mut browser, &[scope]).await?,
            shown_scope_texts(deployment, &mut browser, &[scope]).await?,
        );
        shown_texts.push(first.into_iter().filter(|it| second.contains(it)).collect::<Vec<_>>());
    }
    let common = shown_texts[0].clone();
    let common = |it: &String| common.contains(it) && shown_texts.iter().all(|shown_texts| shown_texts.contains(it));
    let own: Vec<Vec<&String>> = shown_texts.iter().map(|it| it.iter().filter(|it| !common(it)).collect()).collect();

    let device = deployment.device(&api, &["posts:read", "media:write"]).await?;
    let page = browser.open(&device.complete).await?;
    ensure!(page.form_with_button("Approve").is_none(), "{}", page.test_error("a link alone shows the app"));
    ensure!(page.html.contains(&device.user_code), "{}", page.test_error("the code is not filled in"));
    let page = browser.press(&page, "Continue", &[]).await?;
    let both = texts(&page);

    for (scope, own) in SCOPES.iter().zip(own) {
        ensure!(!own.is_empty(), "{}", page.test_error(&format!("no description of {scope}")));
        let asked = ["posts:read", "media:write"].contains(scope);
        let there = own.iter().all(|it| both.contains(*it));
        ensure!(there == asked, "{}", page.test_error(&format!("{scope} is asked for: {asked}, and shown: {there}")));
    }
    ensure!(page.html.contains(&device.user_code), "{}", page.test_error("the code is not shown"));
    let address = !deployment.origin().contains("localhost") || page.html.contains("127.");
    ensure!(address, "{}", page.test_error("the address is not shown"));
    exchange(&api, &device).await?.error(400, "authorization_pending")?;
    browser.press(&page, "Approve", &[]).await?;
    let granted = exchange(&api, &device).await?.ok(200)?;
    api.with_token(granted["access_token"].as_str()).get("/posts").await?.is(200)?;
    Ok(())
}

async fn shown_scope_texts(deployment: &Deployment, browser: &mut Browser, scopes: &[&str]) -> Result<Vec<String>> {
    let device = deployment.device(&deployment.stranger()?, scopes).await?;
    let page = browser.open(&device.complete).await?;
    Ok(texts(&browser.press(&page, "Continue", &[]).await?))
}

fn texts(page: &Page) -> Vec<String> {
    let texts = crate::html::tags(&page.html).into_iter().map(|it| it.text.trim().to_owned());
    // Texts with digits are excluded: codes and times differ between pages, or are equal by chance.
    texts.filter(|it| !it.is_empty() && !it.contains(char::is_numeric)).collect()
}

async fn sixth_code_entry_is_refused_after_five_wrong_ones(deployment: &Deployment) -> Result {
    let (api, mut browser, mut other) = (deployment.stranger()?, deployment.browser()?, deployment.browser()?);
    let device = deployment.device(&api, &[]).await?;
    // Opening a link with a code is not an entry.
    for _ in 0..10 {
        let address = format!("{}/device?user_code=BBBB-BBBB", deployment.origin());
        let page = deployment.sign_in(&mut browser, &address, &unique_email()).await?;
        ensure!(page.status.as_u16() == 200, "{}", page.test_error("a link with a code is not shown"));
    }
    for _ in 0..5 {
        let page = enter_code(deployment, &mut browser, "BBBB-BBBB").await?;
        same(page.status.as_u16(), 422, "status of a wrong code")?;
        ensure!(page.form_with_button("Approve").is_none(), "{}", page.test_error("a wrong code can be approved"));
    }

    let refused = enter_code(deployment, &mut browser, &device.user_code).await?;
    let elsewhere = enter_code(deployment, &mut other, &device.user_code).await?;

    same(refused.status.as_u16(), 429, "status of the sixth entry")?;
    let wait = refused.headers.get("retry-after").and_then(|it| it.to_str().ok()).unwrap_or_default();
    ensure!(wait.parse().is_ok_and(|it: u32| (1..=900).contains(&it)), "retry-after is {wait:?}");
    ensure!(refused.form_with_button("Approve").is_none(), "{}", refused.test_error("the sixth entry was accepted"));
    ensure!(elsewhere.form_with_button("Approve").is_some(), "{}", elsewhere.test_error("another person was refused"));
    exchange(&api, &device).await?.error(400, "authorization_pending")?;
    Ok(())
}

async fn token_request_is_validated(deployment: &Deployment) -> Result {
    let api = deployment.stranger()?;
    let rows: [(Value, &[&str]); 6] = [
        (json!({}), &["device_code"]),
        (json!({ "device_code": null }), &["device_code"]),
        (json!({ "device_code": 5 }), &["device_code"]),
        (json!({ "device_code": ["x"] }), &["device_code"]),
        (json!({ "device_code": "x", "extra": 1 }), &["extra"]),
        (json!({ "devicecode": "x" }), &["device_code", "devicecode"]),
    ];
    for (body, fields) in rows {
        api.post("/auth/device/token", &body).await?.invalid(fields)?;
    }
    let malformed = api.call(reqwest::Method::POST, "/auth/device/token").raw("application/json", b"{\"device_code\":");
    malformed.send().await?.refused(400)?;
    Ok(())
}
