//! A real Bluesky server: its own pages in Chromium, its own validation, and its own records, read
//! and compared.

use std::path::Path;

use chrono::TimeDelta;
use fakes::conformance::samples::sample;
use serde_json::{Value, json};

use super::{
    scenes::{Figures, Scenes},
    threads::Thread,
};
use crate::{
    bluesky_server::{BlueskyServer, BlueskySettings, ConfidentialClient, Decision, Redirected, SignIn},
    deployment::{Deployment, User, fresh, targets},
    ensure,
    error::{Result, same},
    harness::{Harness, LIFTED},
    http_response::{integer, list, text},
    lossy_proxy::{LossyProxy, ProxyPort},
    moment,
    report::Report,
    template::ROOT,
};

/// The folder for screenshots.
const SCREENSHOTS: &str = "target/screenshots/bluesky";

/// The service's public origin. Servers accept its name for a confidential client.
const PUBLIC_ORIGIN: &str = "https://app.sps-loopback.dev";

/// The address with which the demo user of the local stack signs in.
const DEMO: &str = "demo@example.com";

/// The method of the publish call.
const PUT_RECORD: &str = "com.atproto.repo.putRecord";

/// The local stack and a server that is reached through a proxy.
struct BlueskyFixture {
    server: BlueskyServer,
    proxy: LossyProxy,
    deployment: Deployment,
    _local: Harness,
}

impl BlueskyFixture {
    /// Starts both. With a public origin the service is a confidential client, and the server reads
    /// its document.
    async fn start(public_origin: Option<&str>) -> Result<Self> {
        let (proxy_port, reserved_port) = (ProxyPort::take().await?, ProxyPort::take().await?);
        let port = reserved_port.number().to_string();
        drop(reserved_port);
        let client = public_origin
            .map(|origin| ConfidentialClient { origin: origin.to_owned(), target: format!("http://127.0.0.1:{port}") });
        let settings = BlueskySettings { public_port: Some(proxy_port.number()), client, ..BlueskySettings::default() };
        let server = BlueskyServer::start(settings).await?;
        let (v4, v6) = (format!("127.0.0.1:{}", proxy_port.number()), format!("[::1]:{}", proxy_port.number()));
        let proxy = proxy_port.forward_to(server.listens());

        let url = server.url();
        // The server resolves its own handles, and has neither AppView nor video service.
        let bluesky_settings = json!({ "plc": server.directory(), "resolver": url, "appview": url });
        let platforms = json!({ "bluesky": bluesky_settings }).to_string();
        let mut arguments = vec!["--ephemeral", "--port", "0", "--platforms", &platforms];
        arguments.extend(["--allow-fetch-from", &v4, "--allow-fetch-from", &v6]);
        arguments.extend(public_origin.iter().flat_map(|it| ["--origin", it, "--origin-port", &port]));
        arguments.extend(LIFTED);
        let local = Harness::start_with(&crate::harness::binary("local")?, &arguments).await?;
        let deployment = Deployment::new(local.ready().clone()).await?;
        Ok(Self { server, proxy, deployment, _local: local })
    }

    /// The demo user, who signs in as [`DEMO`].
    async fn user(&self) -> Result<User<'_>> {
        let api = self.deployment.stranger()?.with_token(Some(self.deployment.token()));
        let mut user = User::from_token(&self.deployment, api, self.deployment.browser()?).await?;
        DEMO.clone_into(&mut user.email);
        Ok(user)
    }

    /// The user signs in to the service, starts on our page and completes the server's pages.
    async fn goes_through(&self, flow: &Value, decision: Decision, pictures: &str) -> Result<Redirected> {
        let sign_in = SignIn {
            url: text(flow, "authorization_url")?.to_owned(),
            email: DEMO.to_owned(),
            fill: vec![("handle".to_owned(), self.server.account().handle.clone())],
            decision,
            screenshots: Path::new(ROOT).join(SCREENSHOTS).join(pictures),
        };
        self.server.sign_in(sign_in).await
    }

    async fn connect(&self, user: &User<'_>, pictures: &str) -> Result<Value> {
        let flow = user.begin_at("bluesky").await?;
        let ended = self.goes_through(&flow, Decision::Authorize, pictures).await?;
        let page = ended.page.map(|it| it.text).unwrap_or_default();
        ensure!(page.contains("Bluesky is connected"), "the person ended on {}: {page}", ended.ended_at);
        super::connecting::connected(user, &flow).await
    }

    /// Publishes a post and returns it with its record on the server.
    async fn publish(&self, user: &User<'_>, body: &Value) -> Result<(Value, Value)> {
        let id = integer(&user.create(body).await?, "id")?;
        let post = user.reaches(id, "published", 90).await?;
        let uri = text(&post["platforms"][0], "platform_post_id")?.to_owned();
        let key = uri.rsplit('/').next().unwrap_or_default();
        let Some(record) = self.server.post(key).await? else { crate::fail!("{uri} is not there") };
        same(&record["uri"], &json!(uri), "uri")?;
        Ok((post, record["value"].clone()))
    }
}

/// Runs every scene.
pub async fn run(report: &mut Report) -> Result {
    let fixture = BlueskyFixture::start(None).await?;
    let mut user = fixture.user().await?;
    let account = format!("{}/account", fixture.deployment.origin());
    fixture.deployment.sign_in(&mut user.browser, &account, DEMO).await?;
    let mut scenes = Scenes { part: "bluesky", report };
    scenes.play("denied access connects nothing", deny_access(&fixture, &user)).await;
    let connection =
        scenes.play("an account is connected through the server's own pages", connect_account(&fixture, &user)).await;
    if let Some(it) = connection {
        scenes
            .play("text with links, tags and mentions, byte for byte", publish_text_with_facets(&fixture, &user, &it))
            .await;
        scenes.play("pictures, byte for byte", pictures(&fixture, &user, &it)).await;
        scenes.play("a video, byte for byte", publish_video(&fixture, &user, &it)).await;
        scenes.play("a link to a post becomes a quote", publish_quotes(&fixture, &user, &it)).await;
        scenes.measure("a thread of five with pictures", publish_thread(&fixture, &user, &it)).await;
        scenes.play("a grant is revoked and given again", revoke_and_reconnect(&fixture, &user, &it)).await;
        scenes.play("an app password works as well", app_password(&fixture, &user, &it)).await;
    }
    drop(user);
    drop(fixture);
    scenes.play("a confidential client, like a deployment", connect_as_confidential_client()).await;
    Ok(())
}

async fn deny_access(fixture: &BlueskyFixture, user: &User<'_>) -> Result {
    let flow = user.begin_at("bluesky").await?;
    let ended = fixture.goes_through(&flow, Decision::Deny, "deny").await?;
    let page = ended.page.map(|it| it.text).unwrap_or_default();
    ensure!(page.contains("Access was denied"), "the person reads {page}");
    let status = user.api.get(text(&flow, "poll_url")?).await?.ok(200)?;
    same(&status["status"], &json!("failed"), "status of the connect flow")
}

async fn connect_account(fixture: &BlueskyFixture, user: &User<'_>) -> Result<Value> {
    let connection = fixture.connect(user, "connect").await?;
    same(&connection["provider"], &json!("bluesky"), "provider")?;
    same(&connection["username"], &json!(fixture.server.account().handle), "username")?;
    same(&connection["needs_reconnection"], &json!(false), "needs_reconnection")?;
    Ok(connection)
}

async fn publish_text_with_facets(fixture: &BlueskyFixture, user: &User<'_>, connection: &Value) -> Result {
    let written = "Приве́т 👩‍👩‍👧‍👦 https://example.com/путь?q=1 и #мир, @alice.test! (see example.org/a) 日本 #タグ $abc";
    let shown_text = written.replace("https://example.com/путь?q=1", "example.com/%D0%BF%D1%83...");
    let at = |part: &str| {
        let start = shown_text.find(part).unwrap_or(usize::MAX);
        json!({ "byteStart": start, "byteEnd": start + part.len() })
    };
    let link = |part: &str, uri: &str| json!({ "index": at(part), "features": [{ "$type": "app.bsky.richtext.facet#link", "uri": uri }] });
    let tag = |part: &str| {
        let feature = json!({ "$type": "app.bsky.richtext.facet#tag", "tag": part.trim_start_matches('#') });
        json!({ "index": at(part), "features": [feature] })
    };
    let mention = json!({
        "index": at("@alice.test"),
        "features": [{ "$type": "app.bsky.richtext.facet#mention", "did": fixture.server.account().did }],
    });
    let due = moment::in_seconds(2);
    let body = json!({ "content": written, "platforms": targets(&[connection])?, "scheduled_at": due });

    let (_, record) = fixture.publish(user, &body).await?;

    let cashtag = json!({ "$type": "app.bsky.richtext.facet#tag", "tag": "$ABC" });
    let wanted = json!({
        "$type": "app.bsky.feed.post",
        "text": shown_text,
        "createdAt": due,
        "facets": [
            link("example.com/%D0%BF%D1%83...", "https://example.com/%D0%BF%D1%83%D1%82%D1%8C?q=1"),
            tag("#мир"),
            mention,
            link("example.org/a", "https://example.org/a"),
            tag("#タグ"),
            json!({ "index": at("$abc"), "features": [cashtag] }),
        ],
    });
    same(canonical(&record), canonical(&wanted), "the record")
}

async fn pictures(fixture: &BlueskyFixture, user: &User<'_>, connection: &Value) -> Result {
    let due = moment::in_seconds(2);
    let content = fresh("two pictures");
    let first = json!({ "path": user.picture().await?, "alt_text": "Ein Boot 🚣 \"Zoë\"" });
    let media = [first, json!(user.upload("image/jpeg", &rotated_picture()).await?)];
    let mut targets = targets(&[connection])?;
    targets[0]["options"] = json!({ "language": "de", "content_warning": "graphic-media" });
    let body = json!({ "content": content, "platforms": targets, "media": media, "scheduled_at": due });

    let (_, record) = fixture.publish(user, &body).await?;

    let images = record["embed"]["images"].as_array().cloned().unwrap_or_default();
    same(images.len(), 2, "pictures of the record")?;
    let mut shown = Vec::new();
    for image in &images {
        let blob = &image["image"];
        let bytes = fixture.server.blob(text(&blob["ref"], "$link")?).await?;
        same(&blob["size"], &json!(bytes.len()), "size of a picture")?;
        ensure!(!bytes.windows(4).any(|it| it == b"Exif"), "metadata went along");
        shown.push(image.clone());
    }
    // The second image is stored rotated, and must be shown upright.
    let wanted = json!({
        "$type": "app.bsky.feed.post",
        "text": content,
        "createdAt": due,
        "langs": ["de"],
        "labels": { "$type": "com.atproto.label.defs#selfLabels", "values": [{ "val": "graphic-media" }] },
        "embed": {
            "$type": "app.bsky.embed.images",
            "images": [
                { "alt": "Ein Boot 🚣 \"Zoë\"", "image": shown[0]["image"], "aspectRatio": { "width": 64, "height": 48 } },
                { "alt": "", "image": shown[1]["image"], "aspectRatio": { "width": 48, "height": 64 } },
            ],
        },
    });
    let mut record = record;
    if let Some(record) = record.as_object_mut() {
        record.retain(|name, value| name != "facets" || value != &json!([]));
    }
    same(canonical(&record), canonical(&wanted), "the record")
}

async fn publish_video(fixture: &BlueskyFixture, user: &User<'_>, connection: &Value) -> Result {
    let file = video_with_false_size();
    let due = moment::in_seconds(1);
    let content = fresh("a video");
    let body = json!({
        "content": content,
        "platforms": targets(&[connection])?,
        "media": [{ "path": user.upload("video/mp4", &file).await?, "alt_text": "It turns." }],
        "scheduled_at": due,
    });
    let (_, record) = fixture.publish(user, &body).await?;
    let blob = &record["embed"]["video"];
    let wanted = json!({
        "$type": "app.bsky.feed.post",
        "text": content,
        "createdAt": due,
        "embed": {
            "$type": "app.bsky.embed.video",
            "video": blob,
            "alt": "It turns.",
            "aspectRatio": { "width": 48, "height": 64 },
        },
    });
    same(canonical(&record), canonical(&wanted), "the record")?;
    let arrived = fixture.server.blob(text(&blob["ref"], "$link")?).await?;
    same(arrived, file, "the video")
}

/// An MP4 whose frames are stored rotated and shown upright.
fn video_with_false_size() -> Vec<u8> {
    let mut file = include_bytes!("../../../libs/domain/src/media/probe/samples/turned.mov").to_vec();
    // The brand, which distinguishes it from QuickTime.
    file[8..12].copy_from_slice(b"isom");
    file
}

async fn publish_quotes(fixture: &BlueskyFixture, user: &User<'_>, connection: &Value) -> Result {
    let post = |content: &str, at: String| -> Result<Value> {
        Ok(json!({ "content": content, "platforms": targets(&[connection])?, "scheduled_at": at }))
    };
    let (quoted, _) = fixture.publish(user, &post(&fresh("to be quoted"), moment::in_seconds(1))?).await?;
    let uri = text(&quoted["platforms"][0], "platform_post_id")?;
    let key = uri.rsplit('/').next().unwrap_or_default();
    let Some(stored_record) = fixture.server.post(key).await? else { crate::fail!("{uri} is not there") };
    let link = format!("https://bsky.app/profile/{}/post/{key}", fixture.server.account().handle);

    let (_, record) = fixture.publish(user, &post(&format!("Look: {link}"), moment::in_seconds(1))?).await?;

    let wanted = json!({ "$type": "app.bsky.embed.record", "record": { "uri": uri, "cid": stored_record["cid"] } });
    same(canonical(&record["embed"]), canonical(&wanted), "the quote")?;
    same(&record["facets"][0]["features"][0]["uri"], &json!(link), "where its link leads")
}

/// Prepared before its time, so that only the publish calls are left.
async fn publish_thread(fixture: &BlueskyFixture, user: &User<'_>, connection: &Value) -> Result<Figures> {
    let thread = Thread::schedule(user, &targets(&[connection])?[0], true, TimeDelta::seconds(8)).await?;

    let uris = thread.published(user, 60).await?;

    ensure_records_of_thread(fixture, &thread, &uris).await?;
    thread.figures(&fixture.proxy, PUT_RECORD)
}

/// Checks that the server has exactly these records, in the order of their keys and times, each
/// with its picture and with the URI and the hash of the records that it follows.
async fn ensure_records_of_thread(fixture: &BlueskyFixture, thread: &Thread, uris: &[String]) -> Result {
    let mut records = fixture.server.posts().await?;
    records.reverse();
    records.retain(|it| it["value"]["text"].as_str().is_some_and(|it| it.starts_with(&thread.prefix)));
    let shown: Vec<_> = records.iter().map(|it| (it["value"]["text"].clone(), it["uri"].clone())).collect();
    let expected: Vec<_> = thread.texts.iter().zip(uris).map(|(text, uri)| (json!(text), json!(uri))).collect();
    same(shown, expected, "records of the thread")?;

    let reference = |record: &Value| json!({ "uri": record["uri"], "cid": record["cid"] });
    let mut last_created_at = None;
    for (index, (record, picture)) in records.iter().zip(&thread.pictures).enumerate() {
        let wanted = match index.checked_sub(1) {
            None => Value::Null,
            Some(parent) => json!({ "root": reference(&records[0]), "parent": reference(&records[parent]) }),
        };
        let value = &record["value"];
        same(&value["reply"], &wanted, "what a record follows")?;
        let images = list(&value["embed"], "images")?;
        same(images.len(), 1, "pictures of a record")?;
        same(&images[0]["alt"], &value["text"], "alt text of a picture")?;
        let stored = fixture.server.blob(text(&images[0]["image"]["ref"], "$link")?).await?;
        ensure!(stored == *picture, "the picture of record {} is another one", index + 1);
        let created_at = moment::read(&value["createdAt"])?;
        ensure!(last_created_at < Some(created_at), "record {} is not newer than the one before it", index + 1);
        last_created_at = Some(created_at);
    }
    Ok(())
}

async fn revoke_and_reconnect(fixture: &BlueskyFixture, user: &User<'_>, connection: &Value) -> Result {
    fixture.server.revoke(Path::new(ROOT).join(SCREENSHOTS).join("revoke")).await?;
    let content = fresh("after the revocation");
    let id = user.schedule(&content, &[connection], 1).await?;
    user.loses_grant(connection, 60).await?;
    // The connection is marked first, and the post gets its message after that.
    moment::eventually(std::time::Duration::from_secs(30), "the message of the post", async || {
        let message = user.show(id).await?["platforms"][0]["error_message"].to_string();
        Ok(message.contains("onnect").then_some(()))
    })
    .await?;

    let reconnected = fixture.connect(user, "reconnect").await?;
    same(&reconnected["id"], &connection["id"], "id of the connection")?;
    user.reaches(id, "published", 120).await?;
    let matching_posts = fixture.server.posts().await?.into_iter().filter(|it| it["value"]["text"] == content).count();
    same(matching_posts, 1, "records with this text")
}

async fn app_password(fixture: &BlueskyFixture, user: &User<'_>, connection: &Value) -> Result {
    let flow = user.begin_at("bluesky").await?;
    let account = fixture.server.account();
    let field_values =
        [("handle".to_owned(), account.handle.clone()), ("app_password".to_owned(), account.app_password.clone())];
    super::connecting::types(user, &flow, &field_values.into()).await?;
    let reconnected = super::connecting::connected(user, &flow).await?;
    same(&reconnected["id"], &connection["id"], "id of the connection")?;
    let body = json!({
        "content": fresh("by an app password"),
        "platforms": targets(&[&reconnected])?,
        "scheduled_at": moment::in_seconds(1),
    });
    fixture.publish(user, &body).await?;
    Ok(())
}

/// Chromium reaches the service at its public origin, and signs in there.
async fn connect_as_confidential_client() -> Result {
    let fixture = BlueskyFixture::start(Some(PUBLIC_ORIGIN)).await?;
    let user = fixture.user().await?;
    let flow = user.begin_at("bluesky").await?;
    fixture.goes_through(&flow, Decision::Authorize, "client-with-a-key").await?;
    let flow: Value = serde_json::from_str(&flow.to_string().replace(PUBLIC_ORIGIN, fixture.deployment.origin()))?;
    let connection = super::connecting::connected(&user, &flow).await?;
    let body = json!({
        "content": fresh("by a client with a key"),
        "platforms": targets(&[&connection])?,
        "scheduled_at": moment::in_seconds(1),
    });
    fixture.publish(&user, &body).await?;
    // The grant is refreshed with the key with which it began, and that key also revokes it when
    // the account is disconnected.
    user.disconnect(&connection).await
}

/// Canonical JSON of a record: keys in order, no white space.
fn canonical(record: &Value) -> String {
    record.to_string()
}

/// An image whose EXIF orientation (6) says that it is rotated.
fn rotated_picture() -> Vec<u8> {
    let mut file = sample(domain::media::MimeType::Jpeg, 2).bytes;
    let exif: &[u8] = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let length = u16::try_from(exif.len() + 2).unwrap_or(0).to_be_bytes();
    let segment = [&[0xff, 0xe1], &length[..], exif].concat();
    // Right after the marker that every JPEG starts with.
    file.splice(2..2, segment);
    file
}
