//! The pages on which people look after what is theirs: connections, posts,
//! webhooks, and what has access.

use std::time::Duration;

use serde_json::{Value, json};

use super::{faults::MEADOW, pages::check_page};
use crate::{
    answer::{integer, list, text},
    browser::Page,
    checks, ensure,
    fault::{Result, same},
    html::tags,
    moment,
    runner::Check,
    world::{Deployment, User, fresh, missing, targets},
};

pub(super) fn checks() -> Vec<Check> {
    let mut checks = checks!(
        "own pages",
        [
            they_can_be_read_by_everyone,
            nobody_elses_things_are_seen_or_changed,
            forms_need_their_token,
            an_account_is_connected_and_disconnected,
            a_post_is_cancelled_before_its_account_is_disconnected,
            posts_are_shown_by_day_and_fifty_at_a_time,
            a_draft_is_scheduled_as_it_was_shown,
            webhooks_are_shown_to_their_user_who_disables_and_deletes_them,
            a_token_is_revoked_with_the_webhook_that_it_created,
            a_device_is_ended_by_its_name,
        ]
    );
    checks.extend(checks!(
        "own pages",
        MEADOW.0,
        [an_account_whose_grant_is_gone_is_connected_again, a_failed_post_is_tried_again]
    ));
    checks
}

const CONNECTIONS: &str = "/account/connections";
const POSTS: &str = "/account/posts";
const WEBHOOKS: &str = "/account/webhooks";

async fn open(user: &mut User<'_>, path: &str) -> Result<Page> {
    let page = user.browser.open(&format!("{}{path}", user.world.origin())).await?;
    ensure!(page.status == 200, "{}", page.fault("the page is not shown"));
    Ok(page)
}

fn shows(page: &Page, words: &str) -> Result {
    ensure!(page.html.contains(words), "{}", page.fault(&format!("{words:?} is not on the page")));
    Ok(())
}

fn hides(page: &Page, words: &str) -> Result {
    ensure!(!page.html.contains(words), "{}", page.fault(&format!("{words:?} is on the page")));
    Ok(())
}

/// Allows access to this account of the consent page; gives the last page.
async fn allow(user: &mut User<'_>, page: Page, account: usize) -> Result<Page> {
    let (form, allow) = page.form_with_button("Allow").ok_or_else(|| page.fault("nothing to allow"))?;
    let choice = form.fields.iter().find(|it| it.kind == "radio").ok_or_else(|| page.fault("nothing to choose"))?;
    let chosen = choice.options.get(account).ok_or_else(|| page.fault("there is no such account"))?.clone();
    user.browser.submit(&page, &form, Some(&allow), &[(&choice.name.clone(), &chosen)]).await
}

async fn they_can_be_read_by_everyone(world: &Deployment) -> Result {
    let mut user = world.new_user().await?;
    for path in [CONNECTIONS, POSTS, WEBHOOKS, "/account"] {
        check_page(&open(&mut user, path).await?, true)?;
    }
    let connection = user.connect(0).await?;
    user.schedule(&fresh("<script>alert(1)</script>"), &[&connection], 7200).await?;
    for path in [CONNECTIONS, POSTS, "/account/posts?show=drafts", "/account/posts?show=published&page=2"] {
        let page = open(&mut user, path).await?;
        check_page(&page, true)?;
        hides(&page, "<script>alert")?;
    }
    let mut stranger = world.browser()?;
    for path in [CONNECTIONS, POSTS, WEBHOOKS] {
        let page = stranger.open(&format!("{}{path}", world.origin())).await?;
        ensure!(page.url.path() != path, "{}", page.fault("it is shown to somebody who is not signed in"));
    }
    for path in ["/account/posts?page=0", "/account/posts?show=all"] {
        let page = user.browser.open(&format!("{}{path}", world.origin())).await?;
        same(page.status.as_u16(), 400, "status of an address that is no page")?;
    }
    Ok(())
}

async fn nobody_elses_things_are_seen_or_changed(world: &Deployment) -> Result {
    let (mut owner, mut other) = (world.new_user().await?, world.new_user().await?);
    let connection = owner.connect(0).await?;
    let words = fresh("of one alone");
    let post = owner.schedule(&words, &[&connection], 7200).await?;
    let idle = owner.connect(1).await?;
    owner.api.post("/webhooks", &json!({ "url": "https://example.com/of-one-alone" })).await?.is(201)?;

    hides(&open(&mut other, CONNECTIONS).await?, &format!("@{}", text(&connection, "username")?))?;
    hides(&open(&mut other, POSTS).await?, &words)?;
    hides(&open(&mut other, WEBHOOKS).await?, "of-one-alone")?;
    let page = open(&mut other, CONNECTIONS).await?;
    let csrf = token_of(&page)?;
    for path in [
        format!("{POSTS}/{post}/cancel"),
        format!("{POSTS}/{post}/try-again"),
        format!("{POSTS}/{post}/schedule"),
        format!("{CONNECTIONS}/{}/disconnect", integer(&idle, "id")?),
        format!("{POSTS}/0/cancel"),
        format!("{CONNECTIONS}/x/disconnect"),
    ] {
        let fields = [("csrf", csrf.as_str()), ("revision", "1"), ("when", "now")];
        let page = other.browser.post(&format!("{}{path}", world.origin()), &fields).await?;
        ensure!(page.status == 404, "{}", page.fault(&format!("{path} is somebody else's")));
    }

    same(&owner.show(post).await?["status"], &json!("scheduled"), "the post")?;
    let left = owner.api.get("/connections").await?.ok(200)?;
    same(list(&left, "data")?.len(), 2, "connections")
}

/// What the forms of a page carry against pages of others.
fn token_of(page: &Page) -> Result<String> {
    let form = page.form_with_field("csrf").ok_or_else(|| page.fault("no form has a token"))?;
    let field = form.fields.iter().find(|it| it.name == "csrf").and_then(|it| it.value.clone());
    field.ok_or_else(|| page.fault("the token is empty"))
}

async fn forms_need_their_token(world: &Deployment) -> Result {
    let (mut user, mut other) = (world.new_user().await?, world.new_user().await?);
    let connection = user.connect(0).await?;
    let post = user.schedule(&fresh("stays"), &[&connection], 7200).await?;
    let foreign = token_of(&open(&mut other, CONNECTIONS).await?)?;
    let id = integer(&connection, "id")?;

    for path in [
        format!("{POSTS}/{post}/cancel"),
        format!("{POSTS}/{post}/try-again"),
        format!("{POSTS}/{post}/schedule"),
        format!("{CONNECTIONS}/{id}/disconnect"),
        format!("{CONNECTIONS}/connect"),
    ] {
        let address = format!("{}{path}", world.origin());
        let fields = [("platform", "sandbox"), ("revision", "1"), ("when", "now"), ("csrf", &foreign)];
        for fields in [&fields[..3], &fields] {
            let page = user.browser.post(&address, fields).await?;
            ensure!(page.status.is_client_error(), "{}", page.fault(&format!("{path} was taken")));
        }
        let signed_out = world.browser()?.post(&address, &[("csrf", &foreign)]).await?;
        same(signed_out.status.as_u16(), 401, "a form of somebody who is not signed in")?;
    }
    same(&user.show(post).await?["status"], &json!("scheduled"), "the post")
}

async fn an_account_is_connected_and_disconnected(world: &Deployment) -> Result {
    let mut user = world.new_user().await?;
    let page = open(&mut user, CONNECTIONS).await?;
    let consent = user.browser.press(&page, "Sandbox", &[]).await?;
    let end = allow(&mut user, consent, 0).await?;
    shows(&end, CONNECTIONS)?;

    let page = open(&mut user, CONNECTIONS).await?;
    let all = user.api.get("/connections").await?.ok(200)?;
    same(list(&all, "data")?.len(), 1, "connections")?;
    shows(&page, &format!("@{}", text(&all["data"][0], "username")?))?;
    let page = user.browser.press(&page, "Disconnect", &[]).await?;
    shows(&page, "The account is disconnected.")?;
    let all = user.api.get("/connections").await?.ok(200)?;
    same(list(&all, "data")?.len(), 0, "connections afterwards")
}

async fn a_post_is_cancelled_before_its_account_is_disconnected(world: &Deployment) -> Result {
    let mut user = world.new_user().await?;
    let connection = user.connect(0).await?;
    let words = fresh("not after all");
    let post = user.schedule(&words, &[&connection], 7200).await?;

    let page = open(&mut user, CONNECTIONS).await?;
    let refused = user.browser.press(&page, "Disconnect", &[]).await?;
    same(refused.status.as_u16(), 422, "status of the refusal")?;
    shows(&refused, "1 scheduled or publishing post uses this account")?;
    let page = open(&mut user, POSTS).await?;
    shows(&page, &words)?;
    let page = user.browser.press(&page, "Cancel", &[]).await?;
    shows(&page, "The post does not go out.")?;
    same(&user.show(post).await?["status"], &json!("draft"), "the post")?;
    shows(&open(&mut user, "/account/posts?show=drafts").await?, &words)?;
    // What is no longer failed does not go out because an old page is pressed.
    let again = format!("{}{POSTS}/{post}/try-again", world.origin());
    // Once made, once cancelled.
    let fields = [("csrf", token_of(&page)?), ("revision", "2".to_owned())];
    let refused = user.browser.post(&again, &fields.each_ref().map(|it| (it.0, it.1.as_str()))).await?;
    same(refused.status.as_u16(), 422, "trying a draft again")?;

    let page = open(&mut user, CONNECTIONS).await?;
    shows(&user.browser.press(&page, "Disconnect", &[]).await?, "The account is disconnected.")
}

async fn a_draft_is_scheduled_as_it_was_shown(world: &Deployment) -> Result {
    let mut user = world.new_user().await?;
    let (one, other) = (user.connect(0).await?, user.connect(1).await?);
    let email = user.email.clone();
    let drafts = world.grant(&mut user.browser, &email, &["posts:draft"]).await?;
    let (words, own) = (fresh("to be read"), fresh("of one account"));
    let mut platforms = targets(&[&one, &other])?;
    platforms[1]["content"] = json!(own);
    platforms[1]["options"] = json!({ "language": "en" });
    let media = json!([{ "path": user.picture().await?, "alt_text": "A boat at the pier" }]);
    let body = json!({ "content": words, "platforms": platforms, "media": media });
    let draft = drafts.post("/posts", &body).await?.ok(201)?;
    let id = integer(&draft, "id")?;
    shows(&open(&mut user, "/account/posts?show=drafts").await?, "Review and schedule")?;

    let path = format!("{POSTS}/{id}/schedule");
    let page = open(&mut user, &path).await?;
    check_page(&page, true)?;
    for shown in [&words, &own, "language", "A boat at the pier", "image/png"] {
        shows(&page, shown)?;
    }
    // What goes out is what the person has seen.
    drafts.patch(&format!("/posts/{id}"), &json!({ "content": fresh("swapped") })).await?.is(200)?;
    let refused = user.browser.press(&page, "Publish now", &[]).await?;
    shows(&refused, "The post was changed")?;
    same(&user.show(id).await?["status"], &json!("draft"), "the post")?;

    let page = open(&mut user, &path).await?;
    let refused = user.browser.press(&page, "Schedule", &[("at", "")]).await?;
    same(refused.status.as_u16(), 422, "a form without a time")?;
    let at = moment::now() + chrono::TimeDelta::hours(3);
    let at = at.format("%Y-%m-%dT%H:%M").to_string();
    let page = user.browser.press(&page, "Schedule", &[("at", &at)]).await?;
    shows(&page, "The post is scheduled.")?;
    let scheduled = user.show(id).await?;
    same(&scheduled["scheduled_at"], &json!(format!("{at}:00.000Z")), "its time")?;
    let page = user.browser.open(&format!("{}{path}", world.origin())).await?;
    same(page.status.as_u16(), 422, "a post that is no draft")
}

async fn posts_are_shown_by_day_and_fifty_at_a_time(world: &Deployment) -> Result {
    let mut user = world.new_user().await?;
    let connection = user.connect(0).await?;
    let words = fresh("one of many");
    for number in 1..=51 {
        user.schedule(&format!("{words} number {number}."), &[&connection], 86_400 * number).await?;
    }

    let first = open(&mut user, POSTS).await?;
    shows(&first, "number 1.")?;
    shows(&first, "Days and times are UTC.")?;
    hides(&first, "number 51.")?;
    let days = tags(&first.html).iter().filter(|it| it.name == "h2").count();
    same(days, 50, "days with a heading")?;
    let second = open(&mut user, "/account/posts?show=coming&page=2").await?;
    shows(&second, "number 51.")?;
    hides(&second, "number 50.")
}

async fn webhooks_are_shown_to_their_user_who_disables_and_deletes_them(world: &Deployment) -> Result {
    let mut user = world.new_user().await?;
    shows(&open(&mut user, WEBHOOKS).await?, "No webhook is set up.")?;
    let body = json!({ "url": "https://example.com/hooks", "events": ["post.failed"] });
    let made = user.api.post("/webhooks", &body).await?.ok(201)?;
    let page = open(&mut user, WEBHOOKS).await?;
    for words in ["https://example.com/hooks", "post.failed", "Unverified", "Created by"] {
        shows(&page, words)?;
    }
    hides(&page, text(&made, "secret")?)?;
    let path = format!("/webhooks/{}", integer(&made, "id")?);
    user.api.patch(&path, &json!({ "disabled": true })).await?.is(200)?;
    let page = open(&mut user, WEBHOOKS).await?;
    shows(&page, "Disabled by you")?;

    let page = user.browser.press(&page, "Enable", &[]).await?;
    shows(&page, "It receives events once it has answered a test.")?;
    same(&user.api.get(&path).await?.ok(200)?["disabled"], &json!(false), "disabled")?;
    let page = user.browser.press(&page, "Send test", &[]).await?;
    shows(&page, "A test is on its way.")?;
    shows(&page, "webhook.test")?;
    let page = user.browser.press(&page, "Disable", &[]).await?;
    shows(&page, "The webhook is disabled.")?;
    same(&user.api.get(&path).await?.ok(200)?["disabled"], &json!(true), "disabled")?;
    let page = user.browser.press(&page, "Delete", &[]).await?;
    shows(&page, "The webhook is deleted.")?;
    user.api.get(&path).await?.is(404)?;
    Ok(())
}

async fn a_token_is_revoked_with_the_webhook_that_it_created(world: &Deployment) -> Result {
    let mut user = world.new_user().await?;
    user.api.post("/webhooks", &json!({ "url": "https://example.com/created-by-it" })).await?.is(201)?;

    let page = open(&mut user, "/account").await?;
    shows(&page, "https://example.com/created-by-it")?;
    let page = user.browser.press(&page, "Revoke", &[("delete_webhooks", "true")]).await?;

    shows(&page, "The webhook that it created is deleted.")?;
    user.api.get("/webhooks").await?.refused(401)?;
    hides(&open(&mut user, WEBHOOKS).await?, "created-by-it")
}

async fn a_device_is_ended_by_its_name(world: &Deployment) -> Result {
    let mut user = world.new_user().await?;
    let name = fresh("Planner");
    let stranger = world.stranger()?;
    let device = stranger.post("/auth/device/code", &json!({ "client_name": name })).await?.ok(201)?;
    let page = user.browser.open(text(&device, "verification_uri_complete")?).await?;
    let page = user.browser.press(&page, "Continue", &[]).await?;
    shows(&page, &name)?;
    shows(&page, "any app can choose this name")?;
    user.browser.press(&page, "Approve", &[]).await?;
    let code = json!({ "device_code": device["device_code"] });
    let granted = stranger.post("/auth/device/token", &code).await?.ok(200)?;
    let planner = stranger.with_token(Some(text(&granted, "access_token")?));
    planner.get("/user").await?.is(200)?;

    let page = open(&mut user, "/account").await?;
    let tags = tags(&page.html);
    let named =
        |it: &&crate::html::Tag| it.get("aria-label").is_some_and(|it| it.starts_with(&format!("Revoke {name}")));
    let place = tags.iter().position(|it| named(&it)).ok_or_else(|| page.fault("no button says its name"))?;
    let grant = tags[..place].iter().rfind(|it| it.get("name") == Some("grant")).and_then(|it| it.get("value"));
    let grant = grant.ok_or_else(|| missing("the device of the button"))?;
    let fields = [("csrf", token_of(&page)?), ("grant", grant.to_owned())];
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    user.browser.post(&format!("{}/account/revoke", world.origin()), &fields).await?;

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

async fn an_account_whose_grant_is_gone_is_connected_again(world: &Deployment) -> Result {
    let mut user = world.new_user().await?;
    let connection = user.connect(MEADOW.1).await?;
    let account = text(&connection, "username")?.to_owned();
    world.disarm(&account).await?;
    world.arm(&json!({ "account": account, "kind": "revoke" })).await?;
    let words = fresh("waits for its account");
    let post = user.schedule(&words, &[&connection], 1).await?;
    let path = format!("/connections/{}", integer(&connection, "id")?);
    moment::eventually(Duration::from_secs(30), "the grant is lost", || async {
        let shown = user.api.get(&path).await?.ok(200)?;
        Ok((shown["needs_reconnection"] == true).then_some(()))
    })
    .await?;

    shows(&open(&mut user, POSTS).await?, "Connect again")?;
    let page = open(&mut user, CONNECTIONS).await?;
    check_page(&page, true)?;
    shows(&page, "Reconnect needed")?;
    let consent = user.browser.press(&page, "Reconnect", &[]).await?;
    allow(&mut user, consent, MEADOW.1).await?;

    let page = open(&mut user, CONNECTIONS).await?;
    hides(&page, "Reconnect needed")?;
    let again: Value = user.api.get(&path).await?.ok(200)?;
    same(&again["needs_reconnection"], &json!(false), "needs_reconnection of the same connection")?;
    user.reaches(post, "published", 60).await?;
    Ok(())
}

async fn a_failed_post_is_tried_again(world: &Deployment) -> Result {
    let mut user = world.new_user().await?;
    let connection = user.connect(MEADOW.1).await?;
    let account = text(&connection, "username")?.to_owned();
    world.disarm(&account).await?;
    world.arm(&json!({ "account": account, "kind": "refuse" })).await?;
    let words = fresh("at the second try");
    let post = user.schedule(&words, &[&connection], 1).await?;
    let failed = user.reaches(post, "failed", 20).await?;

    shows(&open(&mut user, POSTS).await?, "One post failed.")?;
    let page = open(&mut user, "/account/posts?show=failed").await?;
    check_page(&page, true)?;
    shows(&page, &words)?;
    let why = text(&failed["platforms"][0], "error_message")?;
    let shown: String = tags(&page.html).into_iter().map(|it| it.text).collect();
    ensure!(shown.contains(why), "{}", page.fault(&format!("it does not say why: {why:?}")));
    // What goes out is what the person has seen.
    let words = fresh("at the second try, corrected");
    user.api.patch(&format!("/posts/{post}"), &json!({ "content": words })).await?.is(200)?;
    let refused = user.browser.press(&page, "Try again", &[]).await?;
    same(refused.status.as_u16(), 422, "an old page")?;
    same(&user.show(post).await?["status"], &json!("failed"), "the post")?;
    let page = open(&mut user, "/account/posts?show=failed").await?;
    shows(&page, &words)?;
    let page = user.browser.press(&page, "Try again", &[]).await?;
    shows(&page, "The post goes out again now")?;

    user.reaches(post, "published", 30).await?;
    same(world.timeline(&words).await?.len(), 1, "how often it is public")?;
    shows(&open(&mut user, "/account/posts?show=published").await?, &words)?;
    Ok(())
}
