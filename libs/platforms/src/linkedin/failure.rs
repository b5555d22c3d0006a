//! Calls that did not do what they were to do, and what follows.

use chrono::{DateTime, Days, NaiveTime, TimeDelta, Utc};
use domain::delivery::{Resolution, Setback};
use http::StatusCode;
use serde_json::Value;

use super::TITLE;
use super::is_page;
use crate::answer;
use crate::handoff::HandOffRefusal;
use crate::job::{Job, MediaUnreadable};
use crate::no_answer::NoAnswer;
use crate::not_now::NotNow;

/// How long after a post was due a used-up quota is tried again soon. Later it is
/// waited for: quotas are those of a day, and begin anew at midnight UTC.
const SOON: TimeDelta = TimeDelta::seconds(15);

/// How long after a post was due a file is waited for that seems not to have arrived.
const PATIENCE: TimeDelta = TimeDelta::minutes(2);

/// How long until it is asked again.
const WORKED_ON: TimeDelta = TimeDelta::seconds(5);

/// A call that did not do what it was to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// It said no.
    Refused(Refused),
    /// Too many calls; nothing was done.
    Limited {
        /// When it wants to be asked again, if it says so.
        retry_at: Option<DateTime<Utc>>,
        /// Whether that is a quota of a day.
        of_the_day: bool,
    },
    /// Nothing was done.
    NotSent { why: String },
    /// The address of an upload is of no use any more; nothing was done.
    Forgotten { why: String },
    /// It may have been carried out, or still be: behind an answer, too, such as that of a
    /// gateway that waited in vain.
    Unknown { why: String },
}

/// An answer that says no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    status: StatusCode,
    codes: Vec<String>,
    /// LinkedIn's.
    message: String,
}

/// What a refusal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blame {
    /// The version that we ask for.
    Us,
    /// The token.
    Grant,
    /// What the token covers, or what its member may do for a page.
    Permission,
    /// A file that is worked on.
    NotReady,
    /// A file that has not arrived, or so it seems.
    NotArrived,
    /// An upload that is not known any more.
    Upload,
    /// Somebody else changed the same thing.
    Conflict,
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
        if no_answer.is_unsent() { Self::NotSent { why } } else { Self::Unknown { why } }
    }
}

impl From<MediaUnreadable> for Failure {
    fn from(error: MediaUnreadable) -> Self {
        Self::NotSent { why: error.to_string() }
    }
}

impl Refused {
    fn blame(&self) -> Blame {
        let says = |code: &str| self.codes.iter().any(|it| it == code);
        let names = |part: &str| self.codes.iter().any(|it| it.contains(part)) || self.message.contains(part);
        match self.status.as_u16() {
            // An author that is not the token's is our mistake, and stays so.
            403 if self.message.contains("[/author]") => Blame::Post,
            401 => Blame::Grant,
            403 => Blame::Permission,
            409 => Blame::Conflict,
            400 | 426 if self.status == StatusCode::UPGRADE_REQUIRED || says("VERSION_MISSING") => Blame::Us,
            400 if says("EXPIRED_UPLOAD_URL") => Blame::Upload,
            400 if names("PROCESSING_FAILED") => Blame::Post,
            400 if names("WAITING_UPLOAD") => Blame::NotArrived,
            400 if names("MEDIA_ASSET_PROCESSING") => Blame::NotReady,
            _ => Blame::Post,
        }
    }

    /// The post of which this one is a duplicate, if it is refused for that.
    fn duplicate_of(&self) -> Option<&str> {
        let of_post = |it: &&str| {
            let id = it.strip_prefix("urn:li:share:").or_else(|| it.strip_prefix("urn:li:ugcPost:"));
            id.is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
        };
        let is_duplicate = self.codes.iter().any(|it| it == "DUPLICATE_POST") || self.message.contains("duplicate of");
        let mut words = self.message.split(|it: char| it.is_whitespace() || matches!(it, ',' | '"' | '\'' | '.' | ')'));
        words.find(of_post).filter(|_| is_duplicate && self.status == StatusCode::UNPROCESSABLE_ENTITY)
    }
}

impl Failure {
    /// What an answer says that is no success.
    pub(super) fn of(status: StatusCode, retry_at: Option<DateTime<Utc>>, body: &[u8]) -> Self {
        if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT {
            return Self::Unknown { why: format!("LinkedIn failed inside ({status})") };
        }
        if !status.is_client_error() {
            return Self::Unknown { why: format!("LinkedIn answered {status}") };
        }
        let answer: Value = serde_json::from_slice(body).unwrap_or_default();
        let message = answer::words_of(status, body);
        if status == StatusCode::TOO_MANY_REQUESTS {
            return Self::Limited { retry_at, of_the_day: message.contains("DAY limit") };
        }
        let details = answer["errorDetails"]["inputErrors"].as_array().into_iter().flatten();
        let codes = [&answer["code"]].into_iter().chain(details.map(|it| &it["code"]));
        let codes = codes.filter_map(|it| it.as_str().map(str::to_owned)).collect();
        Self::Refused(Refused { status, codes, message })
    }

    /// The same of an address that LinkedIn gave for an upload: that it does not let us in
    /// says nothing of the token.
    #[must_use]
    pub(super) fn of_an_address(self) -> Self {
        match self {
            Self::Refused(it) if matches!(it.status.as_u16(), 401 | 403 | 404 | 410) => {
                Self::Forgotten { why: it.message }
            }
            other => other,
        }
    }

    /// Whether LinkedIn does not take the version that we ask for.
    pub(super) fn is_of_our_version(&self) -> bool {
        matches!(self, Self::Refused(it) if it.blame() == Blame::Us)
    }

    /// Whether there is nothing under that name.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused(it) if it.status == StatusCode::NOT_FOUND)
    }

    /// Whether the grant does not cover it, while it stands.
    pub(super) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused(it) if it.status == StatusCode::FORBIDDEN)
    }

    /// The post of which this one is a duplicate, if it is refused for that.
    pub(super) fn duplicate_of(&self) -> Option<&str> {
        if let Self::Refused(refused) = self { refused.duplicate_of() } else { None }
    }

    /// In words for the user.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Refused(refused) => {
                let said = &refused.message;
                match refused.blame() {
                    Blame::Us => {
                        "LinkedIn wants this service to be updated by its operator; it is tried again".to_owned()
                    }
                    Blame::Post if refused.duplicate_of().is_some() => {
                        format!("LinkedIn does not take the same post twice within a while; change it ({said})")
                    }
                    Blame::Permission => format!(
                        "LinkedIn does not permit it: of a page, ask an administrator for a role that may post; \
                         then connect the account again ({said})"
                    ),
                    _ => said.clone(),
                }
            }
            Self::Limited { of_the_day: true, .. } => {
                "LinkedIn takes no more today; its day ends at 00:00 UTC".to_owned()
            }
            Self::Limited { .. } => "LinkedIn takes no more for now".to_owned(),
            Self::NotSent { why } | Self::Forgotten { why } | Self::Unknown { why } => why.clone(),
        }
    }

    /// What follows after a call that makes something public.
    pub(super) fn setback(self, job: &Job<'_>) -> Setback {
        let reason = self.words();
        match self {
            Self::Limited { retry_at: None, of_the_day: true } if job.publish_at + SOON <= job.now => {
                Setback::Busy { retry_at: Some(midnight_after(job.now)), reason }
            }
            Self::Limited { retry_at, .. } => Setback::Busy { retry_at, reason },
            Self::NotSent { .. } => Setback::Busy { retry_at: None, reason },
            Self::Forgotten { .. } => Setback::Stale { reason },
            Self::Unknown { .. } => Setback::Unknown { may_still_run: true, reason },
            Self::Refused(refused) => match refused.blame() {
                Blame::Us | Blame::Conflict => Setback::Busy { retry_at: None, reason },
                Blame::NotArrived if job.publish_at + PATIENCE <= job.now => Setback::Stale { reason },
                Blame::NotReady | Blame::NotArrived => Setback::Busy { retry_at: Some(job.now + WORKED_ON), reason },
                // A role that was taken away says nothing of the token, which serves the
                // member and other pages as well.
                Blame::Permission if is_page(job.profile) => Setback::Refused { reason },
                Blame::Grant | Blame::Permission => Setback::Disconnected { reason },
                Blame::Upload => Setback::Stale { reason },
                Blame::Post => Setback::Refused { reason },
            },
        }
    }

    /// The same after a call that makes nothing public, and may be repeated.
    pub(super) fn before_the_call(self, job: &Job<'_>) -> Setback {
        match self.setback(job) {
            Setback::Unknown { reason, .. } => Setback::Busy { retry_at: None, reason },
            setback => setback,
        }
    }

    /// What follows after a call for what comes after a publication. A post that is not
    /// found is not known everywhere yet; that comments are not permitted says nothing
    /// of posts.
    pub(super) fn of_follow_up(self, job: &Job<'_>) -> Setback {
        if self.is_not_found() {
            return Setback::Busy { retry_at: None, reason: self.words() };
        }
        if self.is_forbidden() {
            return Setback::Refused { reason: self.words() };
        }
        self.setback(job)
    }

    /// What follows of a question about the account.
    pub(super) fn of_account(self) -> Setback {
        let reason = self.words();
        match self {
            Self::Refused(refused) if refused.blame() == Blame::Grant => Setback::Disconnected { reason },
            Self::Limited { retry_at, .. } => Setback::Busy { retry_at, reason },
            _ => Setback::Busy { retry_at: None, reason },
        }
    }

    /// What it tells about a call whose answer was lost: nothing.
    pub(super) fn resolution(self) -> Resolution {
        match self.of_account() {
            Setback::Disconnected { reason } => Resolution::Disconnected { reason },
            other => Resolution::Unclear { reason: other.into_reason() },
        }
    }
}

impl From<Failure> for HandOffRefusal {
    fn from(failure: Failure) -> Self {
        match &failure {
            Failure::Refused(refused) if refused.blame() != Blame::Us => Self::Refused(failure.words()),
            _ => Self::Unreachable,
        }
    }
}

/// When the next day of LinkedIn's begins.
fn midnight_after(now: DateTime<Utc>) -> DateTime<Utc> {
    (now.date_naive() + Days::new(1)).and_time(NaiveTime::MIN).and_utc()
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;
    use serde_json::json;

    use super::*;

    fn of(status: u16, body: &Value) -> Failure {
        Failure::of(StatusCode::from_u16(status).unwrap(), None, body.to_string().as_bytes())
    }

    fn coded(status: u16, code: &str, message: &str) -> Failure {
        of(status, &json!({"status": status, "code": code, "message": message}))
    }

    #[test]
    fn an_answer_says_what_follows() {
        let is = |failure: Failure, blame: Blame| {
            let Failure::Refused(refused) = &failure else { panic!("{failure:?}") };
            assert_eq!(refused.blame(), blame, "{refused:?}");
        };
        is(coded(401, "REVOKED_ACCESS_TOKEN", ""), Blame::Grant);
        is(coded(403, "ACCESS_DENIED", "Not enough permissions to access: posts.CREATE"), Blame::Permission);
        is(coded(403, "ACCESS_DENIED", "Field Value validation failed in REQUEST_BODY: [/author]"), Blame::Post);
        is(coded(426, "NONEXISTENT_VERSION", ""), Blame::Us);
        is(coded(400, "VERSION_MISSING", ""), Blame::Us);
        is(coded(400, "MEDIA_ASSET_WAITING_UPLOAD", ""), Blame::NotArrived);
        is(coded(400, "MEDIA_ASSET_PROCESSING", ""), Blame::NotReady);
        is(coded(400, "MEDIA_ASSET_PROCESSING_FAILED", ""), Blame::Post);
        is(coded(400, "EXPIRED_UPLOAD_URL", ""), Blame::Upload);
        is(coded(400, "MISSING_FIELD", ""), Blame::Post);
        is(coded(404, "NOT_FOUND", ""), Blame::Post);
        is(coded(409, "CONFLICT", ""), Blame::Conflict);
        assert!(matches!(coded(503, "", ""), Failure::Unknown { .. }));
        assert!(matches!(coded(302, "", ""), Failure::Unknown { .. }));
    }

    #[test]
    fn a_duplicate_names_the_post_that_is_there() {
        let details = json!({"inputErrors": [{"code": "DUPLICATE_POST"}]});
        let message = "Content is a duplicate of urn:li:share:7431329065766260736";
        let failure = of(422, &json!({"message": message, "errorDetails": details}));

        assert_eq!(failure.duplicate_of(), Some("urn:li:share:7431329065766260736"));
        assert!(failure.words().starts_with("LinkedIn does not take the same post twice"));
        for other in [
            coded(422, "DUPLICATE_POST", "urn:li:share:x"),
            coded(422, "", "no urn:li:share:1"),
            coded(400, "", message),
        ] {
            assert_eq!(other.duplicate_of(), None, "{other:?}");
        }
    }

    #[test]
    fn a_quota_of_a_day_begins_anew_at_midnight() {
        let message = "Resource level throttle MEMBER DAY limit for calls to this resource is reached.";
        assert!(matches!(coded(429, "TOO_MANY_REQUESTS", message), Failure::Limited { of_the_day: true, .. }));
        assert!(matches!(coded(429, "TOO_MANY_REQUESTS", "slow down"), Failure::Limited { of_the_day: false, .. }));
        assert_eq!(midnight_after(noon()), noon() + TimeDelta::hours(12));
    }
}
