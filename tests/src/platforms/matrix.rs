//! A real Matrix homeserver: its own validation, its own limits, its own events and files, read and
//! compared. Its access tokens expire after 20 seconds, so that nearly every delivery refreshes
//! them.

use std::sync::Arc;

use fakes::conformance::fake_platform::{Call, FakePlatform};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::{on_server::OnServer, scenes::Scenes, several::AllPlatforms};
use crate::{
    deployment::fresh,
    ensure,
    error::{Result, same},
    http_response::{integer, list},
    real_servers::matrix::{PASSWORD, RealMatrix, USER},
    report::Report,
};

pub async fn run(report: &mut Report) -> Result {
    let matrix = Arc::new(RealMatrix::start_alone().await?);
    let encryption = json!({ "type": "m.room.encryption", "content": { "algorithm": "m.megolm.v1.aes-sha2" } });
    let encrypted = matrix.server().room("Cellar", json!([encryption])).await?;
    let stack = AllPlatforms::beside(vec![Arc::<RealMatrix>::clone(&matrix)], &[]).await?;
    let user = stack.deployment().new_user().await?;
    let on = OnServer { user: &user, server: &*matrix };
    let mut scenes = Scenes { part: "matrix", report };
    scenes.play("a refresh and a message are repeated after a lost response", repeat_calls(&matrix)).await;
    let connection = scenes.play("an account is connected by its password", connect_account(&on, &matrix)).await;
    let Some(it) = connection else { return Ok(()) };
    scenes.play("more messages than the rate limit, each once", exceed_rate_limit(&on, &matrix, &it)).await;
    scenes.play("an error says what to do", show_refusal(&on, &matrix, &encrypted, &it)).await;
    scenes.play("a grant is revoked and given again", on.revoke_and_reconnect(&it)).await;
    scenes.play("disconnecting logs the device out", on.disconnect(&it)).await;
    Ok(())
}

/// A worker may die before it stores the tokens of a refresh, or the id of a message. The homeserver
/// accepts the old refresh token until a new token is used, and knows a transaction also under a
/// renewed token.
async fn repeat_calls(matrix: &RealMatrix) -> Result {
    let client = Client::builder().no_proxy().build()?;
    let call = async |method: Method, path: &str, token: &Value, body: Value| -> Result<(StatusCode, Value)> {
        let url = matrix.server().url(&format!("/_matrix/client/v3/{path}"));
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
    let message = format!("rooms/{}/send/m.room.message/repeated", matrix.room());
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

async fn connect_account(on: &OnServer<'_>, matrix: &RealMatrix) -> Result<Value> {
    let connection = on.connect().await?;
    same(&connection["provider"], &json!("matrix"), "provider")?;
    same(&connection["username"], &json!("keeper:localhost"), "username")?;
    same(&connection["display_name"], &json!("The keeper"), "display_name")?;
    same(&connection["needs_reconnection"], &json!(false), "needs_reconnection")?;
    same(matrix.server().devices().await?, vec!["Social Publishing".to_owned()], "devices")?;
    let path = format!("/connections/{}", integer(&connection, "id")?);
    let shown = on.user.api.get(&path).await?.ok(200)?;
    for (name, value) in [("max_image_bytes", json!(52_428_800)), ("max_text_bytes", json!(50_000))] {
        let meta = list(&shown, "meta")?.iter().find(|it| it["name"] == name).map(|it| it["value"].clone());
        same(&meta.unwrap_or_default(), &value, name)?;
    }
    let rooms = on.user.api.get(&format!("{path}/choices/room")).await?.ok(200)?;
    same(&rooms["data"], &json!([{ "value": matrix.room(), "label": "Harbour" }]), "rooms")?;
    Ok(connection)
}

/// With its default settings, Synapse accepts ten messages of a user at once.
async fn exceed_rate_limit(on: &OnServer<'_>, matrix: &RealMatrix, connection: &Value) -> Result {
    let mut media = vec![json!({ "path": on.user.picture().await?, "alt_text": "A boat" })];
    for _ in 1..10 {
        media.push(json!(on.user.picture().await?));
    }
    let content = fresh("eleven messages");
    let mut body = on.post(connection, &content)?;
    body["media"] = media.into();
    let before = matrix.server().messages(matrix.room()).await?.len();

    let target = on.publish(&body).await?;

    let messages = matrix.server().messages(matrix.room()).await?.split_off(before);
    same(messages.len(), 11, "messages")?;
    ensure!(11 < matrix.call_count(Call::Publish), "nothing was limited");
    same(&messages[0]["content"]["body"], &json!(content), "the first")?;
    same(&target["platform_post_id"], &messages[0]["event_id"], "id of the first message")
}

async fn show_refusal(on: &OnServer<'_>, matrix: &RealMatrix, encrypted: &str, connection: &Value) -> Result {
    for (room, advice) in [(encrypted, "cannot encrypt"), ("!nowhere:localhost", "not in room")] {
        let mut body = on.post(connection, &fresh("refused"))?;
        body["platforms"][0]["options"] = json!({ "room": room });
        let message = on.refusal(&body).await?;
        ensure!(message.contains(advice), "the post says {message}");
    }
    same(matrix.server().messages(encrypted).await?.len(), 0, "messages in the encrypted room")
}
