//! Calls of the Graph API that did not do what they were to do, and what follows.
//!
//! Which code means what is in the fact sheets of Facebook, Instagram and Threads.

use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::{Resolution, Setback};
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::answer;
use crate::handoff::HandOffRefusal;
use crate::job::MediaUnreadable;
use crate::no_answer::NoAnswer;
use crate::not_now::NotNow;

/// How long an account is left alone that was told to stop: blocks last for hours.
const BLOCKED: TimeDelta = TimeDelta::hours(2);

/// When it is asked again whether a container is ready, or for what passes by itself.
const SOON: TimeDelta = TimeDelta::seconds(15);

/// A call that did not do what it was to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It said no.
    Refused(Refused),
    /// Nothing was done.
    NotSent {
        /// For the user.
        why: String,
    },
    /// It may have been carried out, or still be.
    Unknown {
        /// For the user.
        why: String,
    },
}

/// An answer that says no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// What it is about.
    pub(crate) blame: Blame,
    /// For the user: what Meta wrote for users, or else for programmers; and by what Meta
    /// finds the call.
    words: String,
    /// When calls are taken again, where too many were made.
    regained_at: DateTime<Utc>,
}

/// What a refusal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The token, what it covers, or the account: its user has to do something.
    Grant,
    /// Our app.
    Us,
    /// How many calls were made.
    Limit,
    /// How much the account has published within a day.
    Quota,
    /// What the account did lately, to Meta's eyes.
    Blocked,
    /// It may go well later. The call may have been carried out.
    Passing,
    /// The same was published before.
    Duplicate,
    /// A container that is worked on.
    NotReady,
    /// A container that is of no use any more, or was lost on the way: it can be made
    /// anew.
    Gone,
    /// A file that Meta could not fetch.
    NotFetched,
    /// The post.
    Post,
}

/// The error of an answer.
#[derive(Deserialize)]
struct GraphError {
    #[serde(default)]
    message: String,
    code: i64,
    #[serde(default)]
    error_subcode: i64,
    #[serde(default)]
    is_transient: bool,
    error_user_msg: Option<String>,
    fbtrace_id: Option<String>,
}

impl GraphError {
    /// The error of this body.
    fn of(body: &[u8]) -> Option<Self> {
        let mut answer: Value = serde_json::from_slice(body).ok()?;
        serde_json::from_value(answer.get_mut("error")?.take()).ok()
    }

    fn blame(&self) -> Blame {
        Blame::of_subcode(self.error_subcode).or_else(|| by_words(&self.message)).unwrap_or_else(|| by_code(self))
    }

    fn words(&self) -> String {
        let said = self.error_user_msg.as_deref().filter(|it| !it.trim().is_empty()).unwrap_or(&self.message);
        let said = if said.trim().is_empty() { format!("it answered error {}", self.code) } else { said.to_owned() };
        let is_trace =
            |it: &&str| it.len() <= 40 && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-".contains(&it));
        match self.fbtrace_id.as_deref().filter(is_trace) {
            Some(trace) => format!("{} (Meta finds it by {trace})", answer::shown(&said)),
            None => answer::shown(&said),
        }
    }
}

impl Blame {
    /// What is known by a subcode. Subcodes say more than codes.
    pub(super) fn of_subcode(subcode: i64) -> Option<Self> {
        Some(match subcode {
            // The app was removed, a checkpoint, another password, an end, and so on; a task
            // on the Page, or an identity, that is missing; an account that is restricted.
            458..=460
            | 463
            | 464
            | 467
            | 492
            | 1_404_078
            | 2_069_032
            | 2_207_050
            | 2_853_006
            | 4_279_013
            | 4_854_002 => Self::Grant,
            1_346_003 | 1_390_008 | 1_404_006 | 1_404_102 | 1_404_112 | 2_207_051 => Self::Blocked,
            2_207_042 => Self::Quota,
            1_366_051 => Self::Duplicate,
            1_363_047 | 1_609_010 | 2_207_001 | 2_207_082 => Self::Passing,
            2_207_027 => Self::NotReady,
            1_363_037 | 2_207_006 | 2_207_008 | 2_207_020 | 2_207_032 | 2_207_053 | 4_279_009 => Self::Gone,
            2_207_003 | 2_207_052 | 2_207_077 => Self::NotFetched,
            2_207_000..=2_207_999 | 1_363_040 | 1_363_127..=1_363_129 | 1_366_046 => Self::Post,
            _ => return None,
        })
    }
}

/// What is known by its words alone.
fn by_words(message: &str) -> Option<Blame> {
    if message.contains("could not be fetched") {
        return Some(Blame::NotFetched);
    }
    message.contains("not an Instagram Business").then_some(Blame::Grant)
}

fn by_code(error: &GraphError) -> Blame {
    match error.code {
        190 | 102 | 10 | 200..=299 => Blame::Grant,
        3 => Blame::Us,
        4 | 17 | 32 | 341 | 613 | 80_000..=80_099 => Blame::Limit,
        368 => Blame::Blocked,
        506 => Blame::Duplicate,
        9_004 => Blame::NotFetched,
        9_007 => Blame::NotReady,
        1 | 2 | -1 | -2 => Blame::Passing,
        _ if error.is_transient => Blame::Passing,
        _ => Blame::Post,
    }
}

impl From<NotNow> for Failure {
    fn from(not_now: NotNow) -> Self {
        Self::NotSent { why: not_now.to_string() }
    }
}

impl From<MediaUnreadable> for Failure {
    fn from(error: MediaUnreadable) -> Self {
        Self::NotSent { why: error.to_string() }
    }
}

impl Failure {
    /// A call to the platform of this name that has no answer.
    pub(super) fn without_answer(error: reqwest::Error, title: &str) -> Self {
        let no_answer = NoAnswer::from(error);
        let why = no_answer.words(title);
        if no_answer.is_unsent() { Self::NotSent { why } } else { Self::Unknown { why } }
    }

    /// It went well, and what came back cannot be read.
    pub(crate) fn unreadable(title: &str) -> Self {
        Self::Unknown { why: format!("{title}'s answer could not be read") }
    }

    /// What an answer says that is no success.
    pub(super) fn of(title: &str, status: StatusCode, body: &[u8], regained_at: DateTime<Utc>) -> Self {
        if let Some(error) = GraphError::of(body) {
            return Self::Refused(Refused { blame: error.blame(), words: error.words(), regained_at });
        }
        if status == StatusCode::TOO_MANY_REQUESTS {
            let words = format!("{title} takes no more calls now");
            return Self::Refused(Refused { blame: Blame::Limit, words, regained_at });
        }
        if status.is_client_error() && status != StatusCode::REQUEST_TIMEOUT {
            return Self::NotSent { why: format!("what stands before {title} answered {status}") };
        }
        Self::Unknown { why: format!("{title} failed inside ({status})") }
    }

    /// What a success says that is none.
    pub(super) fn within(title: &str, status: StatusCode, body: &[u8], regained_at: DateTime<Utc>) -> Option<Self> {
        let answer: Value = serde_json::from_slice(body).ok()?;
        if answer.get("error").is_some() {
            return Some(Self::of(title, status, body, regained_at));
        }
        (answer["success"] == false).then(|| Self::Unknown { why: format!("{title} says that it did not succeed") })
    }

    /// What it is about, if it is a refusal.
    pub(crate) fn blame(&self) -> Option<Blame> {
        match self {
            Self::Refused(refused) => Some(refused.blame),
            Self::NotSent { .. } | Self::Unknown { .. } => None,
        }
    }

    /// Whether it says that something is not there any more.
    pub(crate) fn is_of_what_is_gone(&self) -> bool {
        matches!(self.blame(), Some(Blame::Gone | Blame::Post))
    }

    /// For the user.
    pub(crate) fn into_words(self) -> String {
        match self {
            Self::Refused(refused) => refused.words,
            Self::NotSent { why } | Self::Unknown { why } => why,
        }
    }

    /// Of a call that shows nothing to anybody: it is simply made again.
    pub(crate) fn before_the_call(self, now: DateTime<Utc>) -> Setback {
        match self {
            Self::Refused(refused) => refused.setback(now),
            Self::NotSent { why: reason } | Self::Unknown { why: reason } => Setback::Busy { retry_at: None, reason },
        }
    }

    /// Of the public call.
    pub(crate) fn of_the_public_call(self, now: DateTime<Utc>) -> Setback {
        match self {
            // Of blocks for spam it was seen that the post was public all the same.
            Self::Refused(Refused { blame: Blame::Passing | Blame::Blocked, words: reason, .. })
            | Self::Unknown { why: reason } => Setback::Unknown { may_still_run: true, reason },
            Self::Refused(refused) => refused.setback(now),
            Self::NotSent { why: reason } => Setback::Busy { retry_at: None, reason },
        }
    }

    /// Of a question about a public call.
    pub(crate) fn resolution(self) -> Resolution {
        let is_grant = self.blame() == Some(Blame::Grant);
        let reason = self.into_words();
        if is_grant { Resolution::Disconnected { reason } } else { Resolution::Unclear { reason } }
    }

    /// Of a question about an account, where only the end of the grant counts.
    pub(crate) fn of_account(self) -> Setback {
        let is_grant = self.blame() == Some(Blame::Grant);
        let reason = self.into_words();
        if is_grant { Setback::Disconnected { reason } } else { Setback::Busy { retry_at: None, reason } }
    }
}

impl Refused {
    fn setback(self, now: DateTime<Utc>) -> Setback {
        let Self { blame, words: reason, regained_at } = self;
        let busy_until = |at| Setback::Busy { retry_at: Some(at), reason: reason.clone() };
        match blame {
            Blame::Grant => Setback::Disconnected { reason },
            Blame::Limit => busy_until(regained_at),
            Blame::Blocked => busy_until(now + BLOCKED),
            Blame::NotReady => busy_until(now + SOON),
            Blame::Us | Blame::Quota | Blame::Passing | Blame::NotFetched => Setback::Busy { retry_at: None, reason },
            Blame::Gone => Setback::Stale { reason },
            Blame::Duplicate | Blame::Post => Setback::Refused { reason },
        }
    }
}

impl From<Failure> for HandOffRefusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(Refused { blame: Blame::Passing | Blame::Limit, .. })
            | Failure::NotSent { .. }
            | Failure::Unknown { .. } => Self::Unreachable,
            Failure::Refused(refused) => Self::Refused(refused.words),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;
    use serde_json::json;

    use super::*;

    fn failure(status: u16, body: &str) -> Failure {
        let status = StatusCode::from_u16(status).unwrap();
        Failure::of("Threads", status, body.as_bytes(), noon() + TimeDelta::minutes(19))
    }

    fn refused(code: i64, subcode: Option<i64>) -> Failure {
        let error = json!({ "message": "No.", "type": "OAuthException", "code": code, "error_subcode": subcode.unwrap_or(0),
            "fbtrace_id": "AbC_d" });
        failure(400, &json!({ "error": error }).to_string())
    }

    #[test]
    fn each_code_has_its_blame_and_subcodes_say_more() {
        for (code, subcode, expected) in [
            (190, None, Blame::Grant),
            (190, Some(463), Blame::Grant),
            (102, None, Blame::Grant),
            (10, None, Blame::Grant),
            (200, None, Blame::Grant),
            (1, Some(2_853_006), Blame::Grant),
            (25, Some(2_207_050), Blame::Grant),
            (3, None, Blame::Us),
            (4, None, Blame::Limit),
            (80_002, None, Blame::Limit),
            (4, Some(2_207_051), Blame::Blocked),
            (368, None, Blame::Blocked),
            (9, Some(2_207_042), Blame::Quota),
            (1, None, Blame::Passing),
            (2, None, Blame::Passing),
            (-1, Some(2_207_001), Blame::Passing),
            (-2, None, Blame::Passing),
            (506, None, Blame::Duplicate),
            (100, Some(1_366_051), Blame::Duplicate),
            (9_007, Some(2_207_027), Blame::NotReady),
            (24, Some(4_279_009), Blame::Gone),
            (-2, Some(2_207_020), Blame::Gone),
            (9_004, Some(2_207_052), Blame::NotFetched),
            (100, None, Blame::Post),
            (36_003, Some(2_207_009), Blame::Post),
            (352, Some(2_207_026), Blame::Post),
        ] {
            assert_eq!(refused(code, subcode).blame(), Some(expected), "{code} {subcode:?}");
        }
    }

    #[test]
    fn words_for_users_are_preferred_and_meta_finds_the_call_by_its_name() {
        let error =
            json!({ "message": "(#100) Param", "code": 100, "error_user_msg": "Too long.", "fbtrace_id": "A1" });
        let said = failure(400, &json!({ "error": error }).to_string()).into_words();
        assert_eq!(said, "Too long. (Meta finds it by A1)");
        let error = json!({ "message": " ", "code": 7, "fbtrace_id": "a trace with <marks>" });
        assert_eq!(failure(400, &json!({ "error": error }).to_string()).into_words(), "it answered error 7");
    }

    #[test]
    fn what_follows_depends_on_the_call() {
        let busy = |minutes| Setback::Busy {
            retry_at: Some(noon() + TimeDelta::minutes(minutes)),
            reason: "No. (Meta finds it by AbC_d)".to_owned(),
        };
        assert_eq!(refused(4, None).of_the_public_call(noon()), busy(19));
        assert_eq!(refused(368, None).before_the_call(noon()), busy(120));
        for code in [1, 2, 368] {
            let public = refused(code, None).of_the_public_call(noon());
            assert!(matches!(public, Setback::Unknown { may_still_run: true, .. }), "{code}: {public:?}");
        }
        assert!(matches!(refused(2, None).before_the_call(noon()), Setback::Busy { retry_at: None, .. }));
        assert!(matches!(refused(24, Some(2_207_008)).of_the_public_call(noon()), Setback::Stale { .. }));
        assert!(matches!(refused(190, None).of_the_public_call(noon()), Setback::Disconnected { .. }));
        assert!(matches!(refused(100, None).of_the_public_call(noon()), Setback::Refused { .. }));
    }

    #[test]
    fn what_is_no_error_of_the_graph_says_little() {
        let (html, nothing) = ("<html>190</html>", "");
        for (status, body) in [(500, html), (502, nothing), (408, nothing), (504, r#"{"error":"190"}"#)] {
            assert!(matches!(failure(status, body), Failure::Unknown { .. }), "{status}");
        }
        assert!(matches!(failure(403, html), Failure::NotSent { .. }));
        assert_eq!(failure(429, html).blame(), Some(Blame::Limit));
    }

    #[test]
    fn a_success_may_be_none() {
        let read =
            |body: serde_json::Value| Failure::within("Threads", StatusCode::OK, body.to_string().as_bytes(), noon());
        assert!(read(json!({ "id": "7" })).is_none() && read(json!({ "success": true })).is_none());
        assert!(matches!(read(json!({ "success": false })), Some(Failure::Unknown { .. })));
        let error = json!({ "error": { "message": "No.", "code": 190 } });
        assert_eq!(read(error).and_then(|it| it.blame()), Some(Blame::Grant));
    }
}
