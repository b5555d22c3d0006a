//! Calls that did not do what they were to do, and what follows.

use chrono::{DateTime, Utc};
use domain::delivery::{Resolution, Setback};
use reqwest::{Response, StatusCode};
use serde_json::Value;

use crate::answer;
use crate::handoff::HandOffRefusal;
use crate::html::plain;
use crate::no_answer::NoAnswer;

/// A call that did not do what it was to do.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no answer.
    NoAnswer(NoAnswer),
    /// It went well, and what came back cannot be read.
    Unreadable,
    /// An answer other than success.
    Refused(Refused),
}

/// An answer other than success.
#[derive(Debug)]
pub(super) struct Refused {
    status: StatusCode,
    /// What WordPress calls it; `None` where the answer is not its own, but of a server
    /// before it.
    code: Option<String>,
    words: Option<String>,
    retry_at: Option<DateTime<Utc>>,
    term: Option<u64>,
    /// Whether it says that nobody may ask this who is not signed in. Of drafts, that is
    /// an invalid parameter.
    is_for_members: bool,
}

/// Codes of application passwords that are switched off. The codes of a wrong one
/// come with 401.
const SWITCHED_OFF: &[&str] = &["application_passwords_disabled", "application_passwords_disabled_for_user"];

/// What a code means, in words for the user, where WordPress's own do not say what to
/// do.
const WORDS: &[(&str, &str)] = &[
    ("rest_cannot_publish", "the account may not publish: ask for the role of an author"),
    ("rest_no_route", "its REST API is closed: look which plugin has done that"),
    ("rest_upload_no_data", "the file is larger than the site takes"),
    (
        "rest_not_logged_in",
        "the application password is not valid any more, or its host hides it: connect the site again",
    ),
];

impl<T: Into<NoAnswer>> From<T> for Failure {
    fn from(no_answer: T) -> Self {
        Self::NoAnswer(no_answer.into())
    }
}

impl Failure {
    /// Reads an answer other than success.
    pub(super) async fn read(response: Response, now: DateTime<Utc>) -> Self {
        let (status, retry_at) = (response.status(), answer::retry_at(response.headers(), now));
        let body: Value = answer::json(response).await.unwrap_or_default();
        let code = body["code"].as_str().map(str::to_owned);
        let words = body["message"].as_str().filter(|_| code.is_some());
        let words = words.map(|it| answer::shown(&plain(&without_tags(it)))).filter(|it| !it.is_empty());
        let (why, of_status) = (&body["data"]["params"]["status"], &body["data"]["details"]["status"]);
        let is_of_drafts = code.as_deref() == Some("rest_invalid_param") && why.is_string();
        // Older versions do not say for whom it would be valid.
        let is_for_members = is_of_drafts && of_status["data"]["status"].as_u64().is_none_or(|it| it == 401);
        let term = body["data"]["term_id"].as_u64();
        Self::Refused(Refused { status, code, words, retry_at, term, is_for_members })
    }

    /// In words for the user.
    pub(super) fn words(&self) -> String {
        match self {
            Self::NoAnswer(no_answer) => no_answer.words("the site"),
            Self::Unreadable => "the site's answer was not in the expected form".to_owned(),
            Self::Refused(refused) => refused.words(),
        }
    }

    /// What the site itself says.
    pub(super) fn said(&self) -> String {
        match self {
            Self::Refused(Refused { words: Some(said), .. }) => said.clone(),
            other => other.words(),
        }
    }

    /// Whether what was named is not there, by WordPress's own word.
    pub(super) fn is_of_no_post(&self) -> bool {
        matches!(self, Self::Refused(it) if it.code.as_deref() == Some("rest_post_invalid_id"))
    }

    /// Whether there is no such application password.
    pub(super) fn is_of_no_password(&self) -> bool {
        matches!(self, Self::Refused(it) if it.code.as_deref() == Some("rest_application_password_not_found"))
    }

    /// The term that has the name already which another was to get.
    pub(super) fn existing_term(&self) -> Option<u64> {
        match self {
            Self::Refused(it) if it.code.as_deref() == Some("term_exists") => it.term,
            _ => None,
        }
    }

    /// Whether it says that the account may not do this.
    pub(super) fn is_of_the_role(&self) -> bool {
        matches!(self, Self::Refused(it) if it.code.is_some() && it.status == StatusCode::FORBIDDEN)
    }

    /// Whether the site does not know who asks.
    pub(super) fn is_lost_grant(&self) -> bool {
        matches!(self, Self::Refused(it) if it.is_lost_grant())
    }

    /// What follows for a delivery after a call that changes something.
    pub(super) fn setback(self) -> Setback {
        let reason = self.words();
        match self {
            Self::NoAnswer(it) if it.is_unsent() => Setback::Busy { retry_at: None, reason },
            Self::NoAnswer(_) | Self::Unreadable => Setback::Unknown { may_still_run: true, reason },
            it if it.is_of_no_post() => Setback::Stale { reason },
            Self::Refused(refused) => refused.setback(reason),
        }
    }

    /// The same of a call after which nothing is public, and that may be repeated.
    pub(super) fn before_the_call(self) -> Setback {
        match self.setback() {
            Setback::Unknown { reason, .. } => Setback::Busy { retry_at: None, reason },
            setback => setback,
        }
    }

    /// What it tells about a call whose answer was lost: nothing.
    pub(super) fn resolution(self) -> Resolution {
        let reason = self.words();
        if self.is_lost_grant() { Resolution::Disconnected { reason } } else { Resolution::Unclear { reason } }
    }
}

impl From<Failure> for HandOffRefusal {
    fn from(failure: Failure) -> Self {
        let words = failure.words();
        match failure.setback() {
            Setback::Refused { .. } | Setback::Disconnected { .. } | Setback::Stale { .. } => Self::Refused(words),
            Setback::Busy { .. } | Setback::Unknown { .. } => Self::Unreachable,
        }
    }
}

impl Refused {
    fn words(&self) -> String {
        let known = self.code.as_deref().and_then(|code| WORDS.iter().find(|(it, _)| *it == code));
        let said = self.words.clone();
        match (known, self.status) {
            (Some((_, words)), _) => said.map_or_else(|| (*words).to_owned(), |said| format!("{said} ({words})")),
            (None, StatusCode::PAYLOAD_TOO_LARGE) => "the file is larger than the site's server takes".to_owned(),
            (None, status) => said.unwrap_or_else(|| format!("the site answered {status}")),
        }
    }

    fn is_lost_grant(&self) -> bool {
        let is_off = self.code.as_deref().is_some_and(|it| SWITCHED_OFF.contains(&it));
        is_off || self.is_for_members || (self.status == StatusCode::UNAUTHORIZED && self.code.is_some())
    }

    fn setback(self, reason: String) -> Setback {
        let code = self.code.as_deref();
        // Of files, WordPress says with 500 what it will say again.
        let is_of_a_file = code.is_some_and(|it| it.starts_with("rest_upload_"));
        if self.is_lost_grant() {
            return Setback::Disconnected { reason };
        }
        if self.status.is_server_error() && !is_of_a_file {
            // With a code, the program has ended that worked on it.
            return Setback::Unknown { may_still_run: code.is_none(), reason };
        }
        let is_passing = self.status == StatusCode::TOO_MANY_REQUESTS;
        // What a server before it refuses, it may pass on later, but for size.
        let is_its_own = code.is_some() || self.status == StatusCode::PAYLOAD_TOO_LARGE;
        if is_its_own && !is_passing {
            return Setback::Refused { reason };
        }
        Setback::Busy { retry_at: self.retry_at, reason }
    }
}

/// Words without the tags of HTML among them.
fn without_tags(words: &str) -> String {
    let mut depth = 0_usize;
    let is_shown = |it: &char| {
        match it {
            '<' => depth += 1,
            '>' if 0 < depth => {
                depth -= 1;
                return false;
            }
            _ => {}
        }
        depth == 0
    };
    words.chars().filter(is_shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, code: &str) -> Refused {
        let code = Some(code.to_owned()).filter(|it| !it.is_empty());
        let status = StatusCode::from_u16(status).unwrap();
        Refused { status, code, words: None, retry_at: None, term: None, is_for_members: false }
    }

    #[test]
    fn an_answer_says_what_follows() {
        for (status, code, outcome) in [
            (401, "rest_not_logged_in", "Disconnected"),
            (401, "rest_cannot_create", "Disconnected"),
            (501, "application_passwords_disabled", "Disconnected"),
            // Of a server before it, which wants a password of its own.
            (401, "", "Busy"),
            (403, "", "Busy"),
            (404, "", "Busy"),
            (302, "", "Busy"),
            (429, "", "Busy"),
            (429, "too_many", "Busy"),
            (403, "rest_cannot_publish", "Refused"),
            (404, "rest_no_route", "Refused"),
            (404, "rest_post_invalid_id", "Stale"),
            (400, "rest_invalid_param", "Refused"),
            (500, "rest_upload_unknown_error", "Refused"),
            (413, "", "Refused"),
            (500, "internal_server_error", "Unknown { may_still_run: false"),
            (500, "", "Unknown { may_still_run: true"),
            (502, "", "Unknown { may_still_run: true"),
            (503, "", "Unknown { may_still_run: true"),
        ] {
            let said = format!("{:?}", Failure::Refused(refused(status, code)).setback());
            assert!(said.starts_with(outcome), "{status} {code}: {said}");
        }
        assert!(matches!(Failure::from(NoAnswer::Late).before_the_call(), Setback::Busy { .. }));
        assert!(matches!(Failure::from(NoAnswer::NotReached).setback(), Setback::Busy { .. }));
    }

    #[test]
    fn the_user_reads_words_and_no_tags() {
        assert_eq!(
            without_tags("<p>There has been a <a href='x'>critical</a> error.</p>"),
            "There has been a critical error."
        );
        let words = Failure::Refused(refused(404, "rest_no_route")).words();
        assert_eq!(words, "its REST API is closed: look which plugin has done that");
    }
}
