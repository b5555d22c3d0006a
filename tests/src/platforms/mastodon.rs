//! An independent server with Mastodon's API that stores what it receives. It finds mistakes that
//! our adapter and our own fake have in common.
//!
//! It is not Mastodon: it checks neither PKCE nor our secret, has no file that is still being
//! processed, counts every link in full, and interprets `*` as emphasis.

mod server;

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use domain::media::MimeType;
use fakes::conformance::samples::sample;
use serde_json::{Value, json};

use self::server::{ACCOUNT, ACCOUNT_BUTTON, MEDIA, MastodonServer, STATUSES};
use super::{
    connecting::{connected, submit_form_for_redirect},
    scenes::{Figures, Scenes},
    threads::{SEGMENTS, Thread},
};
use crate::{
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, same},
    harness::{Harness, LIFTED},
    http_response::{integer, text},
    lossy_proxy::{LossyProxy, ProxyPort},
    moment,
    report::Report,
};

/// Enough seconds to be sure that a call which was cut off had no effect, and to repeat it.
const SETTLED_SECONDS: u64 = 180;

/// The local stack and a server that is reached through a proxy.
struct MastodonFixture {
    server: MastodonServer,
    proxy: LossyProxy,
    deployment: Deployment,
    _local: Harness,
}

impl MastodonFixture {
    async fn start() -> Result<Self> {
        let proxy_port = ProxyPort::take().await?;
        let server = MastodonServer::start(proxy_port.number()).await?;
        let proxy = proxy_port.forward_to(server.listens());
        let address = proxy.address().to_string();
        let platforms = json!({ "mastodon": {} }).to_string();
        let mut arguments = vec!["--platforms", &platforms, "--allow-fetch-from", &address];
        arguments.extend(LIFTED);
        let local = Harness::start(&arguments).await?;
        let deployment = Deployment::new(local.ready().clone()).await?;
        Ok(Self { server, proxy, deployment, _local: local })
    }

    /// The server's name, as users write it.
    fn name(&self) -> String {
        self.proxy.address().to_string()
    }

    /// Connects the account: our page, the server's, and the callback.
    async fn connect(&self, user: &User<'_>) -> Result<Value> {
        let flow = user.begin_at("mastodon").await?;
        let field_values = [("server".to_owned(), format!("http://{}", self.name()))];
        let redirect = submit_form_for_redirect(user, &flow, &field_values.into()).await?;
        let mut browser = user.browser.clone();
        let page = browser.open(redirect.as_str()).await?;
        let page = browser.press(&page, ACCOUNT_BUTTON, &[]).await?;
        ensure!(
            page.html.contains("is connected"),
            "{}",
            page.test_error("the person does not read that it is connected")
        );
        connected(user, &flow).await
    }

    /// Waits until a post is published, and returns its status on the server.
    async fn wait_for_status(&self, user: &User<'_>, id: i64, seconds: u64) -> Result<Value> {
        let post = user.reaches(id, "published", seconds).await?;
        self.server.status(text(&post["platforms"][0], "platform_post_id")?).await
    }

    /// Checks that the server has exactly one status with this text, and that it is this one.
    async fn ensure_exactly_once(&self, content: &str, status: &Value) -> Result {
        let ids: Vec<_> = self.server.statuses(content).await?.into_iter().map(|it| it["id"].clone()).collect();
        same(ids, vec![status["id"].clone()], "statuses with this text")?;
        let sent = self.server.source(text(status, "id")?).await?;
        ensure!(sent.starts_with(content), "the text is {sent}");
        Ok(())
    }

    /// The number of publish calls so far, including those with lost responses.
    fn count_publish_calls(&self) -> usize {
        self.proxy.request_count(&format!("POST {STATUSES} "))
    }

    async fn wait_for_armed_fault(&self) -> Result {
        moment::eventually(Duration::from_secs(30), "the fault that was armed", async || {
            Ok((self.server.armed().await? == 0).then_some(()))
        })
        .await
    }
}

/// Runs every scene.
pub async fn run(report: &mut Report) -> Result {
    let fixture = MastodonFixture::start().await?;
    let user = fixture.deployment.new_user().await?;
    let mut scenes = Scenes { part: "mastodon", report };
    let connection =
        scenes.play("an account is connected through the server's own page", connect_account(&fixture, &user)).await;
    let Some(it) = connection else { return Ok(()) };
    scenes.play("text with a link, a tag and Cyrillic, byte for byte", publish_text(&fixture, &user, &it)).await;
    scenes.play("pictures in their order, and a video, byte for byte", files(&fixture, &user, &it)).await;
    scenes.measure("a thread of five with pictures", publish_thread(&fixture, &user, &it)).await;
    for (name, has_pictures) in [
        ("a lost response in the middle of a thread, and five statuses", false),
        ("a lost response in the middle of a thread with pictures, and five statuses", true),
    ] {
        scenes.play(name, lose_response_of_thread(&fixture, &user, &it, has_pictures)).await;
    }
    scenes.play("lost responses, and exactly one status each", lose_responses(&fixture, &user, &it)).await;
    scenes.play("503 and rate limits are retried", wait_for_rate_limits(&fixture, &user, &it)).await;
    scenes
        .play("an unknown outcome, and exactly one status each", resolve_unknown_outcomes(&fixture, &user, &it))
        .await;
    scenes.play("an error quotes the server's message", show_refusal(&fixture, &user, &it)).await;
    scenes.play("a grant is revoked and given again", revoke_and_reconnect(&fixture, &user, &it)).await;
    scenes.play("disconnecting ends the grant", disconnect_account(&fixture, &user, &it)).await;
    Ok(())
}

async fn connect_account(fixture: &MastodonFixture, user: &User<'_>) -> Result<Value> {
    let connection = fixture.connect(user).await?;
    same(&connection["provider"], &json!("mastodon"), "provider")?;
    same(&connection["username"], &json!(format!("{ACCOUNT}@{}", fixture.name())), "username")?;
    same(&connection["needs_reconnection"], &json!(false), "needs_reconnection")?;

    let shown = user.api.get(&format!("/connections/{}", integer(&connection, "id")?)).await?.ok(200)?;
    let meta = |name: &str| {
        let entries = shown["meta"].as_array().into_iter().flatten();
        entries.filter(|it| it["name"] == name).map(|it| it["value"].clone()).collect::<Vec<_>>()
    };
    for (name, value) in [
        ("profile_url", json!(format!("http://{}/@{ACCOUNT}", fixture.name()))),
        // The server only lists `read` and `write`, which include these.
        ("scopes", json!(["read:accounts", "read:statuses", "write:statuses", "write:media"])),
        ("token_expires_at", Value::Null),
        ("max_text", json!(500)),
        ("url_length", json!(23)),
        ("max_media", json!(4)),
        // The limits that the server declares, not Mastodon's defaults.
        ("max_image_bytes", json!(10_485_759)),
        ("max_video_bytes", json!(41_943_039)),
        ("max_alt_text", json!(1500)),
        ("mime_types", json!(["image/jpeg", "image/png", "image/gif", "image/webp", "video/mp4"])),
    ] {
        same(meta(name), vec![value], name)?;
    }
    Ok(connection)
}

async fn publish_text(fixture: &MastodonFixture, user: &User<'_>, connection: &Value) -> Result {
    let original = "Приве́т 👩‍👩‍👧‍👦, <b> & \"друзья\"!\n\nhttps://example.com/путь?q=1&w=2 и #Новости 日本";
    let id = user.schedule(original, &[connection], 2).await?;

    let status = fixture.wait_for_status(user, id, 60).await?;

    same(fixture.server.source(text(&status, "id")?).await?, original.to_owned(), "the text")?;
    same(&status["visibility"], &json!("public"), "visibility")?;
    same(&status["sensitive"], &json!(false), "sensitive")?;
    same(&status["tags"][0]["name"], &json!("новости"), "the tag")?;
    let html = text(&status, "content")?;
    ensure!(html.contains("href=\"https://example.com/путь?q=1&amp;w=2\""), "the link is not one in {html}");
    let shown = user.show(id).await?;
    let shown_time: DateTime<Utc> = text(&shown["platforms"][0], "published_at")?.parse()?;
    let created_at: DateTime<Utc> = text(&status, "created_at")?.parse()?;
    ensure!(
        (shown_time - created_at).abs() <= TimeDelta::milliseconds(1),
        "it was made at {created_at}, and we say {shown_time}"
    );
    same(fixture.server.statuses("Новости").await?.len(), 1, "statuses with this text")
}

async fn files(fixture: &MastodonFixture, user: &User<'_>, connection: &Value) -> Result {
    let kinds = [("image", MimeType::Jpeg), ("image", MimeType::Png), ("image", MimeType::Webp)];
    let pictures = kinds.map(|(kind, mime_type)| (kind.to_owned(), mime_type, sample(mime_type, 1).bytes));
    let video = ("video".to_owned(), MimeType::Mp4, sample(MimeType::Mp4, 1).bytes);
    for files in [pictures.to_vec(), vec![video]] {
        let mut media = Vec::new();
        for (_, mime_type, bytes) in &files {
            media.push(user.upload(mime_type.as_str(), bytes).await?);
        }
        let content = fresh("with files");
        let body = json!({
            "content": content,
            "platforms": targets(&[connection])?,
            "media": media,
            "scheduled_at": moment::in_seconds(1),
        });
        let id = integer(&user.create(&body).await?, "id")?;

        let status = fixture.wait_for_status(user, id, 60).await?;

        let wanted: Vec<_> = files.into_iter().map(|(kind, _, bytes)| (kind, bytes)).collect();
        ensure!(fixture.server.files(&status).await? == wanted, "other files, or in another order: {status}");
        fixture.ensure_exactly_once(&content, &status).await?;
    }
    Ok(())
}

/// The status is created, and the response is lost. With an image, the status can be recognized.
/// With text alone, only a repeat with the idempotency key is safe; it is sent when it cannot
/// create a second status any more.
async fn lose_responses(fixture: &MastodonFixture, user: &User<'_>, connection: &Value) -> Result {
    for (media, calls) in [(vec![], 2), (vec![user.picture().await?], 1)] {
        let content = fresh("the response is lost");
        let body = json!({
            "content": format!("{content} #мир https://example.com/?a=1&b=2"),
            "platforms": targets(&[connection])?,
            "media": media,
            "scheduled_at": moment::in_seconds(1),
        });
        let before = fixture.count_publish_calls();
        fixture.proxy.lose(1, &format!("POST {STATUSES} "));
        let id = integer(&user.create(&body).await?, "id")?;

        let status = fixture.wait_for_status(user, id, SETTLED_SECONDS).await?;

        same(fixture.proxy.unmet(), 0, "responses still to be lost")?;
        same(fixture.count_publish_calls() - before, calls, "public calls")?;
        fixture.ensure_exactly_once(&content, &status).await?;
    }
    Ok(())
}

async fn publish_thread(fixture: &MastodonFixture, user: &User<'_>, connection: &Value) -> Result<Figures> {
    let thread = Thread::schedule(user, &targets(&[connection])?[0], true, TimeDelta::seconds(8)).await?;

    let ids = thread.published(user, 60).await?;

    ensure_statuses_of_thread(fixture, &thread, &ids).await?;
    thread.figures(&fixture.proxy, &format!("POST {STATUSES} "))
}

/// The third status is created, and the response is lost. With pictures, the status is recognized;
/// with text alone, the call is repeated with its idempotency key.
async fn lose_response_of_thread(
    fixture: &MastodonFixture,
    user: &User<'_>,
    connection: &Value,
    has_pictures: bool,
) -> Result {
    let before = fixture.count_publish_calls();
    fixture.proxy.lose_after(SEGMENTS / 2, &format!("POST {STATUSES} "));
    let thread = Thread::schedule(user, &targets(&[connection])?[0], has_pictures, TimeDelta::seconds(3)).await?;

    let ids = thread.published(user, SETTLED_SECONDS).await?;

    same(fixture.proxy.unmet(), 0, "responses still to be lost")?;
    let repeated_calls = usize::from(!has_pictures);
    same(fixture.count_publish_calls() - before, SEGMENTS + repeated_calls, "public calls")?;
    ensure_statuses_of_thread(fixture, &thread, &ids).await
}

/// Checks that the server has exactly these statuses, each as a reply to the one before it and with
/// its picture.
async fn ensure_statuses_of_thread(fixture: &MastodonFixture, thread: &Thread, ids: &[String]) -> Result {
    let mut shown: Vec<_> =
        fixture.server.statuses(&thread.prefix).await?.into_iter().map(|it| it["id"].clone()).collect();
    shown.reverse();
    same(shown, ids.iter().map(|it| json!(it)).collect(), "statuses of the thread")?;
    for (index, (id, content)) in ids.iter().zip(&thread.texts).enumerate() {
        same(&fixture.server.source(id).await?, content, "the text of a status")?;
        same(fixture.server.ancestors(id).await?, ids[..index].to_vec(), "the statuses that a status continues")?;
        let files = fixture.server.files(&fixture.server.status(id).await?).await?;
        let wanted: Vec<_> =
            thread.pictures.get(index).map(|it| ("image".to_owned(), it.clone())).into_iter().collect();
        ensure!(files == wanted, "status {} has other files", index + 1);
    }
    Ok(())
}

/// The server limits the rate, first for the file and then for the status.
async fn wait_for_rate_limits(fixture: &MastodonFixture, user: &User<'_>, connection: &Value) -> Result {
    // Nothing is sent before the limit ends. Both forms of the header count; the server's own
    // `Retry-After` of five minutes does not.
    let limit_ends_at = moment::now() + TimeDelta::seconds(25);
    let limit =
        |reset: String| json!({ "type": "ratelimit", "status": 429, "headers": { "X-RateLimit-Reset": reset } });
    fixture.server.arm(MEDIA, &json!({ "type": "status", "status": 503 })).await?;
    fixture.server.arm(MEDIA, &limit((limit_ends_at.timestamp() - 12).to_string())).await?;
    fixture.server.arm(STATUSES, &json!({ "type": "status", "status": 503 })).await?;
    fixture.server.arm(STATUSES, &limit(limit_ends_at.to_rfc3339_opts(SecondsFormat::Micros, true))).await?;
    let content = fresh("waits");
    let body = json!({
        "content": content,
        "platforms": targets(&[connection])?,
        "media": [user.picture().await?],
        "scheduled_at": moment::in_seconds(1),
    });
    let id = integer(&user.create(&body).await?, "id")?;

    let status = fixture.wait_for_status(user, id, 90).await?;

    same(fixture.server.armed().await?, 0, "faults still armed")?;
    let created_at: DateTime<Utc> = text(&status, "created_at")?.parse()?;
    ensure!(limit_ends_at <= created_at, "made at {created_at}, before the limit ended at {limit_ends_at}");
    fixture.ensure_exactly_once(&content, &status).await
}

/// A call that may have taken effect is looked up first. It is only repeated when it can no longer
/// be under way.
async fn resolve_unknown_outcomes(fixture: &MastodonFixture, user: &User<'_>, connection: &Value) -> Result {
    let before = fixture.count_publish_calls();
    let mut posts = Vec::new();
    // No status is created, and the response does not show that.
    for kind in ["malformed", "timeout"] {
        fixture.server.arm(STATUSES, &json!({ "type": kind })).await?;
        let content = fresh(kind);
        posts.push((user.schedule(&content, &[connection], 1).await?, content));
        fixture.wait_for_armed_fault().await?;
    }
    // The status is created but not recognized, because the server changes the text. Only the
    // idempotency key prevents a second status.
    fixture.proxy.lose(1, &format!("POST {STATUSES} "));
    let content = fresh("emphasized");
    posts.push((user.schedule(&format!("{content} *very*"), &[connection], 1).await?, content));

    for (id, content) in posts {
        let status = fixture.wait_for_status(user, id, SETTLED_SECONDS).await?;
        fixture.ensure_exactly_once(&content, &status).await?;
    }
    same(fixture.proxy.unmet(), 0, "responses still to be lost")?;
    same(fixture.count_publish_calls() - before, 6, "public calls, two for each")
}

/// A link counts 23 characters for us, as on Mastodon, but in full on this server.
async fn show_refusal(fixture: &MastodonFixture, user: &User<'_>, connection: &Value) -> Result {
    let content = fresh("too long");
    let long = format!("{content} https://example.com/{}", "x".repeat(500));
    let id = user.schedule(&long, &[connection], 1).await?;

    let failed = user.reaches(id, "failed", 60).await?;

    let message = text(&failed["platforms"][0], "error_message")?;
    ensure!(message.contains("Text is too long (maximum is 500 characters)"), "the post says {message}");
    same(fixture.server.statuses(&content).await?.len(), 0, "statuses with this text")
}

async fn revoke_and_reconnect(fixture: &MastodonFixture, user: &User<'_>, connection: &Value) -> Result {
    fixture.server.take_back(&fixture.server.granted_token().await?).await?;
    let content = fresh("after it was revoked");
    let id = user.schedule(&content, &[connection], 1).await?;
    user.loses_grant(connection, 60).await?;
    // The connection is marked first, and the post gets its message after that.
    moment::eventually(Duration::from_secs(30), "the post says what to do", async || {
        let message = user.show(id).await?["platforms"][0]["error_message"].to_string();
        Ok(message.contains("onnect").then_some(()))
    })
    .await?;

    let reconnected = fixture.connect(user).await?;
    same(&reconnected["id"], &connection["id"], "id of the connection")?;
    let status = fixture.wait_for_status(user, id, 120).await?;
    fixture.ensure_exactly_once(&content, &status).await?;
    same(fixture.proxy.request_count("POST /api/v1/apps "), 1, "registrations of this service")
}

async fn disconnect_account(fixture: &MastodonFixture, user: &User<'_>, connection: &Value) -> Result {
    let token = fixture.server.granted_token().await?;
    ensure!(fixture.server.knows(&token).await?, "the token is not known before");
    user.disconnect(connection).await?;
    moment::eventually(Duration::from_secs(30), "the end of the grant", async || {
        Ok((!fixture.server.knows(&token).await?).then_some(()))
    })
    .await
}
