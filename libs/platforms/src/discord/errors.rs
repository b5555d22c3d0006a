//! The error tables (topic "Opcodes and Status Codes").

use serde_json::{Map, Value};

use super::TITLE;
use crate::kit::{ErrorKind, ErrorRule, ErrorTable, Reset};

pub(super) const UNKNOWN_MESSAGE: &[&str] = &["10008"];

pub(super) const UNKNOWN_CHANNEL: &[&str] = &["10003"];

/// The bot is in the channel, but lacks the permission.
pub(super) const MISSING_PERMISSIONS: &[&str] = &["50013"];

const TAG_REQUIRED: &str = "the forum requires a tag for each post, and this service cannot set tags: switch off \
                            *Require people to select tags when posting* in the settings of the forum, or post in \
                            another channel";

/// For calls of a bot. A message that it sent can be looked up.
pub(super) const BOT_ERRORS: ErrorTable = ErrorTable {
    title: TITLE,
    code_at: &["/code"],
    message_at: &["/message"],
    message: Some(message),
    // A gateway may have a message, too.
    is_own: |it| it["code"].is_number() || it["retry_after"].is_number(),
    resets: &[Reset::Seconds("/retry_after")],
    rules: &[
        // Slow mode, write limits of a channel and of a server, sending disabled, a limited
        // resource, Cloudflare (reported by the API), an overload.
        ErrorRule::codes(&["20016", "20028", "20029", "40004", "40006", "40062", "40333", "130000"])
            .kind(ErrorKind::Unavailable),
        // Whatever the status: explicit content, too large, too many active threads, automatic
        // moderation of text and title, harmful links, no files in this server.
        ErrorRule::codes(&["20009", "40005", "160006", "200000", "200001", "240000", "400001"]),
        ErrorRule::codes(&["160002"]).user_message(
            "the bot cannot reply, because it may not read the channel's messages: give it the permission Read Message \
             History",
        ),
        ErrorRule::codes(&["40066", "40067"]).user_message(TAG_REQUIRED),
        // The object of the call does not exist, or this token has no access to it.
        ErrorRule::status(403).kind(ErrorKind::Unauthorized),
        ErrorRule::status(404).kind(ErrorKind::Unauthorized),
        ErrorRule::status(500).kind(ErrorKind::ServerError).ended(),
    ],
    ..ErrorTable::STANDARD
};

/// For calls of a webhook, which cannot look up anything.
pub(super) const WEBHOOK_ERRORS: ErrorTable = ErrorTable { can_look_up: false, ..BOT_ERRORS };

/// The message, including the messages about single fields: `Invalid Form Body: content: Must be
/// 2000 or fewer in length.`
fn message(body: &Value) -> Option<String> {
    let message = body["message"].as_str()?.trim();
    let mut field_messages = Vec::new();
    if let Value::Object(errors) = &body["errors"] {
        collect(errors, "", &mut field_messages);
    }
    if field_messages.is_empty() {
        return Some(message.to_owned());
    }
    Some(format!("{}: {}", message.trim_end_matches('.'), field_messages.join(" ")))
}

const MAX_FIELDS: usize = 4;

fn collect(errors: &Map<String, Value>, path: &str, messages: &mut Vec<String>) {
    for (name, value) in errors {
        if messages.len() == MAX_FIELDS {
            return;
        }
        match value {
            Value::Array(several) if name == "_errors" => {
                let texts = several.iter().filter_map(|it| it["message"].as_str());
                messages.extend(texts.take(MAX_FIELDS - messages.len()).map(|it| match path {
                    "" => it.to_owned(),
                    path => format!("{path}: {it}"),
                }));
            }
            Value::Object(inner) => {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(inner, &path, messages);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::delivery::AttemptError;
    use domain::testing::noon;
    use http::{HeaderMap, StatusCode};

    use super::*;
    use crate::kit::Effect;

    fn attempt_error(status: u16, body: &str) -> AttemptError {
        let status = StatusCode::from_u16(status).unwrap();
        WEBHOOK_ERRORS.classify(Effect::Public, status, &HeaderMap::new(), body.as_bytes(), noon()).into()
    }

    #[test]
    fn error_table_classifies_documented_codes() {
        let error_for = |status, code: u32| attempt_error(status, &format!(r#"{{"message": "No", "code": {code}}}"#));
        for (status, code) in [(404, 10_015), (401, 50_027), (403, 50_013), (403, 50_001), (404, 10_003), (404, 0)] {
            assert_eq!(error_for(status, code), AttemptError::Unauthorized { reason: "No".to_owned() }, "{code}");
        }
        for (status, code) in [
            (400, 50_035),
            (400, 220_001),
            (413, 40_005),
            (400, 200_000),
            (403, 240_000),
            (403, 400_001),
            (403, 20_009),
            (403, 160_006),
        ] {
            assert_eq!(error_for(status, code), AttemptError::Refused { reason: "No".to_owned() }, "{code}");
        }
        for (status, code) in [(503, 130_000), (400, 40_004), (403, 40_333), (400, 20_016), (403, 20_029)] {
            assert_eq!(
                error_for(status, code),
                AttemptError::RetryLater { retry_at: None, reason: "No".to_owned() },
                "{code}"
            );
        }
        assert!(matches!(error_for(500, 0), AttemptError::Unknown { may_still_run: false, .. }));
    }

    #[test]
    fn limit_lasts_as_long_as_the_response_says_to_the_millisecond() {
        let body = r#"{"message": "You are being rate limited.", "retry_after": 64.57, "global": false}"#;
        let AttemptError::RetryLater { retry_at: Some(at), .. } = attempt_error(429, body) else { panic!() };
        assert_eq!(at, noon() + TimeDelta::milliseconds(64_570));
        for nonsense in ["-1", "1e300"] {
            let body = format!(r#"{{"message": "Later", "retry_after": {nonsense}, "global": true}}"#);
            assert!(matches!(attempt_error(429, &body), AttemptError::RetryLater { retry_at: None, .. }), "{nonsense}");
        }
    }

    #[test]
    fn messages_of_fields_are_joined() {
        let body = r#"{"code": 50035, "message": "Invalid Form Body", "errors": {
            "attachments": {"0": {"description": {"_errors": [{"code": "X", "message": "Must be shorter."}]}}},
            "content": {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}]},
            "_errors": [{"message": "And so on."}], "odd": 7, "more": {"_errors": [{}, 3, {"message": "One."}]}}}"#;
        let AttemptError::Refused { reason } = attempt_error(400, body) else { panic!() };
        assert!(reason.starts_with("Invalid Form Body: "), "{reason}");
        for expected in
            ["attachments.0.description: Must be shorter.", "content: Must be 2000 or fewer in length.", " And so on."]
        {
            assert!(format!(" {reason}").contains(expected), "{expected} is not in {reason}");
        }
        let deep = format!(
            r#"{{"code": 50035, "message": "Deep", "errors": {}7{}}}"#,
            r#"{"a":"#.repeat(100),
            "}".repeat(100)
        );
        assert_eq!(attempt_error(400, &deep), AttemptError::Refused { reason: "Deep".to_owned() });
    }
}
