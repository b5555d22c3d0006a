//! An independent server with Mastodon's API that stores what it receives. It finds mistakes that
//! our adapter and our own fake have in common.
//!
//! It is not Mastodon: it checks neither PKCE nor our secret, has no file that is still being
//! processed, counts every link in full, and interprets `*` as emphasis.

mod server;

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use domain::media::MimeType;
use platforms::conformance::samples::sample;
use reqwest::Method;
use serde_json::{Value, json};

use self::server::{ACCOUNT, ACCOUNT_BUTTON, MEDIA, MastodonServer, STATUSES};
use super::{
    connecting::{connected, departs},
    scenes::Scenes,
};
use crate::{
    answer::{integer, text},
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, same},
    harness::{Harness, LIFTED},
    lossy_proxy::{LossyProxy, ProxyPort},
    moment,
    report::Report,
};

/// Enough seconds to be sure that a call which was cut off had no effect, and to repeat it.
const SETTLED_SECONDS: u64 = 180;

/// The local stack and a server that is reached through a proxy.
struct Stand {
    server: MastodonServer,
    proxy: LossyProxy,
    deployment: Deployment,
    _local: Harness,
}

impl Stand {
    async fn start() -> Result<Self> {
        let front = ProxyPort::take().await?;
        let server = MastodonServer::start(front.number()).await?;
        let proxy = front.lead_to(server.listens());
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
        let begun = user.api.call(Method::POST, "/connections/connect/mastodon").send().await?.ok(201)?;
        let answers = [("server".to_owned(), format!("http://{}", self.name()))];
        let departed = departs(user, &begun, &answers.into()).await?;
        let mut browser = user.browser.clone();
        let page = browser.open(departed.as_str()).await?;
        let page = browser.press(&page, ACCOUNT_BUTTON, &[]).await?;
        ensure!(
            page.html.contains("is connected"),
            "{}",
            page.test_error("the person does not read that it is connected")
        );
        connected(user, &begun).await
    }

    /// Waits until a post is published, and returns its status on the server.
    async fn published(&self, user: &User<'_>, id: i64, seconds: u64) -> Result<Value> {
        let post = user.reaches(id, "published", seconds).await?;
        self.server.status(text(&post["platforms"][0], "platform_post_id")?).await
    }

    /// Checks that the server has exactly one status with this text, and that it is this one.
    async fn exactly_once(&self, words: &str, status: &Value) -> Result {
        let ids: Vec<_> = self.server.statuses(words).await?.into_iter().map(|it| it["id"].clone()).collect();
        same(ids, vec![status["id"].clone()], "statuses with this text")?;
        let sent = self.server.source(text(status, "id")?).await?;
        ensure!(sent.starts_with(words), "the text is {sent}");
        Ok(())
    }

    /// The number of publish calls so far, including those with lost responses.
    fn public_calls(&self) -> usize {
        self.proxy.came(&format!("POST {STATUSES} "))
    }

    async fn armed_fault_is_met(&self) -> Result {
        moment::eventually(Duration::from_secs(30), "the fault that was armed", async || {
            Ok((self.server.armed().await? == 0).then_some(()))
        })
        .await
    }
}

/// Runs every scene.
pub async fn run(report: &mut Report) -> Result {
    let stand = Stand::start().await?;
    let user = stand.deployment.new_user().await?;
    let mut scenes = Scenes { part: "mastodon", report };
    let connection =
        scenes.play("an account is connected through the server's own page", connecting(&stand, &user)).await;
    let Some(it) = connection else { return Ok(()) };
    scenes.play("text with a link, a tag and Cyrillic, byte for byte", words(&stand, &user, &it)).await;
    scenes.play("pictures in their order, and a video, byte for byte", files(&stand, &user, &it)).await;
    scenes.play("lost responses, and exactly one status each", lost_answers(&stand, &user, &it)).await;
    scenes.play("503 and rate limits are retried", waited_out(&stand, &user, &it)).await;
    scenes.play("an unknown outcome, and exactly one status each", uncertain(&stand, &user, &it)).await;
    scenes.play("an error quotes the server's message", refused(&stand, &user, &it)).await;
    scenes.play("a grant is revoked and given again", taken_back(&stand, &user, &it)).await;
    scenes.play("disconnecting ends the grant", disconnecting(&stand, &user, &it)).await;
    Ok(())
}

async fn connecting(stand: &Stand, user: &User<'_>) -> Result<Value> {
    let connection = stand.connect(user).await?;
    same(&connection["provider"], &json!("mastodon"), "provider")?;
    same(&connection["username"], &json!(format!("{ACCOUNT}@{}", stand.name())), "username")?;
    same(&connection["needs_reconnection"], &json!(false), "needs_reconnection")?;

    let shown = user.api.get(&format!("/connections/{}", integer(&connection, "id")?)).await?.ok(200)?;
    let meta = |name: &str| {
        let entries = shown["meta"].as_array().into_iter().flatten();
        entries.filter(|it| it["name"] == name).map(|it| it["value"].clone()).collect::<Vec<_>>()
    };
    for (name, value) in [
        ("profile_url", json!(format!("http://{}/@{ACCOUNT}", stand.name()))),
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

async fn words(stand: &Stand, user: &User<'_>, connection: &Value) -> Result {
    let words = "Приве́т 👩‍👩‍👧‍👦, <b> & \"друзья\"!\n\nhttps://example.com/путь?q=1&w=2 и #Новости 日本";
    let id = user.schedule(words, &[connection], 2).await?;

    let status = stand.published(user, id, 60).await?;

    same(stand.server.source(text(&status, "id")?).await?, words.to_owned(), "the text")?;
    same(&status["visibility"], &json!("public"), "visibility")?;
    same(&status["sensitive"], &json!(false), "sensitive")?;
    same(&status["tags"][0]["name"], &json!("новости"), "the tag")?;
    let html = text(&status, "content")?;
    ensure!(html.contains("href=\"https://example.com/путь?q=1&amp;w=2\""), "the link is not one in {html}");
    let shown = user.show(id).await?;
    let told: DateTime<Utc> = text(&shown["platforms"][0], "published_at")?.parse()?;
    let made: DateTime<Utc> = text(&status, "created_at")?.parse()?;
    ensure!((told - made).abs() <= TimeDelta::milliseconds(1), "it was made at {made}, and we say {told}");
    same(stand.server.statuses("Новости").await?.len(), 1, "statuses with this text")
}

async fn files(stand: &Stand, user: &User<'_>, connection: &Value) -> Result {
    let kinds = [("image", MimeType::Jpeg), ("image", MimeType::Png), ("image", MimeType::Webp)];
    let pictures = kinds.map(|(kind, mime_type)| (kind.to_owned(), mime_type, sample(mime_type, 1).bytes));
    let video = ("video".to_owned(), MimeType::Mp4, sample(MimeType::Mp4, 1).bytes);
    for files in [pictures.to_vec(), vec![video]] {
        let mut media = Vec::new();
        for (_, mime_type, bytes) in &files {
            media.push(user.upload(mime_type.as_str(), bytes).await?);
        }
        let words = fresh("with files");
        let body = json!({
            "content": words,
            "platforms": targets(&[connection])?,
            "media": media,
            "scheduled_at": moment::in_seconds(1),
        });
        let id = integer(&user.create(&body).await?, "id")?;

        let status = stand.published(user, id, 60).await?;

        let wanted: Vec<_> = files.into_iter().map(|(kind, _, bytes)| (kind, bytes)).collect();
        ensure!(stand.server.files(&status).await? == wanted, "other files, or in another order: {status}");
        stand.exactly_once(&words, &status).await?;
    }
    Ok(())
}

/// The status is created, and the response is lost. With an image, the status can be recognized.
/// With text alone, only a repeat with the idempotency key is safe; it is sent when it cannot
/// create a second status any more.
async fn lost_answers(stand: &Stand, user: &User<'_>, connection: &Value) -> Result {
    for (media, calls) in [(vec![], 2), (vec![user.picture().await?], 1)] {
        let words = fresh("the response is lost");
        let body = json!({
            "content": format!("{words} #мир https://example.com/?a=1&b=2"),
            "platforms": targets(&[connection])?,
            "media": media,
            "scheduled_at": moment::in_seconds(1),
        });
        let before = stand.public_calls();
        stand.proxy.lose(1, &format!("POST {STATUSES} "));
        let id = integer(&user.create(&body).await?, "id")?;

        let status = stand.published(user, id, SETTLED_SECONDS).await?;

        same(stand.proxy.unmet(), 0, "responses still to be lost")?;
        same(stand.public_calls() - before, calls, "public calls")?;
        stand.exactly_once(&words, &status).await?;
    }
    Ok(())
}

/// The server limits the rate, first for the file and then for the status.
async fn waited_out(stand: &Stand, user: &User<'_>, connection: &Value) -> Result {
    // Nothing is sent before the limit ends. Both forms of the header count; the server's own
    // `Retry-After` of five minutes does not.
    let ends = moment::now() + TimeDelta::seconds(25);
    let limit =
        |reset: String| json!({ "type": "ratelimit", "status": 429, "headers": { "X-RateLimit-Reset": reset } });
    stand.server.arm(MEDIA, &json!({ "type": "status", "status": 503 })).await?;
    stand.server.arm(MEDIA, &limit((ends.timestamp() - 12).to_string())).await?;
    stand.server.arm(STATUSES, &json!({ "type": "status", "status": 503 })).await?;
    stand.server.arm(STATUSES, &limit(ends.to_rfc3339_opts(SecondsFormat::Micros, true))).await?;
    let words = fresh("waits");
    let body = json!({
        "content": words,
        "platforms": targets(&[connection])?,
        "media": [user.picture().await?],
        "scheduled_at": moment::in_seconds(1),
    });
    let id = integer(&user.create(&body).await?, "id")?;

    let status = stand.published(user, id, 90).await?;

    same(stand.server.armed().await?, 0, "faults still armed")?;
    let made: DateTime<Utc> = text(&status, "created_at")?.parse()?;
    ensure!(ends <= made, "made at {made}, before the limit ended at {ends}");
    stand.exactly_once(&words, &status).await
}

/// A call that may have taken effect is looked up first. It is only repeated when it can no longer
/// be under way.
async fn uncertain(stand: &Stand, user: &User<'_>, connection: &Value) -> Result {
    let before = stand.public_calls();
    let mut posts = Vec::new();
    // No status is created, and the response does not show that.
    for kind in ["malformed", "timeout"] {
        stand.server.arm(STATUSES, &json!({ "type": kind })).await?;
        let words = fresh(kind);
        posts.push((user.schedule(&words, &[connection], 1).await?, words));
        stand.armed_fault_is_met().await?;
    }
    // The status is created but not recognized, because the server changes the text. Only the
    // idempotency key prevents a second status.
    stand.proxy.lose(1, &format!("POST {STATUSES} "));
    let words = fresh("emphasized");
    posts.push((user.schedule(&format!("{words} *very*"), &[connection], 1).await?, words));

    for (id, words) in posts {
        let status = stand.published(user, id, SETTLED_SECONDS).await?;
        stand.exactly_once(&words, &status).await?;
    }
    same(stand.proxy.unmet(), 0, "responses still to be lost")?;
    same(stand.public_calls() - before, 6, "public calls, two for each")
}

/// A link counts 23 characters for us, as on Mastodon, but in full on this server.
async fn refused(stand: &Stand, user: &User<'_>, connection: &Value) -> Result {
    let words = fresh("too long");
    let long = format!("{words} https://example.com/{}", "x".repeat(500));
    let id = user.schedule(&long, &[connection], 1).await?;

    let failed = user.reaches(id, "failed", 60).await?;

    let told = text(&failed["platforms"][0], "error_message")?;
    ensure!(told.contains("Text is too long (maximum is 500 characters)"), "the post says {told}");
    same(stand.server.statuses(&words).await?.len(), 0, "statuses with this text")
}

async fn taken_back(stand: &Stand, user: &User<'_>, connection: &Value) -> Result {
    stand.server.take_back(&stand.server.granted_token().await?).await?;
    let words = fresh("after it was revoked");
    let id = user.schedule(&words, &[connection], 1).await?;
    let path = format!("/connections/{}", integer(connection, "id")?);

    moment::eventually(Duration::from_mins(1), "needs_reconnection", async || {
        let shown = user.api.get(&path).await?.ok(200)?;
        Ok((shown["needs_reconnection"] == true).then_some(()))
    })
    .await?;
    // The connection is marked first, and the post gets its message after that.
    moment::eventually(Duration::from_secs(30), "the post says what to do", async || {
        let told = user.show(id).await?["platforms"][0]["error_message"].to_string();
        Ok(told.contains("onnect").then_some(()))
    })
    .await?;

    let again = stand.connect(user).await?;
    same(&again["id"], &connection["id"], "id of the connection")?;
    let status = stand.published(user, id, 120).await?;
    stand.exactly_once(&words, &status).await?;
    same(stand.proxy.came("POST /api/v1/apps "), 1, "registrations of this service")
}

async fn disconnecting(stand: &Stand, user: &User<'_>, connection: &Value) -> Result {
    let token = stand.server.granted_token().await?;
    ensure!(stand.server.knows(&token).await?, "the token is not known before");
    let gone = user.api.call(Method::DELETE, &format!("/connections/{}", integer(connection, "id")?)).send().await?;
    same(gone.status, 204, "status of disconnecting")?;
    moment::eventually(Duration::from_secs(30), "the end of the grant", async || {
        Ok((!stand.server.knows(&token).await?).then_some(()))
    })
    .await
}
