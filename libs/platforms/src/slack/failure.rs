//! Calls that did not do what they were to do, and what follows.

use chrono::{DateTime, Utc};
use domain::delivery::{Resolution, Setback};

use super::TITLE;
use crate::handoff::HandOffRefusal;
use crate::no_answer::NoAnswer;
use crate::not_now::NotNow;

/// A call that did not do what it was to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// It said no, by this code.
    Refused { code: String },
    /// Too many calls; nothing was done.
    Limited { retry_at: Option<DateTime<Utc>> },
    /// Nothing was done.
    NotSent { why: String },
    /// It may have been carried out.
    Unknown { why: String },
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

/// Codes of errors that may pass. Of a call that changes something, "it's possible
/// some aspect of the operation succeeded".
const INSIDE: &[&str] =
    &["internal_error", "fatal_error", "service_unavailable", "request_timeout", "file_update_failed", "unknown_error"];

/// Codes of calls that were not carried out, and may be later: limits, and workspaces
/// that are moved into an organization.
const LATER: &[&str] =
    &["ratelimited", "rate_limited", "message_limit_exceeded", "org_login_required", "team_added_to_org"];

/// Both, for calls for tokens.
pub(super) const PASSING: &[&str] = &[
    "internal_error",
    "fatal_error",
    "service_unavailable",
    "request_timeout",
    "ratelimited",
    "org_login_required",
    "team_added_to_org",
];

/// Codes of a grant that is gone, or does not cover what is asked.
const LOST: &[&str] = &[
    "invalid_auth",
    "not_authed",
    "token_revoked",
    "token_expired",
    "account_inactive",
    "missing_scope",
    "team_access_not_granted",
    "not_allowed_token_type",
];

/// An upload that Slack does not know any more.
const NO_SUCH_FILE: &str = "file_not_found";

/// What a code means, in words for the user.
const WORDS: &[(&str, &str)] = &[
    ("not_in_channel", "the app is not in the channel: invite it there with /invite, then post again"),
    (
        "channel_not_found",
        "there is no such channel, or it is private and the app is not in it: invite the app there with /invite, \
         or choose another channel",
    ),
    ("no_permission", "the app may not post there: invite it to the channel with /invite, then post again"),
    ("is_archived", "the channel is archived: choose another one"),
    ("msg_too_long", "the text is too long: make it shorter"),
    ("restricted_action", "the workspace does not let the app post: ask an administrator to permit it"),
    (
        "restricted_action_read_only_channel",
        "the channel is read-only: ask an administrator to let the app post there, or choose another channel",
    ),
    ("restricted_action_thread_only_channel", "the channel takes replies only: choose another one"),
    ("posting_to_channel_denied", "the app may not post in the channel: ask an administrator to permit it"),
    ("ekm_access_denied", "the workspace's administrators have suspended posting"),
    ("file_type_not_allowed", "the workspace does not take files of this type"),
    ("file_uploads_disabled", "the workspace takes no files"),
    ("file_uploads_except_images_disabled", "the workspace takes no files but pictures"),
    ("file_upload_size_restricted", "the file is larger than the workspace takes"),
    ("storage_limit_reached", "the workspace has no room for files left: remove some, or pay Slack for more"),
    ("alt_txt_too_large", "the alternative text has more than 1,000 characters"),
    ("missing_scope", "the app was granted less than it needs: connect the workspace again"),
    ("account_inactive", "the app was removed from the workspace, or its bot was: connect the workspace again"),
    ("token_revoked", "the app was removed from the workspace: connect the workspace again"),
    ("message_limit_exceeded", "the workspace has used up the messages that it can send for now"),
    ("org_login_required", "the workspace is being moved into an organization"),
    ("team_added_to_org", "the workspace is being moved into an organization"),
];

impl Failure {
    /// In words for the user. What Slack says besides a code is for developers, and may
    /// repeat what it was told.
    fn words(&self) -> String {
        match self {
            Self::Refused { code } => {
                let known = WORDS.iter().find(|(it, _)| it == code).map(|(_, words)| *words);
                let is_code = |it: &&str| it.len() <= 64 && it.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
                let code = Some(code.as_str()).filter(is_code).unwrap_or("an unknown error");
                known.map_or_else(|| format!("Slack refused it: {code}"), |words| format!("{words} ({code})"))
            }
            Self::Limited { .. } => "Slack takes no more for now".to_owned(),
            Self::NotSent { why } | Self::Unknown { why } => why.clone(),
        }
    }

    fn is(&self, codes: &[&str]) -> bool {
        matches!(self, Self::Refused { code } if codes.contains(&code.as_str()))
    }

    /// Whether a file is not known.
    pub(super) fn is_of_no_file(&self) -> bool {
        self.is(&[NO_SUCH_FILE])
    }

    /// What follows for a delivery after a call that changes something.
    pub(super) fn setback(self) -> Setback {
        let reason = self.words();
        match &self {
            Self::Limited { retry_at } => Setback::Busy { retry_at: *retry_at, reason },
            Self::NotSent { .. } => Setback::Busy { retry_at: None, reason },
            Self::Unknown { .. } => Setback::Unknown { may_still_run: true, reason },
            // What comes after its answer, such as the sharing of files, may go on.
            it if it.is(INSIDE) => Setback::Unknown { may_still_run: true, reason },
            it if it.is(LATER) => Setback::Busy { retry_at: None, reason },
            it if it.is(LOST) => Setback::Disconnected { reason },
            it if it.is_of_no_file() => Setback::Stale { reason },
            Self::Refused { .. } => Setback::Refused { reason },
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
        if self.is(LOST) { Resolution::Disconnected { reason } } else { Resolution::Unclear { reason } }
    }
}

impl From<Failure> for HandOffRefusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused { .. } if !failure.is(INSIDE) && !failure.is(LATER) => Self::Refused(failure.words()),
            _ => Self::Unreachable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str) -> Failure {
        Failure::Refused { code: code.to_owned() }
    }

    #[test]
    fn a_code_says_what_follows() {
        for (codes, outcome) in [
            (INSIDE, "Unknown { may_still_run: true"),
            (LATER, "Busy"),
            (LOST, "Disconnected"),
            (&["file_not_found"], "Stale"),
            (&["not_in_channel", "is_archived", "msg_too_long", "restricted_action", "invalid_blocks"], "Refused"),
        ] {
            for code in codes {
                let said = format!("{:?}", of(code).setback());
                assert!(said.starts_with(outcome), "{code}: {said}");
            }
        }
        assert!(PASSING.iter().all(|it| INSIDE.contains(it) || LATER.contains(it)));
    }

    #[test]
    fn the_user_reads_what_to_do() {
        let said = |code: &str| of(code).setback().into_reason();
        assert!(said("not_in_channel").contains("invite it there with /invite"));
        assert_eq!(said("invalid_blocks"), "Slack refused it: invalid_blocks");
        assert_eq!(said("xoxb-secret <b>"), "Slack refused it: an unknown error");
    }

    #[test]
    fn before_the_public_call_nothing_is_in_doubt() {
        let cut = Failure::Unknown { why: "cut".to_owned() };
        for failure in [of("internal_error"), cut] {
            assert!(matches!(failure.before_the_call(), Setback::Busy { .. }));
        }
    }
}
