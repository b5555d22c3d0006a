//! The page on which users write and change a post.

use serde_json::{Value, json};

use super::{CONNECTIONS, POSTS, csrf_token, ensure_shown, open};
use crate::{
    checks,
    deployment::{Deployment, fresh, targets},
    ensure,
    error::{Result, same},
    http_response::{integer, text},
    moment, picture,
    runner::Check,
    suite::pages::check_page,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "own pages",
        [
            draft_is_scheduled_as_shown,
            post_is_written_on_the_page,
            files_and_consent_are_for_the_owner_of_a_post,
            entries_are_kept_when_the_session_ends,
            file_is_uploaded_from_the_page,
            times_are_shown_in_the_zone_of_the_user,
        ]
    )
}

async fn draft_is_scheduled_as_shown(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let (one, other) = (user.connect(0).await?, user.connect(1).await?);
    let email = user.email.clone();
    let drafts = deployment.grant(&mut user.browser, &email, &["posts:draft"]).await?;
    let (content, own) = (fresh("to be read"), fresh("of one account"));
    let mut platforms = targets(&[&one, &other])?;
    platforms[1]["content"] = json!(own);
    platforms[1]["options"] = json!({ "language": "en" });
    let media = json!([{ "path": user.picture().await?, "alt_text": "A boat at the pier" }]);
    let body = json!({ "content": content, "platforms": platforms, "media": media });
    let draft = drafts.post("/posts", &body).await?.ok(201)?;
    let id = integer(&draft, "id")?;
    ensure_shown(&open(&mut user, "/account/posts?show=drafts").await?, "Review and schedule")?;

    let path = format!("{POSTS}/{id}");
    let page = open(&mut user, &path).await?;
    check_page(&page, true)?;
    for shown in [&content, &own, "Language", "A boat at the pier"] {
        ensure_shown(&page, shown)?;
    }
    let (_, preview) = page.html.split_once("id=\"preview\"").unwrap_or_default();
    for shown in [&content, &own, &format!("{} of 500 characters", own.chars().count())] {
        ensure!(preview.contains(shown.as_str()), "the preview does not show {shown}");
    }
    // Only the version that the user has seen is published.
    drafts.patch(&format!("/posts/{id}"), &json!({ "content": fresh("swapped") })).await?.is(200)?;
    let checked = user.browser.press(&page, "Check", &[]).await?;
    ensure_shown(&checked, "This post can be published as it is.")?;
    let refused = user.browser.press(&checked, "Publish now", &[]).await?;
    same(refused.status.as_u16(), 412, "an old page")?;
    ensure_shown(&refused, "The post was changed after you opened this page")?;
    same(&user.show(id).await?["status"], &json!("draft"), "the post")?;

    let page = open(&mut user, &path).await?;
    let refused = user.browser.press(&page, "Schedule", &[("at", "")]).await?;
    same(refused.status.as_u16(), 422, "a form without a time")?;
    ensure_shown(&refused, "Enter a date and a time.")?;
    let at = moment::now() + chrono::TimeDelta::hours(3);
    let at = at.format("%Y-%m-%dT%H:%M").to_string();
    let page = user.browser.press(&refused, "Schedule", &[("at", &at)]).await?;
    check_page(&page, true)?;
    ensure_shown(&page, "Scheduled for")?;
    let scheduled = user.show(id).await?;
    same(&scheduled["scheduled_at"], &json!(format!("{at}:00.000Z")), "its time")?;
    same(&scheduled["platforms"][1]["content"], &json!(own), "the text of its own")?;
    same(&scheduled["platforms"][1]["options"], &json!({ "language": "en" }), "the options")?;
    same(&scheduled["media"][0]["alt_text"], &json!("A boat at the pier"), "the alt text")
}

/// Writes a post on the page, as a user without scripts does.
async fn post_is_written_on_the_page(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let account = format!("to.{}", connection["id"]);
    let (content, reply, corrected) = (fresh("from the page\n\nwith <two> lines"), fresh("reply"), fresh("corrected"));
    let page = open(&mut user, &format!("{POSTS}/new")).await?;
    check_page(&page, true)?;

    let page = user.browser.press(&page, "Add a reply", &[("content", &content), (&account, "on")]).await?;
    let fill = [("thread.0.content", reply.as_str()), ("labels", "spring\noffer"), ("at", "2028-02-01T09:00")];
    let written = user.browser.press(&page, "Save draft", &fill).await?;
    ensure_shown(&written, "Saved as a draft")?;
    ensure_shown(&written, "value=\"2028-02-01T09:00\"")?;
    let posts = user.api.get("/posts?status=draft").await?.ok(200)?;
    same(&posts["meta"]["total"], &json!(1), "drafts")?;
    let (draft, id) = (&posts["data"][0], integer(&posts["data"][0], "id")?);
    same(&draft["content"], &json!(content), "its text")?;
    same(&draft["thread"][0]["content"], &json!(reply), "its reply")?;
    same(&draft["labels"], &json!(["spring", "offer"]), "its labels")?;
    // A form that is sent twice creates one draft.
    user.browser.press(&page, "Save draft", &fill).await?;
    same(&user.api.get("/posts?status=draft").await?.ok(200)?["meta"]["total"], &json!(1), "drafts")?;

    let long = "x".repeat(501);
    let checked = user.browser.press(&written, "Check", &[("content", &long)]).await?;
    ensure_shown(&checked, "Sandbox accepts at most 500 characters; this has 501")?;
    let page = user.browser.press(&checked, "Publish now", &[("content", &corrected)]).await?;
    check_page(&page, true)?;
    user.reaches(id, "published", 30).await?;
    same(deployment.timeline(&corrected).await?.len(), 1, "how often it is public")?;
    let page = open(&mut user, &format!("{POSTS}/{id}")).await?;
    ensure_shown(&page, "View post")?;

    let page = open(&mut user, &format!("{POSTS}/new?from={id}")).await?;
    let page = user.browser.press(&page, "Save draft", &[]).await?;
    ensure_shown(&page, &corrected)?;
    let page = user.browser.press(&page, "Delete", &[]).await?;
    ensure_shown(&page, "The post is deleted.")?;
    let mut other = deployment.new_user().await?;
    for path in [format!("{POSTS}/{id}"), format!("{POSTS}/new?from={id}")] {
        let page = other.browser.open(&format!("{}{path}", deployment.origin())).await?;
        same(page.status.as_u16(), 404, "the post of another user")?;
    }
    Ok(())
}

async fn files_and_consent_are_for_the_owner_of_a_post(deployment: &Deployment) -> Result {
    let (mut user, mut other) = (deployment.new_user().await?, deployment.new_user().await?);
    let connection = user.connect(0).await?;
    let media = json!([user.picture().await?]);
    let body = json!({ "content": fresh("with a file"), "platforms": targets(&[&connection])?, "media": media });
    let draft = user.api.post("/posts", &body).await?.ok(201)?;
    let post = integer(&draft, "id")?;
    let address = |path: String| format!("{}{path}", deployment.origin());
    let file = address(format!("{POSTS}/{post}/files/{}", integer(&draft["media"][0], "id")?));
    let consent = address(format!("{CONNECTIONS}/{}/consent/{post}?do=publish_now", integer(&connection, "id")?));

    let shown = user.browser.open(&file).await?;
    same(shown.status.as_u16(), 200, "the file of the post")?;
    same(&shown.headers["content-type"].to_str()?, &"image/png", "its type")?;
    // The sandbox requires no consent.
    same(user.browser.open(&consent).await?.status.as_u16(), 404, "the page of consent")?;
    for address in [&file, &consent] {
        same(other.browser.open(address).await?.status.as_u16(), 404, "that of another user")?;
    }
    Ok(())
}

async fn entries_are_kept_when_the_session_ends(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let page = open(&mut user, &format!("{POSTS}/new")).await?;
    let account = open(&mut user, "/account").await?;
    user.browser.press(&account, "Sign out", &[]).await?;

    let content = fresh("written\nfor an <hour>");
    let signed_out = user.browser.press(&page, "Save draft", &[("content", &content)]).await?;
    same(signed_out.status.as_u16(), 401, "a form without a session")?;
    check_page(&signed_out, true)?;
    deployment.sign_in(&mut user.browser, &format!("{}/account", deployment.origin()), &user.email).await?;
    let continued = user.browser.press(&signed_out, "Continue", &[]).await?;
    same(continued.status.as_u16(), 403, "a form of the session before")?;
    same(&user.api.get("/posts?status=draft").await?.ok(200)?["meta"]["total"], &json!(0), "drafts")?;
    let saved = user.browser.press(&continued, "Save draft", &[]).await?;
    ensure_shown(&saved, "Saved as a draft")?;
    let posts = user.api.get("/posts?status=draft").await?.ok(200)?;
    same(&posts["data"][0]["content"], &json!(content), "its text")
}

/// Uploads a file as the script of the page does.
async fn file_is_uploaded_from_the_page(deployment: &Deployment) -> Result {
    let (mut user, mut other) = (deployment.new_user().await?, deployment.new_user().await?);
    let page = open(&mut user, &format!("{POSTS}/new")).await?;
    let policy = page.headers.get("content-security-policy").and_then(|it| it.to_str().ok()).unwrap_or_default();
    ensure!(policy.contains("script-src 'self'; connect-src 'self' http"), "the policy is {policy}");
    let address = format!("{}/account/files", deployment.origin());
    let png = picture::png(64, 48, [30, 120, 90]);
    let body = json!({ "mime_type": "image/png", "filename": "boat.png", "size": png.len() });
    let foreign = csrf_token(&open(&mut other, CONNECTIONS).await?)?;
    for csrf in ["", &foreign] {
        same(user.browser.post_json(&address, csrf, &body).await?.status.as_u16(), 403, "a token of another session")?;
    }
    let visitor = deployment.browser()?.post_json(&address, &foreign, &body).await?;
    same(visitor.status.as_u16(), 401, "a visitor who is not signed in")?;

    let csrf = csrf_token(&page)?;
    let refused = user.browser.post_json(&address, &csrf, &json!({ "mime_type": "text/html", "size": 0 })).await?;
    same(refused.status.as_u16(), 422, "a file that no platform accepts")?;
    let created = user.browser.post_json(&address, &csrf, &body).await?;
    same(created.status.as_u16(), 201, "an upload")?;
    let target: Value = serde_json::from_str(&created.html)?;
    let status = user.put(&target, &png).await?;
    ensure!((200..300).contains(&status), "the upload returned {status}");

    let (form, _) = page.form_with_button("Save draft").ok_or_else(|| page.test_error("nothing to save"))?;
    let fields = [("content", "A boat"), ("add.00", text(&target, "path")?), ("do", "save")];
    let hidden = form.fields.iter().filter(|it| it.kind == "hidden");
    let hidden: Vec<_> = hidden.map(|it| (it.name.as_str(), it.value.as_deref().unwrap_or_default())).collect();
    let fields: Vec<_> = hidden.into_iter().chain(fields).collect();
    let saved = user.browser.post(&format!("{}{POSTS}/new", deployment.origin()), &fields).await?;
    check_page(&saved, true)?;
    ensure_shown(&saved, "Alt text of image 1")?;
    // The files of other users cannot be named.
    let page = open(&mut other, &format!("{POSTS}/new")).await?;
    let (form, _) = page.form_with_button("Save draft").ok_or_else(|| page.test_error("nothing to save"))?;
    let own = form.fields.iter().filter(|it| it.kind == "hidden");
    let own = own.map(|it| (it.name.as_str(), it.value.as_deref().unwrap_or_default()));
    let fields: Vec<_> =
        own.chain([("content", "A boat"), ("add.00", text(&target, "path")?), ("do", "save")]).collect();
    let refused = other.browser.post(&format!("{}{POSTS}/new", deployment.origin()), &fields).await?;
    same(refused.status.as_u16(), 422, "a file of another user")
}

async fn times_are_shown_in_the_zone_of_the_user(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let page = open(&mut user, "/account").await?;
    let refused = user.browser.press(&page, "Save", &[("zone", "Mars/Olympus")]).await?;
    same(refused.status.as_u16(), 422, "a zone that does not exist")?;
    let page = user.browser.press(&page, "Save", &[("zone", "Asia/Tokyo")]).await?;
    check_page(&page, true)?;
    ensure_shown(&page, "Pages now show times in this time zone.")?;

    let page = open(&mut user, &format!("{POSTS}/new")).await?;
    let account = format!("to.{}", connection["id"]);
    let fill = [("content", "Good morning"), (account.as_str(), "on"), ("at", "2028-02-01T09:00")];
    let page = user.browser.press(&page, "Schedule", &fill).await?;
    ensure_shown(&page, "1 February 2028, 09:00 Tokyo (00:00 UTC)")?;
    ensure_shown(&page, "value=\"2028-02-01T09:00\"")?;
    let posts = user.api.get("/posts").await?.ok(200)?;
    same(&posts["data"][0]["scheduled_at"], &json!("2028-02-01T00:00:00.000Z"), "its time")?;
    ensure_shown(&open(&mut user, POSTS).await?, "09:00 Tokyo (00:00 UTC)")
}
