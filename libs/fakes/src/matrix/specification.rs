//! Requests to a homeserver with the responses that the specification requires. The fake and a real
//! homeserver get the same requests.

use http::Method;
use serde_json::{Value, json};

use crate::fake::wire::browser;

/// A homeserver and its user.
pub struct MatrixServer<'a> {
    /// Without a trailing slash.
    pub base_url: &'a str,
    pub user: &'a str,
    pub password: &'a str,
    /// A room that the user has joined, without encryption.
    pub room: &'a str,
}

struct MatrixResponse {
    status: u16,
    body: Value,
}

impl MatrixServer<'_> {
    /// All responses that differ from the specification.
    #[expect(clippy::too_many_lines, reason = "a list of requests and what they answer")]
    pub async fn differences(&self) -> Vec<String> {
        let mut differences = Vec::new();
        let mut expect_equal = |what: &str, actual: Value, expected: Value| {
            if actual != expected {
                differences.push(format!("{what}: {actual}, not {expected}"));
            }
        };
        let device = self.log_in().await;
        let token = device["access_token"].as_str().unwrap_or_default();
        let rooms = "/_matrix/client/v3/rooms";
        let (room, large) =
            (format!("{rooms}/{}", self.room), json!({ "msgtype": "m.text", "body": "x".repeat(65_000) }));
        let login = |kind: &str, password: &str| json!({ "type": kind, "identifier": { "type": "m.id.user", "user": self.user }, "password": password });
        let none = Value::Null;
        for (method, path, token, body, status, code) in [
            (Method::GET, "/_matrix/client/v3/account/whoami", "", none.clone(), 401, "M_MISSING_TOKEN"),
            (Method::GET, "/_matrix/client/v3/account/whoami", "nobody's", none.clone(), 401, "M_UNKNOWN_TOKEN"),
            (Method::POST, "/_matrix/client/v3/login", "", login("m.login.password", "wrong"), 403, "M_FORBIDDEN"),
            (Method::POST, "/_matrix/client/v3/login", "", login("m.login.magic", self.password), 400, "M_UNKNOWN"),
            (Method::POST, "/_matrix/client/v3/refresh", "", json!({ "refresh_token": "no" }), 401, "M_UNKNOWN_TOKEN"),
            (Method::GET, "/_matrix/client/v3/nothing", token, none.clone(), 404, "M_UNRECOGNIZED"),
            (Method::GET, &format!("{room}/state/m.room.encryption"), token, none.clone(), 404, "M_NOT_FOUND"),
            (
                Method::GET,
                &format!("{rooms}/!nowhere:nowhere.invalid/messages?dir=b"),
                token,
                none.clone(),
                403,
                "M_FORBIDDEN",
            ),
            (
                Method::PUT,
                &format!("{rooms}/!nowhere:nowhere.invalid/send/m.room.message/q1"),
                token,
                text_message("hi"),
                403,
                "M_FORBIDDEN",
            ),
            (Method::PUT, &format!("{room}/send/m.room.message/q2"), token, json!("no object"), 400, "M_BAD_JSON"),
            (Method::PUT, &format!("{room}/send/m.room.message/q3"), token, large, 413, "M_TOO_LARGE"),
        ] {
            let MatrixResponse { status: found, body } = self.request(method.clone(), path, token, &body).await;
            expect_equal(&format!("{method} {path}"), json!([found, body["errcode"]]), json!([status, code]));
        }

        let send = async |transaction: &str, token: &str, words: &str| {
            let path = format!("{room}/send/m.room.message/{transaction}");
            self.request(Method::PUT, &path, token, &text_message(words)).await.body["event_id"].clone()
        };
        let first = send("once", token, "said once").await;
        expect_equal("the same transaction, other words", send("once", token, "said twice").await, first.clone());

        let reply = async |transaction: &str, root: &Value| {
            let mut message = text_message("a reply");
            message["m.relates_to"] = json!({
                "rel_type": "m.thread", "event_id": root,
                "is_falling_back": true, "m.in_reply_to": { "event_id": root },
            });
            let path = format!("{room}/send/m.room.message/{transaction}");
            let MatrixResponse { status, body } = self.request(Method::PUT, &path, token, &message).await;
            (status, body)
        };
        let (status, replied) = reply("thread1", &first).await;
        expect_equal("a thread below a message", json!(status), json!(200));
        for (what, transaction, root) in [
            ("a thread below a reply", "thread2", &replied["event_id"]),
            ("a thread below an unknown event", "thread3", &json!("$nothing:nowhere.invalid")),
        ] {
            let (status, body) = reply(transaction, root).await;
            expect_equal(what, json!([status, body["errcode"]]), json!([400, "M_UNKNOWN"]));
        }

        let other = self.log_in().await;
        let others = other["access_token"].as_str().unwrap_or_default();
        let id = async |token: &str| {
            let page =
                self.request(Method::GET, &format!("{room}/messages?dir=b&limit=100"), token, &Value::Null).await.body;
            let of_first = page["chunk"].as_array().into_iter().flatten().find(|it| it["event_id"] == first);
            of_first.map(|it| it["unsigned"]["transaction_id"].clone())
        };
        expect_equal("the transaction, as its device reads it", json!(id(token).await), json!("once"));
        expect_equal("the transaction, as another device reads it", json!(id(others).await), json!(Some(Value::Null)));

        let renew = async |token: &Value| {
            self.request(Method::POST, "/_matrix/client/v3/refresh", "", &json!({ "refresh_token": token })).await
        };
        let renewed = renew(&device["refresh_token"]).await.body;
        let again = renew(&device["refresh_token"]).await;
        expect_equal("an old refresh token, before the new tokens are used", json!(again.status), json!(200));
        let newest = again.body["access_token"].as_str().unwrap_or_default();
        expect_equal(
            "the same transaction under a renewed token",
            send("once", newest, "said again").await,
            first.clone(),
        );
        let reused_status = renew(&device["refresh_token"]).await.status;
        expect_equal(
            "an old refresh token, after it",
            json!(reused_status == 401 || reused_status == 403),
            json!(true),
        );
        expect_equal(
            "a renewed token is another one",
            json!(renewed["access_token"] == device["access_token"]),
            json!(false),
        );

        let joined = self.request(Method::GET, "/_matrix/client/v3/joined_rooms", newest, &Value::Null).await.body;
        let is_listed = joined["joined_rooms"].as_array().is_some_and(|it| it.iter().any(|it| it == self.room));
        expect_equal("the rooms that a user has joined", json!(is_listed), json!(true));
        for (format, field, value) in [("event", "type", json!("m.room.create")), ("content", "sender", Value::Null)] {
            let path = format!("{room}/state/m.room.create?format={format}");
            let state = self.request(Method::GET, &path, newest, &Value::Null).await.body;
            expect_equal(&format!("{field} of state as {format}"), state[field].clone(), value);
        }

        let limit = self.request(Method::GET, "/_matrix/client/v1/media/config", newest, &Value::Null).await.body;
        expect_equal("a limit of files", json!(limit["m.upload.size"].is_u64()), json!(true));
        for token in [newest, others] {
            let out = self.request(Method::POST, "/_matrix/client/v3/logout", token, &json!({})).await.status;
            expect_equal("logging out", json!(out), json!(200));
            let after = self.request(Method::GET, "/_matrix/client/v3/account/whoami", token, &Value::Null).await;
            expect_equal(
                "a device that is logged out",
                json!([after.status, after.body["errcode"]]),
                json!([401, "M_UNKNOWN_TOKEN"]),
            );
        }
        differences
    }

    async fn log_in(&self) -> Value {
        let body = json!({
            "type": "m.login.password", "identifier": { "type": "m.id.user", "user": self.user },
            "password": self.password, "refresh_token": true,
        });
        self.request(Method::POST, "/_matrix/client/v3/login", "", &body).await.body
    }

    async fn request(&self, method: Method, path: &str, token: &str, body: &Value) -> MatrixResponse {
        let mut request = browser().request(method, format!("{}{path}", self.base_url));
        if !token.is_empty() {
            request = request.bearer_auth(token);
        }
        if !body.is_null() {
            request = request.json(body);
        }
        let response = request.send().await.expect("a homeserver answers");
        let status = response.status().as_u16();
        MatrixResponse { status, body: response.json().await.expect("every answer is JSON") }
    }
}

/// A message that any homeserver accepts.
fn text_message(body: &str) -> Value {
    json!({ "msgtype": "m.text", "body": body, "m.mentions": {} })
}
