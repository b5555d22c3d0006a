//! The pages on which users manage their connections, posts, webhooks and access.

mod choices;
mod composer;
mod overview;

use serde_json::{Value, json};

use super::{faults::MEADOW, pages::check_page};
use crate::{
    browser::Page,
    checks,
    deployment::{Deployment, User, fresh, missing},
    ensure,
    error::{Result, same},
    html::tags,
    http_response::{integer, list, text},
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    let mut checks = checks!(
        "own pages",
        [
            own_pages_are_accessible,
            other_users_items_are_not_shown_or_changed,
            forms_require_their_csrf_token,
            account_is_connected_and_disconnected,
            post_is_cancelled_before_its_account_is_disconnected,
            posts_are_listed_by_day_fifty_per_page,
            webhook_is_created_on_the_page,
            webhooks_are_listed_disabled_and_deleted,
            revoking_a_token_can_delete_its_webhook,
            device_is_revoked_by_its_name,
        ]
    );
    checks.extend(checks!("own pages", MEADOW.0, [account_with_a_lost_grant_is_reconnected, failed_post_is_retried]));
    checks.extend(choices::checks());
    checks.extend(composer::checks());
    checks.extend(overview::checks());
    checks
}

const CONNECTIONS: &str = "/account/connections";
const POSTS: &str = "/account/posts";
const WEBHOOKS: &str = "/account/webhooks";
const NEW_WEBHOOK: &str = "/account/webhooks/new";

async fn open(user: &mut User<'_>, path: &str) -> Result<Page> {
    let page = user.browser.open(&format!("{}{path}", user.deployment.origin())).await?;
    ensure!(page.status == 200, "{}", page.test_error("the page is not shown"));
    Ok(page)
}

fn ensure_shown(page: &Page, expected: &str) -> Result {
    ensure!(page.html.contains(expected), "{}", page.test_error(&format!("{expected:?} is not on the page")));
    Ok(())
}

fn ensure_not_shown(page: &Page, unexpected: &str) -> Result {
    ensure!(!page.html.contains(unexpected), "{}", page.test_error(&format!("{unexpected:?} is on the page")));
    Ok(())
}

/// Allows access to this account of the consent page; returns the last page.
async fn allow_account(user: &mut User<'_>, page: Page, account: usize) -> Result<Page> {
    let (form, allow_account) = page.form_with_button("Allow").ok_or_else(|| page.test_error("nothing to allow"))?;
    let choice =
        form.fields.iter().find(|it| it.kind == "radio").ok_or_else(|| page.test_error("nothing to choose"))?;
    let chosen = choice.options.get(account).ok_or_else(|| page.test_error("there is no such account"))?.clone();
    user.browser.submit(&page, &form, Some(&allow_account), &[(&choice.name.clone(), &chosen)]).await
}

async fn own_pages_are_accessible(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    for path in [CONNECTIONS, POSTS, WEBHOOKS, NEW_WEBHOOK, "/account"] {
        check_page(&open(&mut user, path).await?, true)?;
    }
    let connection = user.connect(0).await?;
    user.schedule(&fresh("<script>alert(1)</script>"), &[&connection], 7200).await?;
    for path in [CONNECTIONS, POSTS, "/account/posts?show=drafts", "/account/posts?show=published&page=2"] {
        let page = open(&mut user, path).await?;
        check_page(&page, true)?;
        ensure_not_shown(&page, "<script>alert")?;
    }
    let mut stranger = deployment.browser()?;
    for path in [CONNECTIONS, POSTS, WEBHOOKS, NEW_WEBHOOK] {
        let page = stranger.open(&format!("{}{path}", deployment.origin())).await?;
        ensure!(page.url.path() != path, "{}", page.test_error("it is shown to a visitor who is not signed in"));
    }
    for path in ["/account/posts?page=0", "/account/posts?show=all"] {
        let page = user.browser.open(&format!("{}{path}", deployment.origin())).await?;
        same(page.status.as_u16(), 400, "status of an address that is no page")?;
    }
    Ok(())
}

async fn other_users_items_are_not_shown_or_changed(deployment: &Deployment) -> Result {
    let (mut owner, mut other) = (deployment.new_user().await?, deployment.new_user().await?);
    let connection = owner.connect(0).await?;
    let content = fresh("of one alone");
    let post = owner.schedule(&content, &[&connection], 7200).await?;
    let idle = owner.connect(1).await?;
    owner.api.post("/webhooks", &json!({ "url": "https://example.com/of-one-alone" })).await?.is(201)?;

    ensure_not_shown(&open(&mut other, CONNECTIONS).await?, &format!("@{}", text(&connection, "username")?))?;
    ensure_not_shown(&open(&mut other, POSTS).await?, &content)?;
    ensure_not_shown(&open(&mut other, WEBHOOKS).await?, "of-one-alone")?;
    let page = open(&mut other, CONNECTIONS).await?;
    let csrf = csrf_token(&page)?;
    for path in [
        format!("{POSTS}/{post}/cancel"),
        format!("{POSTS}/{post}/try-again"),
        format!("{POSTS}/{post}/delete"),
        format!("{POSTS}/{post}"),
        format!("{CONNECTIONS}/{}/disconnect", integer(&idle, "id")?),
        format!("{POSTS}/0/cancel"),
        format!("{CONNECTIONS}/x/disconnect"),
    ] {
        let fields = [("csrf", csrf.as_str()), ("revision", "1"), ("do", "publish_now")];
        let page = other.browser.post(&format!("{}{path}", deployment.origin()), &fields).await?;
        ensure!(page.status == 404, "{}", page.test_error(&format!("{path} belongs to another user")));
    }

    same(&owner.show(post).await?["status"], &json!("scheduled"), "the post")?;
    let remaining = owner.api.get("/connections").await?.ok(200)?;
    same(list(&remaining, "data")?.len(), 2, "connections")
}

fn csrf_token(page: &Page) -> Result<String> {
    let form = page.form_with_field("csrf").ok_or_else(|| page.test_error("no form has a token"))?;
    let field = form.fields.iter().find(|it| it.name == "csrf").and_then(|it| it.value.clone());
    field.ok_or_else(|| page.test_error("the token is empty"))
}

async fn forms_require_their_csrf_token(deployment: &Deployment) -> Result {
    let (mut user, mut other) = (deployment.new_user().await?, deployment.new_user().await?);
    let connection = user.connect(0).await?;
    let post = user.schedule(&fresh("stays"), &[&connection], 7200).await?;
    let foreign = csrf_token(&open(&mut other, CONNECTIONS).await?)?;
    let id = integer(&connection, "id")?;

    for path in [
        format!("{POSTS}/{post}/cancel"),
        format!("{POSTS}/{post}/try-again"),
        format!("{POSTS}/{post}/delete"),
        format!("{POSTS}/{post}"),
        format!("{POSTS}/new"),
        format!("{CONNECTIONS}/{id}/disconnect"),
        format!("{CONNECTIONS}/connect"),
        "/account/revoke".to_owned(),
        "/sign-out".to_owned(),
    ] {
        let address = format!("{}{path}", deployment.origin());
        // With its own token, each form would be accepted.
        let fields = [
            ("platform", "sandbox"),
            ("revision", "1"),
            ("do", "save"),
            ("content", "x"),
            ("key", "a"),
            ("everywhere", "true"),
            ("csrf", &foreign),
        ];
        for fields in [&fields[..6], &fields] {
            let page = user.browser.post(&address, fields).await?;
            ensure!(page.status.is_client_error(), "{}", page.test_error(&format!("{path} was accepted")));
            let has_token = fields.iter().any(|it| it.0 == "csrf");
            ensure!(!has_token || page.status == 403, "{}", page.test_error(&format!("{path} checks no token")));
        }
        let signed_out = deployment.browser()?.post(&address, &[("csrf", &foreign)]).await?;
        same(signed_out.status.as_u16(), 401, "a form of a visitor who is not signed in")?;
    }
    same(&user.show(post).await?["status"], &json!("scheduled"), "the post")
}

async fn account_is_connected_and_disconnected(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let page = open(&mut user, CONNECTIONS).await?;
    let consent = user.browser.press(&page, "Sandbox", &[]).await?;
    let end = allow_account(&mut user, consent, 0).await?;
    ensure_shown(&end, CONNECTIONS)?;

    let page = open(&mut user, CONNECTIONS).await?;
    let all = user.api.get("/connections").await?.ok(200)?;
    same(list(&all, "data")?.len(), 1, "connections")?;
    ensure_shown(&page, &format!("@{}", text(&all["data"][0], "username")?))?;
    let page = user.browser.press(&page, "Disconnect", &[]).await?;
    ensure_shown(&page, "The account is disconnected.")?;
    let all = user.api.get("/connections").await?.ok(200)?;
    same(list(&all, "data")?.len(), 0, "connections afterwards")
}

async fn post_is_cancelled_before_its_account_is_disconnected(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let content = fresh("not after all");
    let post = user.schedule(&content, &[&connection], 7200).await?;

    let page = open(&mut user, CONNECTIONS).await?;
    let refused = user.browser.press(&page, "Disconnect", &[]).await?;
    same(refused.status.as_u16(), 422, "status of the refusal")?;
    ensure_shown(&refused, "1 scheduled or publishing post uses this account")?;
    let page = open(&mut user, POSTS).await?;
    ensure_shown(&page, &content)?;
    let page = user.browser.press(&page, "Cancel", &[]).await?;
    ensure_shown(&page, "Cancelled. The post is now a draft.")?;
    same(&user.show(post).await?["status"], &json!("draft"), "the post")?;
    ensure_shown(&open(&mut user, "/account/posts?show=drafts").await?, &content)?;
    // An outdated page cannot publish a post that is no longer failed.
    let retry_url = format!("{}{POSTS}/{post}/try-again", deployment.origin());
    // Sent twice, it cancels once.
    let fields = [("csrf", csrf_token(&page)?), ("revision", "2".to_owned())];
    let refused = user.browser.post(&retry_url, &fields.each_ref().map(|it| (it.0, it.1.as_str()))).await?;
    same(refused.status.as_u16(), 422, "trying a draft again")?;

    let page = open(&mut user, CONNECTIONS).await?;
    ensure_shown(&user.browser.press(&page, "Disconnect", &[]).await?, "The account is disconnected.")
}

async fn posts_are_listed_by_day_fifty_per_page(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let content = fresh("one of many");
    for number in 1..=51 {
        user.schedule(&format!("{content} number {number}."), &[&connection], 86_400 * number).await?;
    }

    let first = open(&mut user, POSTS).await?;
    ensure_shown(&first, "number 1.")?;
    ensure_shown(&first, "Days and times in UTC.")?;
    ensure_not_shown(&first, "number 51.")?;
    let days = tags(&first.html).iter().filter(|it| it.name == "h2").count();
    same(days, 50, "days with a heading")?;
    let second = open(&mut user, "/account/posts?show=coming&page=2").await?;
    ensure_shown(&second, "number 51.")?;
    ensure_not_shown(&second, "number 50.")
}

async fn webhook_is_created_on_the_page(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let page = open(&mut user, NEW_WEBHOOK).await?;
    let page = user.browser.press(&page, "Create webhook", &[("url", "https://10.0.0.1/hooks")]).await?;
    same(page.status.as_u16(), 422, "status for a private address")?;
    check_page(&page, true)?;
    ensure_shown(&page, "value=\"https://10.0.0.1/hooks\"")?;
    ensure_shown(&page, "aria-invalid")?;

    let fields = [("url", "https://example.com/hooks"), ("post.failed", "on")];
    let page = user.browser.press(&page, "Create webhook", &fields).await?;
    ensure_shown(&page, "whsec_")?;
    check_page(&page, true)?;
    let list = user.api.get("/webhooks").await?.ok(200)?;
    same(&list["data"][0]["events"], &json!(["post.failed"]), "events")?;
    let page = user.browser.press(&page, "Send test", &[]).await?;
    ensure_shown(&page, "Test sent.")?;
    ensure_shown(&page, "in a browser session")?;
    ensure_not_shown(&page, "whsec_")
}

async fn webhooks_are_listed_disabled_and_deleted(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    ensure_shown(&open(&mut user, WEBHOOKS).await?, "You have no webhooks.")?;
    let body = json!({ "url": "https://example.com/hooks", "events": ["post.failed"] });
    let webhook = user.api.post("/webhooks", &body).await?.ok(201)?;
    let page = open(&mut user, WEBHOOKS).await?;
    for expected in ["https://example.com/hooks", "post.failed", "Unverified", "Created by"] {
        ensure_shown(&page, expected)?;
    }
    ensure_not_shown(&page, text(&webhook, "secret")?)?;
    let path = format!("/webhooks/{}", integer(&webhook, "id")?);
    user.api.patch(&path, &json!({ "disabled": true })).await?.is(200)?;
    let page = open(&mut user, WEBHOOKS).await?;
    ensure_shown(&page, "Disabled by you")?;

    let page = user.browser.press(&page, "Enable", &[]).await?;
    ensure_shown(&page, "the webhook is enabled when it responds with 2xx")?;
    same(&user.api.get(&path).await?.ok(200)?["disabled"], &json!(false), "disabled")?;
    let page = user.browser.press(&page, "Send test", &[]).await?;
    ensure_shown(&page, "Test sent.")?;
    ensure_shown(&page, "webhook.test")?;
    let page = user.browser.press(&page, "Disable", &[]).await?;
    ensure_shown(&page, "The webhook is disabled.")?;
    same(&user.api.get(&path).await?.ok(200)?["disabled"], &json!(true), "disabled")?;
    let page = user.browser.press(&page, "Delete", &[]).await?;
    ensure_shown(&page, "The webhook is deleted.")?;
    user.api.get(&path).await?.is(404)?;
    Ok(())
}

async fn revoking_a_token_can_delete_its_webhook(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    user.api.post("/webhooks", &json!({ "url": "https://example.com/created-by-it" })).await?.is(201)?;

    let page = open(&mut user, "/account").await?;
    ensure_shown(&page, "https://example.com/created-by-it")?;
    let page = user.browser.press(&page, "Revoke", &[("delete_webhooks", "true")]).await?;

    ensure_shown(&page, "The webhook that it created is deleted.")?;
    user.api.get("/webhooks").await?.refused(401)?;
    ensure_not_shown(&open(&mut user, WEBHOOKS).await?, "created-by-it")
}

async fn device_is_revoked_by_its_name(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let name = fresh("Planner");
    let stranger = deployment.stranger()?;
    let device = stranger.post("/auth/device/code", &json!({ "client_name": name })).await?.ok(201)?;
    let page = user.browser.open(text(&device, "verification_uri_complete")?).await?;
    let page = user.browser.press(&page, "Continue", &[]).await?;
    ensure_shown(&page, &name)?;
    ensure_shown(&page, "any app can choose this name")?;
    user.browser.press(&page, "Approve", &[]).await?;
    let code = json!({ "device_code": device["device_code"] });
    let granted = stranger.post("/auth/device/token", &code).await?.ok(200)?;
    let planner = stranger.with_token(Some(text(&granted, "access_token")?));
    planner.get("/user").await?.is(200)?;

    let page = open(&mut user, "/account").await?;
    let tags = tags(&page.html);
    let named =
        |it: &&crate::html::Tag| it.get("aria-label").is_some_and(|it| it.starts_with(&format!("Revoke {name}")));
    let place = tags.iter().position(|it| named(&it)).ok_or_else(|| page.test_error("no button says its name"))?;
    let grant = tags[..place].iter().rfind(|it| it.get("name") == Some("grant")).and_then(|it| it.get("value"));
    let grant = grant.ok_or_else(|| missing("the device of the button"))?;
    let fields = [("csrf", csrf_token(&page)?), ("grant", grant.to_owned())];
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    user.browser.post(&format!("{}/account/revoke", deployment.origin()), &fields).await?;

    planner.get("/user").await?.refused(401)?;
    user.api.get("/user").await?.is(200)?;
    for trimmed in ["  x", "\t\nx \u{3000}", &format!(" {} ", "x".repeat(60))] {
        stranger.post("/auth/device/code", &json!({ "client_name": trimmed })).await?.is(201)?;
    }
    for wrong in ["", " \n ", "a\u{7}b", "\u{202e}x", &"x".repeat(61)] {
        stranger.post("/auth/device/code", &json!({ "client_name": wrong })).await?.invalid(&["client_name"])?;
    }
    Ok(())
}

async fn account_with_a_lost_grant_is_reconnected(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(MEADOW.1).await?;
    let account = text(&connection, "username")?.to_owned();
    deployment.disarm(&account).await?;
    deployment.arm(&json!({ "account": account, "kind": "revoke" })).await?;
    let content = fresh("waits for its account");
    let post = user.schedule(&content, &[&connection], 1).await?;
    user.loses_grant(&connection, 30).await?;

    ensure_shown(&open(&mut user, POSTS).await?, "Reconnect")?;
    let page = open(&mut user, CONNECTIONS).await?;
    check_page(&page, true)?;
    ensure_shown(&page, "Reconnect needed")?;
    let allow_page = user.browser.press(&page, "Reconnect", &[]).await?;
    allow_account(&mut user, allow_page, MEADOW.1).await?;

    let page = open(&mut user, CONNECTIONS).await?;
    ensure_not_shown(&page, "Reconnect needed")?;
    let reconnected: Value = user.api.get(&format!("/connections/{}", integer(&connection, "id")?)).await?.ok(200)?;
    same(&reconnected["needs_reconnection"], &json!(false), "needs_reconnection of the same connection")?;
    user.reaches(post, "published", 60).await?;
    Ok(())
}

async fn failed_post_is_retried(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(MEADOW.1).await?;
    let account = text(&connection, "username")?.to_owned();
    deployment.disarm(&account).await?;
    deployment.arm(&json!({ "account": account, "kind": "refuse" })).await?;
    let content = fresh("at the second try");
    let post = user.schedule(&content, &[&connection], 1).await?;
    let failed = user.reaches(post, "failed", 20).await?;

    ensure_shown(&open(&mut user, POSTS).await?, "One post failed.")?;
    let page = open(&mut user, "/account/posts?show=failed").await?;
    check_page(&page, true)?;
    ensure_shown(&page, &content)?;
    let why = text(&failed["platforms"][0], "error_message")?;
    let shown: String = tags(&page.html).into_iter().map(|it| it.text).collect();
    ensure!(shown.contains(why), "{}", page.test_error(&format!("it does not say why: {why:?}")));
    // Only the version that the user has seen is published.
    let content = fresh("at the second try, corrected");
    user.api.patch(&format!("/posts/{post}"), &json!({ "content": content })).await?.is(200)?;
    let refused = user.browser.press(&page, "Try again", &[]).await?;
    same(refused.status.as_u16(), 422, "an old page")?;
    same(&user.show(post).await?["status"], &json!("failed"), "the post")?;
    let page = open(&mut user, "/account/posts?show=failed").await?;
    ensure_shown(&page, &content)?;
    let page = user.browser.press(&page, "Try again", &[]).await?;
    ensure_shown(&page, "The post is being published again")?;

    user.reaches(post, "published", 30).await?;
    same(deployment.timeline(&content).await?.len(), 1, "how often it is public")?;
    ensure_shown(&open(&mut user, "/account/posts?show=published").await?, &content)?;
    let path = format!("/account/posts/{post}/attempts");
    let page = open(&mut user, &path).await?;
    check_page(&page, true)?;
    let (refused, retried) = (page.html.find("Publish call: Refused"), page.html.find("Publish call: Accepted"));
    let is_in_order = refused.zip(retried).is_some_and(|(refused, retried)| refused < retried);
    ensure!(is_in_order, "{}", page.test_error("the attempts are not listed in order of time"));
    let mut other = deployment.new_user().await?;
    let page = other.browser.open(&format!("{}{path}", deployment.origin())).await?;
    same(page.status.as_u16(), 404, "the attempts of another user's post")
}
