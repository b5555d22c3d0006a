//! Calls that did not do what they were to do, and what follows.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::Setback;
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::TITLE;
use crate::answer;
use crate::no_answer::NoAnswer;
use crate::not_now::NotNow;

/// A call that did not do what it was to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Failure {
    /// It said no, with one of the codes of its documentation.
    Refused { blame: Blame, code: u64, words: String },
    /// It wants to be asked later, after so long where it says so.
    Limited { after: Option<Duration>, words: String },
    /// Nothing was sent, or what was sent has not reached Discord.
    NotSent { why: String },
    /// It may have been carried out.
    Unknown { may_still_run: bool, why: String },
}

/// What a refusal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blame {
    /// The token, a webhook's or a bot's.
    Token,
    /// Where it was to go: that was deleted, or is closed to whoever has the token.
    Place,
    /// What was to be posted.
    Post,
}

/// An error, as Discord's API writes it. Whatever stands before it, such as
/// Cloudflare, answers with a page.
#[derive(Deserialize)]
struct Written {
    message: String,
    #[serde(default)]
    code: u64,
    #[serde(default)]
    errors: Value,
    retry_after: Option<f64>,
}

/// Codes of what may be taken later. Discord has not carried it out: slow mode, the
/// limit of a channel, sending switched off, a resource that is limited, Cloudflare
/// (said by the API), an overload.
const LATER: [u64; 7] = [20_016, 20_028, 40_004, 40_006, 40_062, 40_333, 130_000];

/// Codes of what is wrong with a post, whatever the status: too large, automatic
/// moderation of text and title, no files in this server, harmful links.
const OF_THE_POST: [u64; 5] = [40_005, 200_000, 200_001, 400_001, 240_000];

/// Reads an answer that is no success.
pub(super) fn read(status: StatusCode, headers: &HeaderMap, body: Option<&[u8]>) -> Failure {
    let written: Option<Written> = body.and_then(|it| serde_json::from_slice(it).ok());
    let words = || match &written {
        Some(written) => answer::shown(&in_words(written)),
        None => format!("it answered {status}"),
    };
    let code = written.as_ref().map(|it| it.code);
    let is_one_of = |codes: &[u64]| code.is_some_and(|it| codes.contains(&it));
    if status == StatusCode::TOO_MANY_REQUESTS || is_one_of(&LATER) {
        let after = written.as_ref().and_then(|it| it.retry_after);
        let after = after.and_then(|it| Duration::try_from_secs_f64(it).ok()).or_else(|| seconds(headers));
        return Failure::Limited { after, words: words() };
    }
    let blame = match status {
        _ if is_one_of(&OF_THE_POST) => Blame::Post,
        StatusCode::PAYLOAD_TOO_LARGE => Blame::Post,
        // What stands before Discord does not know how a call ends that it has passed on.
        it if it.is_server_error() => {
            return Failure::Unknown { may_still_run: written.is_none(), why: "Discord failed inside".to_owned() };
        }
        it if it.is_client_error() && written.is_none() => {
            return Failure::NotSent { why: format!("what stands before Discord answered {status}") };
        }
        StatusCode::UNAUTHORIZED => Blame::Token,
        StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => Blame::Place,
        it if it.is_client_error() => Blame::Post,
        _ => return unreadable(),
    };
    Failure::Refused { blame, code: code.unwrap_or_default(), words: words() }
}

/// It went well, and what came back cannot be read.
pub(super) fn unreadable() -> Failure {
    Failure::Unknown { may_still_run: true, why: "Discord's answer could not be read".to_owned() }
}

fn seconds(headers: &HeaderMap) -> Option<Duration> {
    headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

/// The message, and what it says of single fields: `Invalid Form Body: content: Must be
/// 2000 or fewer in length.`
fn in_words(written: &Written) -> String {
    let mut words = written.message.trim().to_owned();
    let mut of_fields = Vec::new();
    if let Value::Object(errors) = &written.errors {
        collect(errors, "", &mut of_fields);
    }
    if !of_fields.is_empty() {
        words = format!("{}: {}", words.trim_end_matches('.'), of_fields.join(" "));
    }
    words
}

/// The most words about fields that are passed on.
const MOST: usize = 4;

fn collect(errors: &Map<String, Value>, path: &str, said: &mut Vec<String>) {
    for (name, value) in errors {
        if said.len() == MOST {
            return;
        }
        match value {
            Value::Array(several) if name == "_errors" => {
                let words = several.iter().filter_map(|it| it["message"].as_str());
                said.extend(words.take(MOST - said.len()).map(|it| match path {
                    "" => it.to_owned(),
                    path => format!("{path}: {it}"),
                }));
            }
            Value::Object(inner) => {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(inner, &path, said);
            }
            _ => {}
        }
    }
}

impl From<NotNow> for Failure {
    fn from(not_now: NotNow) -> Self {
        Self::NotSent { why: not_now.to_string() }
    }
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        let no_answer = NoAnswer::from(error);
        let why = no_answer.words(TITLE);
        if no_answer.is_unsent() { Self::NotSent { why } } else { Self::Unknown { may_still_run: true, why } }
    }
}

impl Failure {
    /// Whether what was named is not there, or not for whoever has this token.
    pub(super) fn is_of_place(&self) -> bool {
        matches!(self, Self::Refused { blame: Blame::Token | Blame::Place, .. })
    }

    /// Whether it said no with this code.
    pub(super) fn is(&self, expected: u64) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == expected)
    }

    /// The same with what it tells the user in other words.
    pub(super) fn in_words(mut self, other: impl FnOnce(&str) -> String) -> Self {
        match &mut self {
            Self::Refused { words, .. } | Self::Limited { words, .. } => *words = other(words),
            Self::NotSent { .. } | Self::Unknown { .. } => {}
        }
        self
    }

    /// Why, for the user.
    pub(super) fn into_words(self) -> String {
        match self {
            Self::Refused { words, .. } | Self::Limited { words, .. } => words,
            Self::NotSent { why } | Self::Unknown { why, .. } => why,
        }
    }

    /// What follows for a delivery.
    pub(super) fn setback(self, now: DateTime<Utc>) -> Setback {
        match self {
            Self::Refused { blame: Blame::Token | Blame::Place, words: reason, .. } => Setback::Disconnected { reason },
            Self::Refused { blame: Blame::Post, words: reason, .. } => Setback::Refused { reason },
            Self::Limited { after, words: reason } => {
                let wait = after.and_then(|it| TimeDelta::from_std(it).ok());
                Setback::Busy { retry_at: wait.and_then(|it| now.checked_add_signed(it)), reason }
            }
            Self::NotSent { why: reason } => Setback::Busy { retry_at: None, reason },
            Self::Unknown { may_still_run, why } => Setback::Unknown { may_still_run, reason: why },
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    fn answered(status: u16, retry_after: Option<&str>, body: &str) -> Setback {
        let mut headers = HeaderMap::new();
        headers.extend(retry_after.map(|it| (header::RETRY_AFTER, it.parse().unwrap())));
        read(StatusCode::from_u16(status).unwrap(), &headers, Some(body.as_bytes())).setback(noon())
    }

    #[test]
    fn what_a_refusal_means_is_told_by_its_code_and_status() {
        for (status, code) in [(404, 10_015), (401, 50_027), (403, 50_013), (403, 50_001), (404, 10_003), (404, 0)] {
            let setback = answered(status, None, &format!(r#"{{"message": "No", "code": {code}}}"#));
            assert_eq!(setback, Setback::Disconnected { reason: "No".to_owned() }, "{code}");
        }
        for (status, code) in
            [(400, 50_035), (400, 220_001), (413, 40_005), (400, 200_000), (403, 240_000), (403, 400_001)]
        {
            let setback = answered(status, None, &format!(r#"{{"message": "No", "code": {code}}}"#));
            assert_eq!(setback, Setback::Refused { reason: "No".to_owned() }, "{code}");
        }
        for (status, code) in [(503, 130_000), (400, 40_004), (403, 40_333), (400, 20_016)] {
            let setback = answered(status, None, &format!(r#"{{"message": "Not now", "code": {code}}}"#));
            assert_eq!(setback, Setback::Busy { retry_at: None, reason: "Not now".to_owned() }, "{code}");
        }
    }

    #[test]
    fn a_page_of_cloudflares_never_ends_a_connection_or_a_post() {
        const PAGE: &str = "<!DOCTYPE html><title>Access denied</title>";
        for status in [401, 403, 404, 400] {
            let setback = answered(status, None, PAGE);
            let Setback::Busy { retry_at: None, reason } = setback else { panic!("{setback:?}") };
            assert!(!reason.contains('<'), "{reason}");
        }
        for status in [500, 502, 503, 520] {
            let setback = answered(status, None, PAGE);
            assert!(matches!(setback, Setback::Unknown { may_still_run: true, .. }), "{setback:?}");
        }
        let own = answered(500, None, r#"{"message": "500: Internal Server Error", "code": 0}"#);
        assert!(matches!(own, Setback::Unknown { may_still_run: false, .. }), "{own:?}");
        let limited = answered(429, Some("17"), PAGE);
        assert!(matches!(limited, Setback::Busy { retry_at: Some(at), .. } if at == noon() + TimeDelta::seconds(17)));
        assert!(matches!(answered(413, None, PAGE), Setback::Refused { .. }));
        assert!(matches!(answered(302, None, PAGE), Setback::Unknown { may_still_run: true, .. }));
    }

    #[test]
    fn a_limit_is_as_long_as_the_answer_says_to_the_millisecond() {
        let body = r#"{"message": "You are being rate limited.", "retry_after": 64.57, "global": false}"#;
        let Setback::Busy { retry_at: Some(at), .. } = answered(429, Some("65"), body) else { panic!() };
        assert_eq!(at, noon() + TimeDelta::milliseconds(64_570));
        for nonsense in ["-1", "1e300"] {
            let body = format!(r#"{{"message": "Later", "retry_after": {nonsense}, "global": true}}"#);
            assert!(matches!(answered(429, None, &body), Setback::Busy { retry_at: None, .. }), "{nonsense}");
        }
    }

    #[test]
    fn errors_of_fields_are_told_in_a_row() {
        let body = r#"{"code": 50035, "message": "Invalid Form Body", "errors": {
            "attachments": {"0": {"description": {"_errors": [{"code": "X", "message": "Must be shorter."}]}}},
            "content": {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}]},
            "_errors": [{"message": "And so on."}], "odd": 7, "more": {"_errors": [{}, 3, {"message": "One."}]}}}"#;
        let Setback::Refused { reason } = answered(400, None, body) else { panic!() };
        assert!(reason.starts_with("Invalid Form Body: "), "{reason}");
        for said in
            ["attachments.0.description: Must be shorter.", "content: Must be 2000 or fewer in length.", " And so on."]
        {
            assert!(format!(" {reason}").contains(said), "{said} is not in {reason}");
        }
        let deep = format!(r#"{{"message": "Deep", "errors": {}7{}}}"#, r#"{"a":"#.repeat(100), "}".repeat(100));
        assert_eq!(answered(400, None, &deep), Setback::Refused { reason: "Deep".to_owned() });
    }
}
