//! The adapter reads responses from the tests of other clients.

use super::{ChatFacts, Me, Member, Response, Sent};
use crate::recording::Recording;

pub(crate) fn read_successes(recordings: &[(String, Recording)]) {
    for (name, recording) in recordings.iter().filter(|(_, it)| it.status().is_success()) {
        match recording.request.as_str() {
            "POST /bot{token}/getMe" => {
                let Response { result: Me { id } } = recording.read();
                assert_eq!(id, 482_352_699, "{name}");
            }
            "POST /bot{token}/getChat" => {
                let Response { result: ChatFacts { id, kind, title, username } } = recording.read();
                assert_eq!((id, kind.as_str()), (-1_001_342_283_806, "supergroup"), "{name}");
                assert!(title.is_some() && username.is_none(), "{name}: a private one has no name");
            }
            "POST /bot{token}/getChatMember" => {
                let Response { result: Member { status, can_post_messages, .. } } = recording.read();
                assert!(status == "administrator" && !can_post_messages, "{name}: only channels have that right");
            }
            "POST /bot{token}/getChatMemberCount" => {
                assert_eq!(recording.read::<Response<u64>>().result, 23, "{name}");
            }
            "POST /bot{token}/sendMediaGroup" => match recording.read::<Response<Sent>>().result {
                Sent::Album(sent) => {
                    assert_eq!(sent.iter().map(|it| it.message_id).collect::<Vec<_>>(), [367, 368], "{name}");
                }
                Sent::Single(_) => panic!("{name}"),
            },
            "POST /bot{token}/sendMessage" | "POST /bot{token}/sendPhoto" | "POST /bot{token}/sendVideo" => {
                assert!(matches!(recording.read::<Response<Sent>>().result, Sent::Single(_)), "{name}");
            }
            other => panic!("{name}: no type of the adapter reads {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::noon;

    use super::super::*;
    use super::*;

    #[test]
    fn recorded_successes_are_read() {
        read_successes(&Recording::all("telegram"));
    }

    #[test]
    fn recorded_errors_are_classified() {
        for (name, recording) in Recording::all("telegram").into_iter().filter(|(_, it)| !it.status().is_success()) {
            let (headers, now) = (recording.headers(), noon());
            let error = ERRORS.classify(Effect::Public, recording.status(), &headers, &recording.bytes(), now);
            let seconds = recording.body.pointer("/parameters/retry_after").and_then(Value::as_i64);
            let moved_to = recording.body.pointer("/parameters/migrate_to_chat_id");
            let expected = match (seconds, moved_to) {
                (Some(_), None) => ErrorKind::RateLimited,
                (None, Some(_)) => ErrorKind::Unauthorized,
                _ => ErrorKind::InvalidPost,
            };
            assert_eq!(error.kind, expected, "{name}: {error:?}");
            assert_eq!(error.retry_at, seconds.map(|it| now + TimeDelta::seconds(it)), "{name}");
            assert_eq!(error.value("/parameters/migrate_to_chat_id"), moved_to, "{name}");
        }
    }
}
