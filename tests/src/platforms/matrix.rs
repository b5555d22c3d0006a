//! A real Matrix homeserver: its own validation, its own limits, its own events and files, read and
//! compared. Its access tokens expire after 20 seconds, so that nearly every delivery refreshes
//! them.

use std::time::Duration;

use chrono::TimeDelta;
use domain::media::MimeType;
use fakes::conformance::samples::sample;
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::{
    connecting::{connected, types},
    scenes::{Figures, Scenes},
    threads::Thread,
};
use crate::matrix_server::{PASSWORD, Synapse, SynapseSettings, USER};
use crate::{
    deployment::{Deployment, User, fresh, missing},
    ensure,
    error::{Result, same},
    harness::{Harness, LIFTED},
    http_response::{integer, list, text},
    lossy_proxy::{LossyProxy, ProxyPort},
    moment,
    report::Report,
};

/// Enough seconds for a post that waits for the rate limit.
const PUBLISHED_SECONDS: u64 = 180;

/// Path of the publish call.
const SEND: &str = "/send/m.room.message/";

/// The local stack and a homeserver that is reached through a proxy.
struct MatrixFixture {
    server: Synapse,
    proxy: LossyProxy,
    deployment: Deployment,
    /// A room that the user has created.
    room: String,
    encrypted: String,
    _local: Harness,
}

impl MatrixFixture {
    async fn start() -> Result<Self> {
        let server = Synapse::start(SynapseSettings::default()).await?;
        let proxy = ProxyPort::take().await?.forward_to(server.listens());
        let room = server.room("Harbour", json!([])).await?;
        let encryption = json!({ "type": "m.room.encryption", "content": { "algorithm": "m.megolm.v1.aes-sha2" } });
        let encrypted = server.room("Cellar", json!([encryption])).await?;
        let address = proxy.address().to_string();
        let platforms = json!({ "matrix": {} }).to_string();
        let mut arguments = vec!["--platforms", &platforms, "--allow-fetch-from", &address];
        arguments.extend(LIFTED);
        let local = Harness::start(&arguments).await?;
        let deployment = Deployment::new(local.ready().clone()).await?;
        Ok(Self { server, proxy, deployment, room, encrypted, _local: local })
    }

    /// Our form, in which the user enters this password.
    async fn types(&self, user: &User<'_>, password: &str) -> Result<Value> {
        let flow = user.begin_at("matrix").await?;
        let homeserver = format!("http://{}", self.proxy.address());
        let answers = [("user", USER), ("password", password), ("homeserver", &homeserver)]
            .map(|(name, it)| (name.to_owned(), it.to_owned()));
        types(user, &flow, &answers.into()).await?;
        Ok(flow)
    }

    async fn connect(&self, user: &User<'_>) -> Result<Value> {
        let flow = self.types(user, PASSWORD).await?;
        connected(user, &flow).await
    }

    fn target(connection: &Value, room: &str) -> Result<Value> {
        Ok(json!({ "connected_account_id": integer(connection, "id")?, "options": { "room": room } }))
    }

    /// A post for a room, due in a second.
    fn post(connection: &Value, room: &str, content: &str, media: &[Value]) -> Result<Value> {
        let target = Self::target(connection, room)?;
        let scheduled_at = moment::in_seconds(1);
        Ok(json!({ "content": content, "platforms": [target], "media": media, "scheduled_at": scheduled_at }))
    }

    /// Publishes a post in the room; returns its target, and its messages on the server.
    async fn publish(
        &self,
        user: &User<'_>,
        connection: &Value,
        content: &str,
        media: &[Value],
    ) -> Result<(Value, Vec<Value>)> {
        let body = Self::post(connection, &self.room, content, media)?;
        let before = self.server.messages(&self.room).await?.len();
        let id = integer(&user.create(&body).await?, "id")?;
        let post = user.reaches(id, "published", PUBLISHED_SECONDS).await?;
        let messages = self.server.messages(&self.room).await?.split_off(before);
        let first = messages.first().ok_or_else(|| missing("a message"))?;
        let entry = post["platforms"][0].clone();
        same(&entry["platform_post_id"], &first["event_id"], "id of the first message")?;
        Ok((entry, messages))
    }
}

/// Runs every scene.
pub async fn run(report: &mut Report) -> Result {
    let fixture = MatrixFixture::start().await?;
    let user = fixture.deployment.new_user().await?;
    let mut scenes = Scenes { part: "matrix", report };
    scenes.play("a refresh and a message are repeated after a lost response", repeat_calls(&fixture)).await;
    scenes.play("a wrong password is an error of its field", refuse_wrong_password(&fixture, &user)).await;
    let connection = scenes.play("an account is connected by its password", connect_account(&fixture, &user)).await;
    let Some(it) = connection else { return Ok(()) };
    scenes.play("the rooms of the account are listed", list_rooms(&fixture, &user, &it)).await;
    // First, because the homeserver then accepts ten messages at once.
    scenes.measure("a thread of five", publish_thread(&fixture, &user, &it)).await;
    scenes.play("text with a link, byte for byte", publish_text(&fixture, &user, &it)).await;
    scenes.play("an image and a video with alt texts, byte for byte", publish_files(&fixture, &user, &it)).await;
    scenes.play("more messages than the rate limit, each once", exceed_rate_limit(&fixture, &user, &it)).await;
    scenes.play("an error says what to do", show_refusal(&fixture, &user, &it)).await;
    scenes.play("a grant is revoked and given again", revoke_and_reconnect(&fixture, &user, &it)).await;
    scenes.play("disconnecting logs the device out", disconnect_account(&fixture, &user, &it)).await;
    Ok(())
}

/// A worker may die before it stores the tokens of a refresh, or the id of a message. The homeserver
/// accepts the old refresh token until a new token is used, and knows a transaction also under a
/// renewed token.
async fn repeat_calls(fixture: &MatrixFixture) -> Result {
    let client = Client::builder().no_proxy().build()?;
    let call = async |method: Method, path: &str, token: &Value, body: Value| -> Result<(StatusCode, Value)> {
        let url = fixture.server.url(&format!("/_matrix/client/v3/{path}"));
        let request = token.as_str().into_iter().fold(client.request(method, url), RequestBuilder::bearer_auth);
        let response = request.json(&body).send().await?;
        Ok((response.status(), response.json().await?))
    };
    let login = json!({
        "type": "m.login.password", "identifier": { "type": "m.id.user", "user": USER }, "password": PASSWORD,
        "refresh_token": true,
    });
    let (_, device) = call(Method::POST, "login", &Value::Null, login).await?;
    let refresh = json!({ "refresh_token": device["refresh_token"] });
    let message = format!("rooms/{}/send/m.room.message/repeated", fixture.room);
    let content = json!({ "msgtype": "m.text", "body": "sent before", "m.mentions": {} });

    let (_, first) = call(Method::PUT, &message, &device["access_token"], content.clone()).await?;
    call(Method::POST, "refresh", &Value::Null, refresh.clone()).await?;
    let (status, renewed) = call(Method::POST, "refresh", &Value::Null, refresh.clone()).await?;
    same(status, StatusCode::OK, "status of a repeated refresh")?;
    let (_, again) = call(Method::PUT, &message, &renewed["access_token"], content).await?;
    same(&again["event_id"], &first["event_id"], "event of a repeated transaction")?;
    let (status, _) = call(Method::POST, "refresh", &Value::Null, refresh).await?;
    ensure!(status.is_client_error(), "the old refresh token is accepted after the new token was used: {status}");
    call(Method::POST, "logout", &renewed["access_token"], json!({})).await?;
    Ok(())
}

async fn refuse_wrong_password(fixture: &MatrixFixture, user: &User<'_>) -> Result {
    let flow = fixture.types(user, "a wrong one").await?;
    let status = user.api.get(text(&flow, "poll_url")?).await?.ok(200)?;
    same(&status["status"], &json!("pending"), "status of the connect flow")?;
    same(fixture.server.devices().await?, Vec::<String>::new(), "devices")
}

async fn connect_account(fixture: &MatrixFixture, user: &User<'_>) -> Result<Value> {
    let connection = fixture.connect(user).await?;
    same(&connection["provider"], &json!("matrix"), "provider")?;
    same(&connection["username"], &json!("keeper:localhost"), "username")?;
    same(&connection["display_name"], &json!("The keeper"), "display_name")?;
    same(&connection["needs_reconnection"], &json!(false), "needs_reconnection")?;
    same(fixture.server.devices().await?, vec!["Social Publishing".to_owned()], "devices")?;
    let shown = user.api.get(&format!("/connections/{}", integer(&connection, "id")?)).await?.ok(200)?;
    for (name, value) in [("max_image_bytes", json!(52_428_800)), ("max_text_bytes", json!(50_000))] {
        let meta = list(&shown, "meta")?.iter().find(|it| it["name"] == name).map(|it| it["value"].clone());
        same(&meta.unwrap_or_default(), &value, name)?;
    }
    Ok(connection)
}

async fn list_rooms(fixture: &MatrixFixture, user: &User<'_>, connection: &Value) -> Result {
    let path = format!("/connections/{}/choices/room", integer(connection, "id")?);
    let listed = user.api.get(&path).await?.ok(200)?;
    same(&listed["data"], &json!([{ "value": fixture.room, "label": "Harbour" }]), "rooms")
}

async fn publish_text(fixture: &MatrixFixture, user: &User<'_>, connection: &Value) -> Result {
    let original = "Приве́т 👩‍👩‍👧‍👦, <b> & \"друзья\"!\n\nhttps://example.com/путь?q=1&w=2 и 日本";

    let (entry, messages) = fixture.publish(user, connection, original, &[]).await?;

    same(messages.len(), 1, "messages")?;
    let content = &messages[0]["content"];
    same(&content["body"], &json!(original), "the text")?;
    let html = text(content, "formatted_body")?;
    let link =
        "<a href=\"https://example.com/%D0%BF%D1%83%D1%82%D1%8C?q=1&amp;w=2\">https://example.com/путь?q=1&amp;w=2</a>";
    ensure!(html.contains(link) && html.starts_with("Приве́т"), "the link is not one in {html}");
    same(&content["m.mentions"], &json!({}), "who is called")?;
    let post_url = text(&entry, "platform_post_url")?;
    ensure!(post_url.starts_with(&format!("https://matrix.to/#/{}/$", fixture.room)), "it is seen at {post_url}");
    Ok(())
}

async fn publish_files(fixture: &MatrixFixture, user: &User<'_>, connection: &Value) -> Result {
    let (picture, video) = (sample(MimeType::Png, 1).bytes, sample(MimeType::Mp4, 1).bytes);
    let content = fresh("with files");
    let first = json!({ "path": user.upload("image/png", &picture).await?, "alt_text": "Ein Boot 🚣 \"Zoë\"" });
    let second = json!({ "path": user.upload("video/mp4", &video).await? });

    let (_, messages) = fixture.publish(user, connection, &content, &[first, second]).await?;

    let shown_messages: Vec<_> =
        messages.iter().map(|it| (it["content"]["msgtype"].clone(), it["content"]["body"].clone())).collect();
    let wanted = [("m.text", content.as_str()), ("m.image", "Ein Boot 🚣 \"Zoë\""), ("m.video", "2.mp4")];
    same(shown_messages, wanted.map(|(kind, body)| (json!(kind), json!(body))).to_vec(), "messages")?;
    let info = json!({ "mimetype": "image/png", "size": picture.len(), "w": 64, "h": 48 });
    same(&messages[1]["content"]["info"], &info, "metadata of the image")?;
    for (message, bytes) in [(&messages[1], picture), (&messages[2], video)] {
        same(fixture.server.file(message).await?, bytes, "a file")?;
    }
    let alone = json!(user.picture().await?);
    let (_, messages) = fixture.publish(user, connection, "a caption", &[alone]).await?;
    same(messages.len(), 1, "messages of one picture")?;
    same(&messages[0]["content"]["body"], &json!("a caption"), "its caption")
}

async fn publish_thread(fixture: &MatrixFixture, user: &User<'_>, connection: &Value) -> Result<Figures> {
    let target = MatrixFixture::target(connection, &fixture.room)?;
    let thread = Thread::schedule(user, &target, false, TimeDelta::seconds(4)).await?;

    let ids = thread.published(user, 60).await?;

    ensure_messages_of_thread(fixture, &thread, &ids).await?;
    thread.figures(&fixture.proxy, SEND)
}

/// Checks that the room has exactly these messages, each in the thread of the first one and as a
/// reply to the one before it, and that the homeserver lists them as this thread.
async fn ensure_messages_of_thread(fixture: &MatrixFixture, thread: &Thread, ids: &[String]) -> Result {
    let mut messages = fixture.server.messages(&fixture.room).await?;
    messages.retain(|it| it["content"]["body"].as_str().is_some_and(|it| it.starts_with(&thread.prefix)));
    let shown: Vec<_> = messages.iter().map(|it| (it["content"]["body"].clone(), it["event_id"].clone())).collect();
    let expected: Vec<_> = thread.texts.iter().zip(ids).map(|(text, id)| (json!(text), json!(id))).collect();
    same(shown, expected, "messages of the thread")?;
    for (message, parent) in messages.iter().skip(1).zip(ids) {
        let relation = json!({
            "rel_type": "m.thread", "event_id": ids[0],
            "is_falling_back": true, "m.in_reply_to": { "event_id": parent },
        });
        same(&message["content"]["m.relates_to"], &relation, "what a message follows")?;
    }
    same(&messages[0]["content"]["m.relates_to"], &Value::Null, "what the first message follows")?;
    let listed = fixture.server.thread(&fixture.room, &ids[0]).await?;
    let listed: Vec<_> = listed.iter().map(|it| it["event_id"].clone()).collect();
    same(listed, ids[1..].iter().map(|it| json!(it)).collect(), "messages that the homeserver lists as the thread")
}

/// With its default settings, Synapse accepts ten messages of a user at once.
async fn exceed_rate_limit(fixture: &MatrixFixture, user: &User<'_>, connection: &Value) -> Result {
    let mut media = vec![json!({ "path": user.picture().await?, "alt_text": "A boat" })];
    for _ in 1..10 {
        media.push(json!(user.picture().await?));
    }
    let content = fresh("eleven messages");

    let (_, messages) = fixture.publish(user, connection, &content, &media).await?;

    same(messages.len(), 11, "messages")?;
    ensure!(11 < fixture.proxy.request_count(SEND), "nothing was limited");
    same(&messages[0]["content"]["body"], &json!(content), "the first")
}

async fn show_refusal(fixture: &MatrixFixture, user: &User<'_>, connection: &Value) -> Result {
    for (room, advice) in [(fixture.encrypted.as_str(), "cannot encrypt"), ("!nowhere:localhost", "not in room")] {
        let body = MatrixFixture::post(connection, room, &fresh("refused"), &[])?;
        let id = integer(&user.create(&body).await?, "id")?;
        let failed = user.reaches(id, "failed", 60).await?;
        let message = text(&failed["platforms"][0], "error_message")?;
        ensure!(message.contains(advice), "the post says {message}");
    }
    same(fixture.server.messages(&fixture.encrypted).await?.len(), 0, "messages in the encrypted room")
}

async fn revoke_and_reconnect(fixture: &MatrixFixture, user: &User<'_>, connection: &Value) -> Result {
    fixture.server.log_all_out().await?;
    let content = fresh("after it was revoked");
    let before = fixture.server.messages(&fixture.room).await?.len();
    let id = integer(&user.create(&MatrixFixture::post(connection, &fixture.room, &content, &[])?).await?, "id")?;
    user.loses_grant(connection, 60).await?;
    let reconnected = fixture.connect(user).await?;
    same(&reconnected["id"], &connection["id"], "id of the connection")?;
    user.reaches(id, "published", 120).await?;

    let messages = fixture.server.messages(&fixture.room).await?.split_off(before);
    same(messages.len(), 1, "messages")
}

async fn disconnect_account(fixture: &MatrixFixture, user: &User<'_>, connection: &Value) -> Result {
    same(fixture.server.devices().await?.len(), 1, "devices before")?;
    user.disconnect(connection).await?;
    moment::eventually(Duration::from_secs(30), "the end of the device", async || {
        Ok(fixture.server.devices().await?.is_empty().then_some(()))
    })
    .await
}
