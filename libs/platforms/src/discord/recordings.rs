use super::api::Sent;
use super::bot::{Channel, Guild, Listed};
use super::snowflake::Snowflake;
use super::webhook::{CreatedWebhook, Webhook};
use crate::oauth2::Tokens;
use crate::recording::Recording;

pub(crate) fn read_successes(recordings: &[(String, Recording)]) {
    for (name, recording) in recordings.iter().filter(|(_, it)| it.status().is_success()) {
        let body = &recording.body;
        match recording.request.as_str() {
            "POST /webhooks/{id}/{token}" => {
                let Sent { id, channel_id } = recording.read();
                assert_eq!(id.to_string(), "334385199974967042", "{name}");
                assert_eq!(channel_id.to_string(), "290926798999357250", "{name}");
            }
            "GET /channels/{id}/messages" => {
                let listed: Vec<Listed> = recording.read();
                assert!(listed.iter().all(|it| it.author.is_some() && !it.content.is_empty()), "{name}");
            }
            "GET /webhooks/{id}/{token}" => {
                let account = recording.read::<Webhook>().account("token".into(), false);
                assert_eq!(account.is_some(), body["type"] == 1, "{name}: only an incoming one takes posts");
            }
            "GET /channels/{id}" => {
                let channel: Channel = recording.read();
                assert_eq!(channel.thread_metadata.is_some(), channel.kind == 11, "{name}: only a thread has it");
            }
            "GET /guilds/{id}" => {
                let profile = recording.read::<Guild>().profile();
                assert_eq!(profile.display_name.as_deref(), Some("Discord Testers"), "{name}");
            }
            "POST /oauth2/token" => {
                let tokens: Tokens = recording.read();
                let webhook = tokens.field("webhook").and_then(CreatedWebhook::read);
                let server = tokens.field("guild").and_then(|it| Snowflake::parse(it["id"].as_str()?));
                assert!(webhook.is_some() != server.is_some(), "{name}: one of them was added");
            }
            other => panic!("{name}: no type of the adapter reads {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::TimeDelta;
    use domain::testing::noon;

    use super::super::errors::BOT_ERRORS;
    use super::*;
    use crate::kit::{Effect, ErrorKind};

    #[test]
    fn recorded_successes_are_read() {
        read_successes(&Recording::all("discord"));
    }

    #[test]
    fn recorded_errors_are_classified() {
        for (name, recording) in Recording::all("discord").into_iter().filter(|(_, it)| !it.status().is_success()) {
            let (body, headers, now) = (&recording.body, recording.headers(), noon());
            let error = BOT_ERRORS.classify(Effect::Public, recording.status(), &headers, &recording.bytes(), now);
            if body["error"] == "invalid_grant" {
                // Token calls have this form, and `oauth2` parses it. No other response of Discord
                // has it.
                assert_eq!(error.kind, ErrorKind::Intermediary, "{name}");
                continue;
            }
            let (kind, seconds) = match body["code"].as_u64() {
                Some(50_035) => (ErrorKind::InvalidPost, None),
                Some(50_014) => (ErrorKind::Unauthorized, None),
                code => (ErrorKind::RateLimited, body["retry_after"].as_f64().or_else(|| panic!("{name}: {code:?}"))),
            };
            assert_eq!(error.kind, kind, "{name}: {error:?}");
            let retry_at = seconds.map(|it| now + TimeDelta::from_std(Duration::from_secs_f64(it)).unwrap());
            assert_eq!(error.retry_at, retry_at, "{name}: exact to the millisecond, unlike the header");
            assert_eq!(error.message.contains(": "), body["errors"].is_object(), "{name}: {}", error.message);
        }
    }
}
