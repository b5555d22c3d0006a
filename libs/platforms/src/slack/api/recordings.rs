//! The adapter reads responses of Slack, and examples from its description and a client.

#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

use serde::Deserialize;

use super::{Channels, Done, ERRORS, File, FileInfo, History, Posted, Team, Ticket, UPLOAD_HOSTS};
use crate::recording::Recording;

fn is_error(recording: &Recording) -> bool {
    !recording.status().is_success() || ERRORS.is_error_in_success(&recording.bytes())
}

pub(crate) fn read_successes(recordings: &[(String, Recording)]) {
    for (name, recording) in recordings.iter().filter(|(_, it)| !is_error(it)) {
        match recording.request.as_str() {
            "POST /api/auth.test" => {
                let Team { id, url, .. } = recording.read();
                assert_eq!((id.as_str(), url.as_str()), ("TDEADBEEF", "https://rubybot.slack.com/"), "{name}");
            }
            "POST /api/chat.postMessage" => assert_eq!(recording.read::<Posted>().ts.0, "1503435956.000247", "{name}"),
            "POST /api/files.getUploadURLExternal" => {
                let host = recording.read::<Ticket>().upload_url.host_str().map(str::to_owned);
                assert!(host.is_some_and(|it| UPLOAD_HOSTS.contains(&it.as_str())), "{name}");
            }
            "POST /api/files.completeUploadExternal" => {
                let Done {} = recording.read();
                let files = Vec::<File>::deserialize(&recording.body["files"]).unwrap();
                let is_not_shared = |it: &&File| it.shares.public.is_empty() && it.shares.private.is_empty();
                assert_eq!(files.iter().filter(is_not_shared).count(), 2, "{name}: they are in no channel yet");
            }
            "POST /api/files.delete" => {
                let Done {} = recording.read();
            }
            "GET /api/files.info" => {
                let FileInfo { file: File { shares } } = recording.read();
                let shown = shares.public.get("C0T8SE4AU").map(|it| it.iter().map(|it| it.ts.0.as_str()).collect());
                assert_eq!(shown, Some(vec!["1531763348.000001"]), "{name}");
            }
            "GET /api/conversations.history" => {
                let next = recording.read::<History>().next().unwrap();
                assert_eq!(next.as_deref(), Some("bmV4dF90czoxNTEyMDg1ODYxMDAwNTQz"), "{name}");
            }
            "GET /api/conversations.replies" => {
                let replies = recording.read::<History>();
                let first = replies.messages.first().map(|it| it.ts.0.as_str());
                assert_eq!(first, Some("1482960137.003543"), "{name}: the first message of the thread");
                assert_eq!(replies.next().unwrap().as_deref(), Some("bmV4dF90czoxNDg0Njc4MjkwNTE3MDkx"), "{name}");
            }
            "GET /api/users.conversations" => {
                let Channels { channels, response_metadata } = recording.read();
                assert_eq!(channels.iter().map(|it| &it.name).collect::<Vec<_>>(), ["general", "random"], "{name}");
                assert_eq!(response_metadata.next_cursor, "dGVhbTpDMDYxRkE1UEI=", "{name}");
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
    use crate::kit::ErrorKind;

    #[test]
    fn recorded_successes_are_read() {
        read_successes(&Recording::all("slack"));
    }

    #[test]
    fn recorded_errors_are_classified() {
        for (name, recording) in Recording::all("slack").into_iter().filter(|(_, it)| is_error(it)) {
            let (headers, now) = (recording.headers(), noon());
            let error = ERRORS.classify(Effect::Public, recording.status(), &headers, &recording.bytes(), now);
            let (kind, retry_at) = match recording.body["error"].as_str() {
                Some("not_authed") => (ErrorKind::Unauthorized, None),
                Some("fatal_error") => (ErrorKind::ServerError, None),
                Some("ratelimited") => (ErrorKind::RateLimited, Some(now + TimeDelta::seconds(1))),
                Some("invalid_arguments" | "too_many_attachments" | "channel_not_found") => {
                    (ErrorKind::InvalidPost, None)
                }
                other => panic!("{name}: {other:?}"),
            };
            assert_eq!((error.kind, error.retry_at), (kind, retry_at), "{name}: {error:?}");
        }
    }
}
