//! GET /user, and the page on which users revoke access.

use crate::{
    checks,
    deployment::{Deployment, SCOPES, missing},
    ensure,
    error::{Result, same},
    http_response::text,
    moment,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "accounts",
        [
            user_endpoint_returns_the_caller,
            second_sign_in_is_the_same_user,
            revoked_device_has_no_access,
            signing_out_ends_the_session,
            unknown_token_is_refused,
        ]
    )
}

async fn user_endpoint_returns_the_caller(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;

    let response = user.api.get("/user").await?.ok(200)?;

    same(response.as_object().map(serde_json::Map::len), Some(5), "fields of GET /user")?;
    let id: i64 = text(&response, "id")?.parse()?;
    ensure!(0 < id && id < crate::shapes::TOO_BIG, "id is {id}");
    same(text(&response, "email")?, user.email.as_str(), "email")?;
    text(&response, "name")?;
    moment::read(&response["created_at"])?;
    let mut scopes: Vec<_> = response["scopes"].as_array().into_iter().flatten().filter_map(|it| it.as_str()).collect();
    let mut expected = SCOPES.to_vec();
    scopes.sort_unstable();
    expected.sort_unstable();
    same(scopes, expected, "scopes")
}

async fn second_sign_in_is_the_same_user(deployment: &Deployment) -> Result {
    let first = deployment.new_user().await?;

    let api = deployment.grant(&mut deployment.browser()?, &first.email, &[]).await?;

    let again = api.get("/user").await?.ok(200)?;
    same(text(&again, "id")?, first.id.to_string().as_str(), "the id after signing in again")
}

async fn revoked_device_has_no_access(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    user.api.get("/user").await?.is(200)?;

    let page = user.browser.open(&format!("{}/account", deployment.origin())).await?;
    user.browser.press(&page, "Revoke", &[]).await?;

    user.api.get("/user").await?.refused(401)?;
    let page = user.browser.open(&format!("{}/account", deployment.origin())).await?;
    ensure!(page.form_with_button("Revoke").is_none(), "{}", page.test_error("a revoked device is still listed"));
    Ok(())
}

async fn signing_out_ends_the_session(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let before = user.browser.clone();

    let page = user.browser.open(&format!("{}/account", deployment.origin())).await?;
    user.browser.press(&page, "Sign out", &[]).await?;

    // A cookie that was copied before is worthless now, too.
    let page = before.clone().open(&format!("{}/account", deployment.origin())).await?;
    ensure!(page.form_with_button("Revoke").is_none(), "{}", page.test_error("the old session still works"));
    Ok(())
}

async fn unknown_token_is_refused(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let good = user.api.token();
    let last = good.chars().last().ok_or_else(|| missing("the token"))?;
    let other = if last == 'A' { 'B' } else { 'A' };
    let changed = format!("{}{other}", &good[..good.len() - 1]);

    for token in ["", "x", "sp_", "sp_x", changed.as_str(), &good[3..], &format!("{good}A"), &"sp_".repeat(3000)] {
        deployment.stranger()?.with_token(Some(token)).get("/user").await?.refused(401)?;
    }
    for header in ["", "Bearer", "Basic YTpi", good, &format!("Token {good}")] {
        let api = deployment.stranger()?;
        api.call(reqwest::Method::GET, "/user").header("authorization", header).send().await?.refused(401)?;
    }
    deployment.stranger()?.get("/user").await?.refused(401)?;
    Ok(())
}
