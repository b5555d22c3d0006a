//! Messages to endpoints: an id, a time and a payload, and the signatures of the three.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::kind::EventKind;
use super::secret::WebhookSecret;
use super::signing_key::SigningKey;
use crate::id::WebhookId;
use crate::token;

/// The id of an event for endpoints, the same in every attempt.
///
/// It has no dots, because signatures are over parts that are separated by dots.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(String);

const PREFIX: &str = "evt_";

const HASH_LEN: usize = 43;

impl MessageId {
    pub fn from_event_id(id: &str) -> Self {
        Self(format!("{PREFIX}{}", token::hash(id)))
    }

    pub fn parse(raw: &str) -> Option<Self> {
        let hash = raw.strip_prefix(PREFIX)?;
        let is_hash =
            hash.len() == HASH_LEN && hash.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-' || it == b'_');
        is_hash.then(|| Self(raw.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookMessage {
    #[serde(rename = "message_id")]
    pub id: MessageId,
    pub kind: EventKind,
    /// The payload as it is sent and signed, byte for byte.
    pub body: String,
}

impl WebhookMessage {
    /// The event with this detail, as on the event bus, for one endpoint; `None` if the detail
    /// lacks `id` or `occurred_at`.
    ///
    /// The data leave out the user's id, the event's id, which is in a header, and its time, which
    /// is next to the data. The body names the endpoint: the signature by the deployment's key is
    /// valid for every endpoint, so without the name one user could relay their messages to another
    /// user's endpoint.
    pub fn from_event(kind: EventKind, webhook: WebhookId, detail: &Value) -> Option<Self> {
        let mut data = detail.as_object()?.clone();
        data.remove("user_id");
        let id = data.remove("id")?;
        let occurred_at = data.remove("occurred_at")?;
        let body = json!({
            "type": kind.as_str(),
            "timestamp": occurred_at.as_str()?,
            "webhook_id": webhook,
            "data": data,
        });
        Some(Self { id: MessageId::from_event_id(id.as_str()?), kind, body: body.to_string() })
    }

    /// The header `webhook-signature` of an attempt at this time: one signature for each secret of
    /// the endpoint, and that of the deployment.
    pub fn signatures(&self, at: DateTime<Utc>, secrets: &[WebhookSecret], key: &SigningKey) -> String {
        let content = format!("{}.{}.{}", self.id, at.timestamp(), self.body);
        let shared = secrets.iter().map(|it| it.sign(&content));
        shared.chain([key.sign(&content)]).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use standardwebhooks::Webhook;

    use super::*;

    fn message() -> WebhookMessage {
        let at = "2026-11-21T12:00:00.000Z";
        let detail =
            json!({ "id": "post.published:7:2", "occurred_at": at, "user_id": "5", "post_id": 7, "sequence": 2 });
        WebhookMessage::from_event(EventKind::PostPublished, WebhookId::parse("9").unwrap(), &detail).unwrap()
    }

    fn headers(message: &WebhookMessage, at: DateTime<Utc>, signatures: &str) -> HeaderMap {
        let headers = [
            ("webhook-id", message.id.to_string()),
            ("webhook-timestamp", at.timestamp().to_string()),
            ("webhook-signature", signatures.to_owned()),
        ];
        headers.into_iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn message_signed_with_two_secrets_verifies_with_either() {
        let (message, at) = (message(), Utc::now());
        let (new, old, other) = (WebhookSecret::random(), WebhookSecret::random(), WebhookSecret::random());
        let signatures = message.signatures(at, &[new.clone(), old.clone()], &SigningKey::random());
        let headers = headers(&message, at, &signatures);

        let verified = |it: &WebhookSecret, body: &str| {
            let verifier = Webhook::new(it.expose()).unwrap();
            verifier.verify(body.as_bytes(), &headers).is_ok()
        };

        assert!(verified(&new, &message.body) && verified(&old, &message.body));
        assert!(!verified(&other, &message.body));
        assert!(!verified(&new, &message.body.replace('7', "8")));
        assert_eq!(signatures.split(' ').count(), 3);
    }

    #[test]
    fn message_id_has_no_dots_and_depends_on_the_event() {
        let id = message().id;
        assert_eq!(id, message().id);
        assert!(!id.as_str().contains('.') && id != MessageId::from_event_id("post.published:7:3"));
        assert_eq!(MessageId::parse(id.as_str()), Some(id));
        for wrong in ["", "evt_", "evt_x.y", "7"] {
            assert_eq!(MessageId::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn payload_has_type_time_and_resource() {
        let payload: Value = serde_json::from_str(&message().body).unwrap();
        let fields: Vec<_> = payload.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["data", "timestamp", "type", "webhook_id"]);
        assert_eq!(payload["webhook_id"], 9);
        assert_eq!(payload["type"], "post.published");
        assert_eq!(payload["timestamp"], "2026-11-21T12:00:00.000Z");
        assert_eq!(payload["data"], json!({ "post_id": 7, "sequence": 2 }));
    }
}
