//! A real Bluesky server: its own pages in Chromium, its own validation, and its own records, read
//! and compared.

use std::sync::Arc;

use domain::media::MimeType;
use fakes::conformance::{fake_platform::Decision, samples::sample};
use serde_json::{Value, json};

use super::{connecting::connected, on_server::OnServer, scenes::Scenes, several::AllPlatforms};
use crate::{
    deployment::{User, fresh},
    ensure,
    error::{Result, same},
    harness::free_port,
    http_response::text,
    real_servers::bluesky::{ConfidentialClient, RealBluesky, Redirected, SignIn},
    report::Report,
};

/// The service's public origin. Servers accept its name for a confidential client.
const PUBLIC_ORIGIN: &str = "https://app.sps-loopback.dev";

/// The address with which the demo user of the local stack signs in.
const DEMO: &str = "demo@example.com";

/// The local stack and a server.
struct BlueskyFixture {
    server: Arc<RealBluesky>,
    stack: AllPlatforms,
}

impl BlueskyFixture {
    /// With a public origin the service is a confidential client, and the server reads its document.
    async fn start(public_origin: Option<&str>) -> Result<Self> {
        let port = free_port()?.to_string();
        let client = public_origin
            .map(|origin| ConfidentialClient { origin: origin.to_owned(), target: format!("http://127.0.0.1:{port}") });
        let server = Arc::new(RealBluesky::start_alone(client).await?);
        let arguments: Vec<_> =
            public_origin.iter().flat_map(|origin| ["--origin", origin, "--origin-port", &port]).collect();
        let stack = AllPlatforms::beside(vec![Arc::<RealBluesky>::clone(&server)], &arguments).await?;
        Ok(Self { server, stack })
    }

    /// The demo user, who signs in as [`DEMO`].
    async fn user(&self) -> Result<User<'_>> {
        let deployment = self.stack.deployment();
        let api = deployment.stranger()?.with_token(Some(deployment.token()));
        let mut user = User::from_token(deployment, api, deployment.browser()?).await?;
        DEMO.clone_into(&mut user.email);
        Ok(user)
    }

    /// The user signs in to the service, starts on our page and completes the server's pages, all in
    /// Chromium.
    async fn goes_through(&self, flow: &Value, decision: Decision, pictures: &str) -> Result<Redirected> {
        let sign_in = SignIn {
            email: DEMO.to_owned(),
            fill: vec![("handle".to_owned(), self.server.handle().to_owned())],
            decision,
            ..SignIn::at(text(flow, "authorization_url")?, pictures)
        };
        self.server.sign_in(sign_in).await
    }

    fn on<'a>(&'a self, user: &'a User<'a>) -> OnServer<'a> {
        OnServer { user, server: &*self.server }
    }

    /// Publishes a post; returns its record on the server, with `uri`, `cid` and `value`.
    async fn publish(&self, user: &User<'_>, body: &Value) -> Result<Value> {
        let target = self.on(user).publish(body).await?;
        self.server.record(text(&target, "platform_post_id")?)
    }
}

pub async fn run(report: &mut Report) -> Result {
    let fixture = BlueskyFixture::start(None).await?;
    let mut user = fixture.user().await?;
    let deployment = fixture.stack.deployment();
    deployment.sign_in(&mut user.browser, &format!("{}/account", deployment.origin()), DEMO).await?;
    let mut scenes = Scenes { part: "bluesky", report };
    scenes.play("denied access connects nothing", deny_access(&fixture, &user)).await;
    let connection =
        scenes.play("an account is connected through the server's own pages", connect_account(&fixture, &user)).await;
    if let Some(it) = connection {
        scenes
            .play("text with links, tags and mentions, byte for byte", publish_text_with_facets(&fixture, &user, &it))
            .await;
        scenes.play("pictures with their options", pictures(&fixture, &user, &it)).await;
        scenes.play("a video that is stored rotated", publish_video(&fixture, &user, &it)).await;
        scenes.play("a link to a post becomes a quote", publish_quotes(&fixture, &user, &it)).await;
        scenes.play("a grant is revoked and given again", fixture.on(&user).revoke_and_reconnect(&it)).await;
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
    let flow = user.begin_at("bluesky").await?;
    let ended = fixture.goes_through(&flow, Decision::Allow, "connect").await?;
    let page = ended.page.map(|it| it.text).unwrap_or_default();
    ensure!(page.contains("Bluesky is connected"), "the person ended on {}: {page}", ended.ended_at);
    let connection = connected(user, &flow).await?;
    same(&connection["provider"], &json!("bluesky"), "provider")?;
    same(&connection["username"], &json!(fixture.server.handle()), "username")?;
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
        "features": [{ "$type": "app.bsky.richtext.facet#mention", "did": fixture.server.did() }],
    });
    let body = fixture.on(user).post(connection, written)?;

    let record = fixture.publish(user, &body).await?;

    let cashtag = json!({ "$type": "app.bsky.richtext.facet#tag", "tag": "$ABC" });
    let wanted = json!({
        "$type": "app.bsky.feed.post",
        "text": shown_text,
        "createdAt": body["scheduled_at"],
        "facets": [
            link("example.com/%D0%BF%D1%83...", "https://example.com/%D0%BF%D1%83%D1%82%D1%8C?q=1"),
            tag("#мир"),
            mention,
            link("example.org/a", "https://example.org/a"),
            tag("#タグ"),
            json!({ "index": at("$abc"), "features": [cashtag] }),
        ],
    });
    same(&record["value"], &wanted, "the record")
}

/// The second image is stored rotated, and must be shown upright.
async fn pictures(fixture: &BlueskyFixture, user: &User<'_>, connection: &Value) -> Result {
    let content = fresh("two pictures");
    let mut body = fixture.on(user).post(connection, &content)?;
    let first = json!({ "path": user.picture().await?, "alt_text": "Ein Boot 🚣 \"Zoë\"" });
    body["media"] = json!([first, user.upload("image/jpeg", &rotated_picture()).await?]);
    body["platforms"][0]["options"] = json!({ "language": "de", "content_warning": "graphic-media" });

    let mut record = fixture.publish(user, &body).await?["value"].take();

    let blobs: Vec<_> = ["/embed/images/0/image", "/embed/images/1/image"]
        .map(|it| record.pointer(it).cloned().unwrap_or_default())
        .into();
    for blob in &blobs {
        let bytes = fixture.server.blob(blob).await?;
        ensure!(!bytes.windows(4).any(|it| it == b"Exif"), "metadata went along");
    }
    let wanted = json!({
        "$type": "app.bsky.feed.post",
        "text": content,
        "createdAt": body["scheduled_at"],
        "langs": ["de"],
        "labels": { "$type": "com.atproto.label.defs#selfLabels", "values": [{ "val": "graphic-media" }] },
        "embed": {
            "$type": "app.bsky.embed.images",
            "images": [
                { "alt": "Ein Boot 🚣 \"Zoë\"", "image": blobs[0], "aspectRatio": { "width": 64, "height": 48 } },
                { "alt": "", "image": blobs[1], "aspectRatio": { "width": 48, "height": 64 } },
            ],
        },
    });
    if let Some(record) = record.as_object_mut() {
        record.retain(|name, value| name != "facets" || value != &json!([]));
    }
    same(&record, &wanted, "the record")
}

async fn publish_video(fixture: &BlueskyFixture, user: &User<'_>, connection: &Value) -> Result {
    let mut file = include_bytes!("../../../libs/domain/src/media/probe/samples/turned.mov").to_vec();
    // The brand, which distinguishes an MP4 from QuickTime.
    file[8..12].copy_from_slice(b"isom");
    let mut body = fixture.on(user).post(connection, &fresh("a video"))?;
    body["media"] = json!([user.upload("video/mp4", &file).await?]);

    let record = fixture.publish(user, &body).await?;

    same(&record["value"]["embed"]["aspectRatio"], &json!({ "width": 48, "height": 64 }), "the shown size")
}

async fn publish_quotes(fixture: &BlueskyFixture, user: &User<'_>, connection: &Value) -> Result {
    let on = fixture.on(user);
    let quoted = fixture.publish(user, &on.post(connection, &fresh("to be quoted"))?).await?;
    let key = text(&quoted, "uri")?.rsplit('/').next().unwrap_or_default();
    let link = format!("https://bsky.app/profile/{}/post/{key}", fixture.server.handle());

    let record = fixture.publish(user, &on.post(connection, &format!("Look: {link}"))?).await?;

    let quote = json!({ "uri": quoted["uri"], "cid": quoted["cid"] });
    let wanted = json!({ "$type": "app.bsky.embed.record", "record": quote });
    same(&record["value"]["embed"], &wanted, "the quote")?;
    same(&record["value"]["facets"][0]["features"][0]["uri"], &json!(link), "where its link leads")
}

/// Chromium reaches the service at its public origin, and signs in there.
async fn connect_as_confidential_client() -> Result {
    let fixture = BlueskyFixture::start(Some(PUBLIC_ORIGIN)).await?;
    let user = fixture.user().await?;
    let flow = user.begin_at("bluesky").await?;
    fixture.goes_through(&flow, Decision::Allow, "client-with-a-key").await?;
    let local_origin = fixture.stack.deployment().origin();
    let flow: Value = serde_json::from_str(&flow.to_string().replace(PUBLIC_ORIGIN, local_origin))?;
    let connection = connected(&user, &flow).await?;
    let body = fixture.on(&user).post(&connection, &fresh("by a client with a key"))?;
    fixture.publish(&user, &body).await?;
    // The grant is refreshed with the key with which it began, and that key also revokes it when
    // the account is disconnected.
    user.disconnect(&connection).await
}

/// An image whose EXIF orientation (6) says that it is rotated.
fn rotated_picture() -> Vec<u8> {
    let mut file = sample(MimeType::Jpeg, 2).bytes;
    let exif: &[u8] = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let length = u16::try_from(exif.len() + 2).unwrap_or(0).to_be_bytes();
    let segment = [&[0xff, 0xe1], &length[..], exif].concat();
    // Right after the marker that every JPEG starts with.
    file.splice(2..2, segment);
    file
}
