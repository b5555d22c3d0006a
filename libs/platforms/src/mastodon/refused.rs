//! What it means when a server does not do what it was asked.

use chrono::{DateTime, Utc};
use domain::delivery::Setback;
use http::StatusCode;
use reqwest::Response;
use serde_json::Value;

use super::rate_limit;
use crate::answer;
use crate::handoff::HandOffRefusal;
use crate::no_answer::NoAnswer;

/// The statuses of requests that may be taken later.
const PASSING: [StatusCode; 4] = [
    StatusCode::REQUEST_TIMEOUT,
    StatusCode::MISDIRECTED_REQUEST,
    StatusCode::TOO_EARLY,
    StatusCode::TOO_MANY_REQUESTS,
];

/// Whom people read of.
pub(super) const WHO: &str = "the server";

/// Why a call brought nothing.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no answer.
    NoAnswer(NoAnswer),
    /// The server answered with something else than success.
    Refused(Refused),
    /// It went well, and what came back cannot be read.
    Unreadable,
}

/// An answer other than success.
#[derive(Debug)]
pub(super) struct Refused {
    status: StatusCode,
    /// The `error` of the API; `None` where the body is a page for people.
    error: Option<String>,
    /// The most readable words of the API.
    words: Option<String>,
    retry_at: Option<DateTime<Utc>>,
}

impl From<NoAnswer> for Failure {
    fn from(no_answer: NoAnswer) -> Self {
        Self::NoAnswer(no_answer)
    }
}

impl Failure {
    /// For the user.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::NoAnswer(no_answer) => no_answer.words(WHO),
            Self::Refused(refused) => refused.reason(),
            Self::Unreadable => "the server's answer was not in the expected form".to_owned(),
        }
    }

    /// Whether the grant is gone.
    pub(super) fn is_lost_grant(&self) -> bool {
        matches!(self, Self::Refused(refused) if refused.is_lost_grant() && !refused.is_beyond_the_scopes())
    }

    /// Whether the same question may be answered a little later.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::NoAnswer(NoAnswer::Forbidden(_)) | Self::Unreadable => false,
            Self::NoAnswer(_) => true,
            Self::Refused(refused) => refused.status.is_server_error() || PASSING.contains(&refused.status),
        }
    }

    /// What follows for a delivery from a call that would have changed something.
    pub(super) fn setback(self) -> Setback {
        let reason = self.reason();
        match self {
            Self::NoAnswer(it) if it.is_unsent() => Setback::Busy { retry_at: None, reason },
            Self::NoAnswer(_) | Self::Unreadable => Setback::Unknown { may_still_run: true, reason },
            Self::Refused(refused) => refused.setback(),
        }
    }
}

/// What follows for a hand-off: the person reads a reason that will not change,
/// and is told to try again where the failure may pass.
impl From<Failure> for HandOffRefusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refused) if refused.is_about_the_request() => Self::Refused(refused.reason()),
            _ => Self::Unreachable,
        }
    }
}

impl From<NoAnswer> for HandOffRefusal {
    fn from(_: NoAnswer) -> Self {
        Self::Unreachable
    }
}

impl Refused {
    /// Reads the answer.
    pub(super) async fn read(response: Response, now: DateTime<Utc>) -> Self {
        let status = response.status();
        let retry_at = rate_limit::ends_at(response.headers(), now);
        let body: Option<Value> = answer::json(response).await.ok();
        let field = |name: &str| body.as_ref()?.get(name)?.as_str().map(answer::shown).filter(|it| !it.is_empty());
        let error = field("error").or_else(|| field("message"));
        let words = field("error_description").or_else(|| error.clone());
        Self { status, error, words, retry_at }
    }

    /// As if the server had said that there is no such call.
    pub(super) fn not_there() -> Self {
        Self { status: StatusCode::NOT_FOUND, error: None, words: None, retry_at: None }
    }

    /// For the user. Pages for people are not quoted.
    pub(super) fn reason(&self) -> String {
        self.words.clone().unwrap_or_else(|| format!("it answered {}", self.status))
    }

    /// Whether the server does not know our app, or its secret.
    pub(super) fn is_of_our_app(&self) -> bool {
        self.error.as_deref() == Some("invalid_client")
    }

    /// Whether the refusal of a call for tokens may mean that the server does not
    /// know our app any more: it does not say that the code is at fault.
    pub(super) fn may_be_of_our_app(&self) -> bool {
        matches!(self.status, StatusCode::UNAUTHORIZED | StatusCode::BAD_REQUEST) && !self.is_of_the_grant()
    }

    /// Whether a code or refresh token is of no use.
    pub(super) fn is_of_the_grant(&self) -> bool {
        self.error.as_deref() == Some("invalid_grant")
    }

    /// Whether it says that the app or the token of a call is of no use, but not
    /// which of the two (Pleroma and Akkoma).
    pub(super) fn is_of_some_credentials(&self) -> bool {
        self.status == StatusCode::BAD_REQUEST && self.error.as_deref() == Some("Invalid credentials")
    }

    /// Whether a refresh token is of no use, in the words of Laravel Passport
    /// (Pixelfed), whose `league/oauth2-server` said `invalid_request` before
    /// its version 9.
    pub(super) fn is_of_a_refresh_token(&self) -> bool {
        self.status == StatusCode::UNAUTHORIZED && self.error.as_deref() == Some("invalid_request")
    }

    /// Whether the server has no such call.
    pub(super) fn has_no_such_call(&self) -> bool {
        matches!(self.status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED)
    }

    /// Whether something that was named is not there.
    pub(super) fn is_not_found(&self) -> bool {
        self.status == StatusCode::NOT_FOUND && self.error.is_some()
    }

    /// Whether the server failed to make something of a file ("Error processing
    /// thumbnail for uploaded media"), which may go well the second time. It is
    /// said at once with 500, and of what is worked on afterwards with 422.
    pub(super) fn failed_on_a_file(&self) -> bool {
        let of_file = self.error.as_ref().is_some_and(|it| it.contains("processing thumbnail"));
        [StatusCode::INTERNAL_SERVER_ERROR, StatusCode::UNPROCESSABLE_ENTITY].contains(&self.status) && of_file
    }

    /// Whether the grant is gone, too narrow, or its owner may not sign in.
    pub(super) fn is_lost_grant(&self) -> bool {
        self.status == StatusCode::UNAUTHORIZED
            || self.is_forbidden(&["scope", "permission", "login", "suspended", "disabled"])
    }

    /// Whether the grant stands, and does not cover this call ("This action is
    /// outside the authorized scopes").
    pub(super) fn is_beyond_the_scopes(&self) -> bool {
        self.is_forbidden(&["scope", "insufficient permissions"])
    }

    fn is_forbidden(&self, signs: &[&str]) -> bool {
        let error = self.error.as_ref().map(|it| it.to_ascii_lowercase());
        let says = |sign: &&str| error.as_ref().is_some_and(|it| it.contains(sign));
        self.status == StatusCode::FORBIDDEN && signs.iter().any(says)
    }

    /// Whether the server itself has refused the content of the request, for good.
    pub(super) fn is_final(&self) -> bool {
        let by_front = matches!(self.status, StatusCode::FORBIDDEN | StatusCode::NOT_FOUND) && self.error.is_none();
        self.is_about_the_request() && !by_front && !self.is_lost_grant()
    }

    /// Whether it would be the same if it were asked again.
    fn is_about_the_request(&self) -> bool {
        self.status.is_client_error() && !PASSING.contains(&self.status)
    }

    fn setback(self) -> Setback {
        let reason = self.reason();
        if self.is_lost_grant() {
            return Setback::Disconnected { reason };
        }
        if self.is_final() {
            return Setback::Refused { reason };
        }
        if self.status.is_server_error() || self.status == StatusCode::REQUEST_TIMEOUT {
            // A 500 comes from the server itself, which has then stopped working on
            // the request; so does a 503 in the API's form. With any other status,
            // and with a page for people, a proxy may have given up on a server that
            // still works on it.
            let by_itself = self.status == StatusCode::INTERNAL_SERVER_ERROR
                || (self.status == StatusCode::SERVICE_UNAVAILABLE && self.error.is_some());
            return Setback::Unknown { may_still_run: !by_itself, reason };
        }
        // Too many requests, a redirect, a page of a firewall: none of them comes
        // from the API itself, so nothing was done.
        Setback::Busy { retry_at: self.retry_at, reason }
    }
}

#[cfg(test)]
mod tests {
    use outbound::Refusal;

    use super::*;

    fn refused(status: u16, error: &str) -> Refused {
        let error = Some(error.to_owned()).filter(|it| !it.is_empty());
        Refused { status: StatusCode::from_u16(status).unwrap(), words: error.clone(), error, retry_at: None }
    }

    fn kind(setback: &Setback) -> &'static str {
        match setback {
            Setback::Refused { .. } => "refused",
            Setback::Busy { .. } => "busy",
            Setback::Disconnected { .. } => "disconnected",
            Setback::Stale { .. } => "stale",
            Setback::Duplicate { .. } => "duplicate",
            Setback::Unknown { may_still_run: true, .. } => "unknown, may still run",
            Setback::Unknown { may_still_run: false, .. } => "unknown",
        }
    }

    #[test]
    fn every_answer_has_its_consequence() {
        for (status, error, consequence) in [
            (401, "The access token was revoked", "disconnected"),
            (401, "", "disconnected"),
            (403, "This action is outside the authorized scopes", "disconnected"),
            (403, "Your login is currently disabled", "disconnected"),
            (403, "Insufficient permissions: write:statuses.", "disconnected"),
            (403, "This action is not allowed", "refused"),
            (403, "", "busy"),
            (404, "Record not found", "refused"),
            (404, "", "busy"),
            (400, "Error occurred while parsing request parameters", "refused"),
            (413, "", "refused"),
            (422, "Validation failed: Text character limit of 500 exceeded", "refused"),
            (422, "", "refused"),
            (301, "", "busy"),
            (408, "", "unknown, may still run"),
            (429, "Too many requests", "busy"),
            (500, "Internal Server Error", "unknown"),
            (502, "", "unknown, may still run"),
            (503, "There was a temporary problem serving your request, please try again", "unknown"),
            (503, "", "unknown, may still run"),
            (504, "", "unknown, may still run"),
            (524, "", "unknown, may still run"),
        ] {
            assert_eq!(kind(&refused(status, error).setback()), consequence, "{status} {error}");
        }
    }

    #[test]
    fn only_words_about_scopes_say_that_the_grant_does_not_cover_a_call() {
        for (status, error, is_beyond) in [
            (403, "This action is outside the authorized scopes", true),
            (403, "Insufficient permissions: read:statuses.", true),
            (403, "Your login is currently disabled", false),
            (403, "This action is not allowed", false),
            (403, "", false),
            (401, "This action is outside the authorized scopes", false),
        ] {
            assert_eq!(refused(status, error).is_beyond_the_scopes(), is_beyond, "{status} {error}");
        }
    }

    #[test]
    fn a_call_that_was_never_made_did_nothing() {
        assert_eq!(kind(&Failure::from(NoAnswer::NotReached).setback()), "busy");
        assert_eq!(kind(&Failure::from(NoAnswer::from(Refusal::NotPublic)).setback()), "busy");
        assert_eq!(kind(&Failure::from(NoAnswer::Late).setback()), "unknown, may still run");
        assert_eq!(kind(&Failure::from(NoAnswer::CutOff).setback()), "unknown, may still run");
        assert_eq!(kind(&Failure::Unreadable.setback()), "unknown, may still run");
    }

    #[test]
    fn a_page_for_people_is_not_quoted() {
        assert_eq!(refused(502, "").reason(), "it answered 502 Bad Gateway");
    }
}
