//! Calls that did not do what they were to do, and what follows.

use chrono::{DateTime, Utc};
use domain::delivery::{Resolution, Setback};
use http::StatusCode;
use serde_json::Value;

use super::TITLE;
use crate::answer;
use crate::handoff::HandOffRefusal;
use crate::job::MediaUnreadable;
use crate::no_answer::NoAnswer;
use crate::not_now::NotNow;

/// A call that did not do what it was to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// It said no.
    Refused(Refused),
    /// Too many calls; nothing was done.
    Limited {
        /// When it wants to be asked again, if it says so.
        retry_at: Option<DateTime<Utc>>,
        /// X's words.
        why: String,
    },
    /// Nothing was done.
    NotSent { why: String },
    /// It may have been carried out.
    Unknown { may_still_run: bool, why: String },
}

/// An answer that says no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    status: StatusCode,
    /// The last part of the problem's type.
    problem: String,
    /// X's words.
    said: String,
    /// Whether the account was connected with an app of its own.
    has_own_app: bool,
}

/// What a refusal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blame {
    /// The deployment's app: it has no credits, or is not enrolled.
    Us,
    /// The same of an app of the person's own.
    OwnApp,
    /// The token, or the account.
    Grant,
    /// The same words were posted a while ago.
    Duplicate,
    /// Files that are not known any more.
    Upload,
    /// The post.
    Post,
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

impl From<MediaUnreadable> for Failure {
    fn from(error: MediaUnreadable) -> Self {
        Self::NotSent { why: error.to_string() }
    }
}

impl Refused {
    fn blame(&self) -> Blame {
        match self.blame_of_any() {
            Blame::Us if self.has_own_app => Blame::OwnApp,
            blame => blame,
        }
    }

    fn blame_of_any(&self) -> Blame {
        let said = self.said.to_ascii_lowercase();
        let says = |it: &str| said.contains(it);
        match self.status.as_u16() {
            402 => Blame::Us,
            400 if says("media ids are invalid") => Blame::Upload,
            401 => Blame::Grant,
            403 if matches!(
                self.problem.as_str(),
                "client-forbidden" | "client-not-enrolled" | "unsupported-authentication"
            ) =>
            {
                Blame::Us
            }
            403 if says("duplicate content") => Blame::Duplicate,
            403 if self.problem == "user-suspended" || says("suspended") || says("locked") => Blame::Grant,
            _ => Blame::Post,
        }
    }
}

impl Failure {
    /// What an answer says that is no success.
    pub(super) fn of(status: StatusCode, retry_at: Option<DateTime<Utc>>, body: &[u8]) -> Self {
        // A gateway that gave up in front of X says nothing about the call behind it.
        if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT {
            return Self::Unknown { may_still_run: true, why: format!("X failed inside ({status})") };
        }
        if !status.is_client_error() {
            return Self::Unknown { may_still_run: false, why: format!("X answered {status}") };
        }
        let answer: Value = serde_json::from_slice(body).unwrap_or_default();
        let said = said(&answer).map_or_else(|| answer::words_of(status, body), |it| answer::shown(&it));
        if status == StatusCode::TOO_MANY_REQUESTS {
            return Self::Limited { retry_at, why: said };
        }
        let problem = answer["type"].as_str().unwrap_or_default();
        let problem = problem.rsplit('/').next().unwrap_or_default().to_owned();
        Self::Refused(Refused { status, problem, said, has_own_app: false })
    }

    /// The same for an account that was connected with an app of its own.
    pub(super) fn of_own_app(self) -> Self {
        match self {
            Self::Refused(refused) => Self::Refused(Refused { has_own_app: true, ..refused }),
            other => other,
        }
    }

    fn blame(&self) -> Option<Blame> {
        if let Self::Refused(refused) = self { Some(refused.blame()) } else { None }
    }

    /// Whether only the operator can mend it.
    pub(super) fn is_ours(&self) -> bool {
        self.blame() == Some(Blame::Us)
    }

    /// Whether X has such a post already.
    pub(super) fn is_duplicate(&self) -> bool {
        self.blame() == Some(Blame::Duplicate)
    }

    /// Whether what was uploaded, or its id, is not known any more.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused(it) if it.status == StatusCode::NOT_FOUND)
    }

    /// In words for the user.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Refused(refused) => match refused.blame() {
                Blame::Us => {
                    format!("X does not serve this service at the moment; its operator is told ({})", refused.said)
                }
                Blame::OwnApp => {
                    let said = &refused.said;
                    format!("X does not serve your app: {said}; look at its credits and settings at console.x.com")
                }
                Blame::Duplicate => {
                    format!("X does not take the same words twice within a while; change them ({})", refused.said)
                }
                Blame::Grant | Blame::Upload | Blame::Post => refused.said.clone(),
            },
            Self::Limited { why, .. } | Self::NotSent { why } | Self::Unknown { why, .. } => why.clone(),
        }
    }

    /// What follows after a call that makes something public.
    pub(super) fn setback(self) -> Setback {
        let reason = self.words();
        match (self.blame(), self) {
            (Some(Blame::Us | Blame::OwnApp), _) | (_, Self::NotSent { .. }) => {
                Setback::Busy { retry_at: None, reason }
            }
            (Some(Blame::Grant), _) => Setback::Disconnected { reason },
            (Some(Blame::Upload), _) => Setback::Stale { reason },
            (Some(Blame::Duplicate | Blame::Post), _) | (None, Self::Refused(_)) => Setback::Refused { reason },
            (_, Self::Limited { retry_at, .. }) => Setback::Busy { retry_at, reason },
            (_, Self::Unknown { may_still_run, .. }) => Setback::Unknown { may_still_run, reason },
        }
    }

    /// What follows where X has such a post, and one of ours may have arrived before: it is
    /// looked for, and not sent again before that.
    pub(super) fn made_before(&self) -> Setback {
        Setback::Duplicate { reason: self.words() }
    }

    /// The same after a call that makes nothing public, and may be repeated.
    pub(super) fn before_the_call(self) -> Setback {
        match self.setback() {
            Setback::Unknown { reason, .. } => Setback::Busy { retry_at: None, reason },
            setback => setback,
        }
    }

    /// What follows when it could not be asked what became of a call.
    pub(super) fn resolution(self) -> Resolution {
        let reason = self.words();
        if self.blame() == Some(Blame::Grant) {
            Resolution::Disconnected { reason }
        } else {
            Resolution::Unclear { reason }
        }
    }

    /// What follows when an account could not be asked for.
    pub(super) fn of_account(self) -> Setback {
        let reason = self.words();
        if self.blame() == Some(Blame::Grant) {
            Setback::Disconnected { reason }
        } else {
            Setback::Busy { retry_at: None, reason }
        }
    }
}

/// The words of a problem, or of an older error.
fn said(answer: &Value) -> Option<String> {
    let first = &answer["errors"][0];
    let all = [&first["message"], &first["detail"], &answer["detail"], &answer["title"]];
    all.into_iter().find_map(|it| it.as_str()).map(str::to_owned)
}

impl From<Failure> for HandOffRefusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(_) if !failure.is_ours() => Self::Refused(failure.words()),
            _ => Self::Unreachable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blame(status: u16, body: &str) -> Option<Blame> {
        Failure::of(StatusCode::from_u16(status).unwrap(), None, body.as_bytes()).blame()
    }

    #[test]
    fn what_x_says_is_told_apart() {
        let problem = |name: &str| format!(r#"{{"type":"https://api.twitter.com/2/problems/{name}","title":"x"}}"#);
        let detail = |words: &str| format!(r#"{{"title":"Forbidden","type":"about:blank","detail":"{words}"}}"#);
        for (status, body, expected) in [
            (401, detail("Unauthorized"), Blame::Grant),
            (402, r#"{"title":"CreditsDepleted"}"#.to_owned(), Blame::Us),
            (403, problem("client-not-enrolled"), Blame::Us),
            (403, problem("client-forbidden"), Blame::Us),
            (403, detail("You are not allowed to create a Tweet with duplicate content."), Blame::Duplicate),
            (403, detail("Your account is suspended and is not permitted to access this feature."), Blame::Grant),
            (403, detail("This user is not allowed to post a video longer than 2 minutes"), Blame::Post),
            (400, problem("invalid-request"), Blame::Post),
            (400, detail("Your media IDs are invalid."), Blame::Upload),
            (404, "nothing here".to_owned(), Blame::Post),
        ] {
            assert_eq!(blame(status, &body), Some(expected), "{status} {body}");
        }
        assert_eq!(blame(500, "{}"), None);
        assert_eq!(blame(429, r#"{"errors":[{"code":88,"message":"Rate limit exceeded"}]}"#), None);
    }

    #[test]
    fn an_error_of_a_server_says_nothing_of_the_call_behind_it() {
        for status in [408, 500, 502, 503, 504] {
            let failure = Failure::of(StatusCode::from_u16(status).unwrap(), None, b"<html>Bad Gateway</html>");
            let setback = failure.setback();
            assert!(matches!(setback, Setback::Unknown { may_still_run: true, .. }), "{status}: {setback:?}");
        }
    }
}
