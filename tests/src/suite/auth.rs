//! The device flow, from the code to the token.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::{
    answer::text,
    browser::{Browser, Page},
    checks,
    client::Api,
    ensure,
    fault::{Result, same},
    runner::Check,
    world::{Deployment, Device, SCOPES, fresh_email},
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "auth",
        [
            a_code_has_everything_a_device_shows,
            an_approved_code_is_exchanged_once,
            a_code_can_be_typed_in_any_case_without_the_dash,
            a_denied_code_is_access_denied,
            an_unknown_device_code_is_invalid,
            of_two_racing_exchanges_one_gets_a_token,
            the_page_shows_what_asks_and_waits_for_a_press,
            a_code_cannot_be_approved_twice,
            five_wrong_codes_refuse_the_sixth_entry,
            a_token_request_is_validated,
        ]
    )
}

async fn exchange(api: &Api, device: &Device) -> Result<crate::answer::Answer> {
    api.post("/auth/device/token", &json!({ "device_code": device.device_code })).await
}

async fn a_code_has_everything_a_device_shows(world: &Deployment) -> Result {
    let api = world.stranger()?;
    for body in [json!({}), json!({ "scopes": null }), json!({ "scopes": [] }), json!({ "scopes": ["posts:read"] })] {
        let answer = api.post("/auth/device/code", &body).await?.ok(201)?;
        same(answer.as_object().map(serde_json::Map::len), Some(6), "number of fields")?;
        same(&answer["expires_in"], &json!(900), "expires_in")?;
        same(&answer["interval"], &json!(5), "interval")?;
        let code = text(&answer, "user_code")?;
        let letters =
            code.split('-').all(|it| it.len() == 4 && it.chars().all(|it| "BCDFGHJKLMNPQRSTVWXZ".contains(it)));
        ensure!(letters && code.len() == 9, "user_code is {code}");
        ensure!(43 <= text(&answer, "device_code")?.len(), "device_code has less than 256 bits: {answer}");
        let uri = format!("{}/device", world.origin());
        same(text(&answer, "verification_uri")?, &uri, "verification_uri")?;
        same(
            text(&answer, "verification_uri_complete")?,
            &format!("{uri}?user_code={code}"),
            "verification_uri_complete",
        )?;
    }
    // The body is optional.
    let answer = api.call(reqwest::Method::POST, "/auth/device/code").send().await?;
    answer.is(201)?;
    Ok(())
}

async fn an_approved_code_is_exchanged_once(world: &Deployment) -> Result {
    let (api, mut browser, email) = (world.stranger()?, world.browser()?, fresh_email());
    let device = world.device(&api, &[]).await?;

    exchange(&api, &device).await?.error(400, "authorization_pending")?;
    let page = world.approval(&mut browser, &device, &email).await?;
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
    same(granted.as_object().map(serde_json::Map::len), Some(3), "fields of the token answer")?;
    same(granted["user"].as_object().map(serde_json::Map::len), Some(3), "fields of its user")
}

async fn a_code_can_be_typed_in_any_case_without_the_dash(world: &Deployment) -> Result {
    let (api, mut browser) = (world.stranger()?, world.browser()?);
    let device = world.device(&api, &[]).await?;
    let typed = device.user_code.replace('-', "").to_lowercase();

    let page = type_code(world, &mut browser, &typed).await?;
    browser.press(&page, "Approve", &[]).await?;

    exchange(&api, &device).await?.is(200)?;
    Ok(())
}

async fn type_code(world: &Deployment, browser: &mut Browser, code: &str) -> Result<Page> {
    let page = world.sign_in(browser, &format!("{}/device", world.origin()), &fresh_email()).await?;
    let Some(form) = page.form_with_field("user_code") else {
        return Err(page.fault("there is no field user_code"));
    };
    browser.submit(&page, &form, form.buttons.first(), &[("user_code", code)]).await
}

async fn a_denied_code_is_access_denied(world: &Deployment) -> Result {
    let (api, mut browser) = (world.stranger()?, world.browser()?);
    let device = world.device(&api, &[]).await?;

    let page = world.approval(&mut browser, &device, &fresh_email()).await?;
    browser.press(&page, "Deny", &[]).await?;

    exchange(&api, &device).await?.error(400, "access_denied")?;
    Ok(())
}

async fn an_unknown_device_code_is_invalid(world: &Deployment) -> Result {
    let api = world.stranger()?;
    for code in ["x", "", "ä", &"A".repeat(43), &"a".repeat(5000)] {
        let answer = api.post("/auth/device/token", &json!({ "device_code": code })).await?;
        if code.is_empty() && answer.status == 422 {
            continue;
        }
        answer.error(400, "invalid_device_code")?;
    }
    Ok(())
}

async fn of_two_racing_exchanges_one_gets_a_token(world: &Deployment) -> Result {
    for _ in 0..3 {
        let (api, mut browser) = (world.stranger()?, world.browser()?);
        let device = world.device(&api, &[]).await?;
        let page = world.approval(&mut browser, &device, &fresh_email()).await?;
        browser.press(&page, "Approve", &[]).await?;

        let answers = join_all((0..6).map(|_| exchange(&api, &device))).await;

        let mut tokens = 0;
        for answer in answers {
            let answer = answer?;
            if answer.status == 200 {
                tokens += 1;
            } else {
                answer.error(400, "invalid_device_code")?;
            }
        }
        same(tokens, 1, "tokens given for one code")?;
    }
    Ok(())
}

async fn the_page_shows_what_asks_and_waits_for_a_press(world: &Deployment) -> Result {
    let (api, mut browser) = (world.stranger()?, world.browser()?);
    world.sign_in(&mut browser, &format!("{}/device", world.origin()), &fresh_email()).await?;
    // The words for a scope are those on every page with this scope and on no
    // page without it.
    let mut words = Vec::new();
    for scope in SCOPES {
        let (first, second) =
            (shown(world, &mut browser, &[scope]).await?, shown(world, &mut browser, &[scope]).await?);
        words.push(first.into_iter().filter(|it| second.contains(it)).collect::<Vec<_>>());
    }
    let common = words[0].clone();
    let common = |it: &String| common.contains(it) && words.iter().all(|words| words.contains(it));
    let own: Vec<Vec<&String>> = words.iter().map(|it| it.iter().filter(|it| !common(it)).collect()).collect();

    let device = world.device(&api, &["posts:read", "media:write"]).await?;
    let page = browser.open(&device.complete).await?;
    ensure!(page.form_with_button("Approve").is_none(), "{}", page.fault("a link alone shows what asks"));
    ensure!(page.html.contains(&device.user_code), "{}", page.fault("the code is not filled in"));
    let page = browser.press(&page, "Continue", &[]).await?;
    let both = texts(&page);

    for (scope, own) in SCOPES.iter().zip(own) {
        ensure!(!own.is_empty(), "{}", page.fault(&format!("no words for {scope}")));
        let asked = ["posts:read", "media:write"].contains(scope);
        let there = own.iter().all(|it| both.contains(*it));
        ensure!(there == asked, "{}", page.fault(&format!("{scope} is asked for: {asked}, and shown: {there}")));
    }
    ensure!(page.html.contains(&device.user_code), "{}", page.fault("the code is not shown"));
    let address = !world.origin().contains("localhost") || page.html.contains("127.");
    ensure!(address, "{}", page.fault("the address is not shown"));
    exchange(&api, &device).await?.error(400, "authorization_pending")?;
    browser.press(&page, "Approve", &[]).await?;
    let granted = exchange(&api, &device).await?.ok(200)?;
    api.with_token(granted["access_token"].as_str()).get("/posts").await?.is(200)?;
    Ok(())
}

async fn shown(world: &Deployment, browser: &mut Browser, scopes: &[&str]) -> Result<Vec<String>> {
    let device = world.device(&world.stranger()?, scopes).await?;
    let page = browser.open(&device.complete).await?;
    Ok(texts(&browser.press(&page, "Continue", &[]).await?))
}

fn texts(page: &Page) -> Vec<String> {
    let texts = crate::html::tags(&page.html).into_iter().map(|it| it.text.trim().to_owned());
    // Texts with numbers are left out: codes and times differ between pages, or
    // are the same by chance.
    texts.filter(|it| !it.is_empty() && !it.contains(char::is_numeric)).collect()
}

async fn a_code_cannot_be_approved_twice(world: &Deployment) -> Result {
    let (api, mut browser) = (world.stranger()?, world.browser()?);
    let device = world.device(&api, &[]).await?;
    let page = world.approval(&mut browser, &device, &fresh_email()).await?;
    browser.press(&page, "Deny", &[]).await?;

    browser.press(&page, "Approve", &[]).await?;

    exchange(&api, &device).await?.error(400, "access_denied")?;
    Ok(())
}

async fn five_wrong_codes_refuse_the_sixth_entry(world: &Deployment) -> Result {
    let (api, mut browser, mut other) = (world.stranger()?, world.browser()?, world.browser()?);
    let device = world.device(&api, &[]).await?;
    // A code in an address is not an entry.
    for _ in 0..10 {
        let address = format!("{}/device?user_code=BBBB-BBBB", world.origin());
        let page = world.sign_in(&mut browser, &address, &fresh_email()).await?;
        ensure!(page.status.as_u16() == 200, "{}", page.fault("a link with a code is not shown"));
    }
    for _ in 0..5 {
        let page = type_code(world, &mut browser, "BBBB-BBBB").await?;
        ensure!(page.form_with_button("Approve").is_none(), "{}", page.fault("a wrong code can be approved"));
    }

    let refused = type_code(world, &mut browser, &device.user_code).await?;
    let elsewhere = type_code(world, &mut other, &device.user_code).await?;

    ensure!(refused.form_with_button("Approve").is_none(), "{}", refused.fault("the sixth entry was taken"));
    ensure!(elsewhere.form_with_button("Approve").is_some(), "{}", elsewhere.fault("another person was refused"));
    exchange(&api, &device).await?.error(400, "authorization_pending")?;
    Ok(())
}

async fn a_token_request_is_validated(world: &Deployment) -> Result {
    let api = world.stranger()?;
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
