//! The texts that a user reads about an [`AttemptError`] or a [`Resolution`]: which step failed,
//! the message of the platform, and what to do. They promise no further step, because a delivery that
//! fails repeats the last of them: `Delivery::waiting_message` adds the step.

use domain::connection::Connection;
use domain::delivery::{AttemptError, MessageKind, Note, Resolution};
use domain::post::SegmentKind;
use domain::text::without_full_stop;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// Uploading files and other calls that make nothing public.
    Preparation,
    Publish(SegmentKind),
}

impl Phase {
    /// Files are prepared for the post as a whole.
    const fn segment(self) -> SegmentKind {
        match self {
            Self::Preparation => SegmentKind::Post,
            Self::Publish(segment) => segment,
        }
    }
}

/// Replaces the reason by a text for the user. The reason of `Unauthorized` is such a text already.
pub(crate) fn with_user_message(error: AttemptError, phase: Phase, connection: &Connection) -> AttemptError {
    let platform = &connection.rules.title;
    match (error, phase) {
        (AttemptError::Refused { reason }, Phase::Preparation) => AttemptError::Refused {
            reason: format!(
                "{platform} refused a file or another step before publishing: {}. Edit the post and reschedule it.",
                without_full_stop(&reason)
            ),
        },
        (AttemptError::Refused { reason }, Phase::Publish(segment)) => AttemptError::Refused {
            reason: format!(
                "{platform} refused the {}: {}. {}",
                segment.as_str(),
                without_full_stop(&reason),
                after_refusal(segment, platform)
            ),
        },
        (AttemptError::RetryLater { retry_at, reason }, Phase::Preparation) => {
            AttemptError::RetryLater { retry_at, reason: not_prepared_yet(platform, &reason) }
        }
        (AttemptError::RetryLater { retry_at, reason }, Phase::Publish(segment)) => AttemptError::RetryLater {
            retry_at,
            reason: format!("{platform} has not accepted the {}: {}.", segment.as_str(), without_full_stop(&reason)),
        },
        // A preparation call cannot make a post public.
        (AttemptError::Unknown { may_still_run, retry_at, reason }, Phase::Preparation) => {
            AttemptError::Unknown { may_still_run, retry_at, reason: not_prepared_yet(platform, &reason) }
        }
        (AttemptError::Unknown { may_still_run, retry_at, reason }, Phase::Publish(segment)) => AttemptError::Unknown {
            may_still_run,
            retry_at,
            reason: format!(
                "{platform} did not confirm whether the {} is public: {}. To check it yourself, look at {}.",
                segment.as_str(),
                without_full_stop(&reason),
                account_location(connection)
            ),
        },
        // A platform has no reason to accept a preparation call for later.
        (AttemptError::Accepted { progress, reason }, phase) => AttemptError::Accepted {
            progress,
            reason: format!("{platform} accepted the {}: {}.", phase.segment().as_str(), without_full_stop(&reason)),
        },
        (AttemptError::Duplicate { reason }, phase) => AttemptError::Duplicate {
            reason: format!(
                "{platform} already has this {}: {}. An earlier attempt published it. To check it yourself, look at \
                 {}.",
                phase.segment().as_str(),
                without_full_stop(&reason),
                account_location(connection)
            ),
        },
        (AttemptError::PreparationExpired { reason }, phase) => AttemptError::PreparationExpired {
            reason: format!(
                "{platform} no longer has the prepared {}: {}. It has to be prepared again.",
                phase.segment().as_str(),
                without_full_stop(&reason)
            ),
        },
        (unauthorized @ AttemptError::Unauthorized { .. }, _) => unauthorized,
    }
}

/// The next action after a refusal. A new time sends a thread from the refused reply on, and never
/// sends a comment: its post is published.
fn after_refusal(segment: SegmentKind, platform: &str) -> String {
    match segment {
        SegmentKind::Post | SegmentKind::Reply => "Edit the post and reschedule it.".to_owned(),
        SegmentKind::Comment => format!("You can add it on {platform} yourself."),
    }
}

pub(crate) fn removed_post(reason: &str, connection: &Connection) -> String {
    let platform = &connection.rules.title;
    let reason = without_full_stop(reason);
    format!("{platform} published the post, and removed it later: {reason}. Edit the post and reschedule it.")
}

fn not_prepared_yet(platform: &str, reason: &str) -> String {
    format!("The post could not be prepared for {platform}: {}.", without_full_stop(reason))
}

/// The error when the connection is gone or its platform is disabled, so that no call can be made.
/// After an unknown outcome the post may be public already, so the text does not promise to
/// publish it.
pub(crate) fn not_connected(is_outcome_unknown: bool) -> AttemptError {
    let check = if is_outcome_unknown { ", and look at it before you post the text again" } else { "" };
    let reason = format!(
        "The account is not connected, or its platform is disabled in this deployment. Connect the account \
         again{check}."
    );
    AttemptError::Unauthorized { reason }
}

/// The error when the credentials cannot be used, as a text for the user. If the delivery already
/// waits for reconnection, its note is kept, because it contains the reason of the platform.
pub(crate) fn keep_first_reason(error: AttemptError, note: Option<&Note>, connection: &Connection) -> AttemptError {
    match (error, note) {
        (AttemptError::Unauthorized { .. }, Some(Note { kind: MessageKind::Reconnect, text })) => {
            AttemptError::Unauthorized { reason: text.clone() }
        }
        (error, _) => with_user_message(error, Phase::Preparation, connection),
    }
}

/// The error of a look-up that could not be made. If the grant is lost, the text does not promise
/// to publish the post, because it may be public already.
pub(crate) fn for_unknown_outcome(
    error: AttemptError,
    platform_message: Option<&str>,
    segment: SegmentKind,
    connection: &Connection,
) -> AttemptError {
    match error {
        AttemptError::Unauthorized { .. } => AttemptError::Unauthorized {
            reason: format!(
                "{}{}. It is unknown whether the {} is public; look at {}, and connect the account again.",
                connection.not_accepted_message(),
                platform_message.map_or_else(String::new, |it| format!(" ({})", without_full_stop(it))),
                segment.as_str(),
                account_location(connection)
            ),
        },
        other => other.map_reason(|it| not_confirmed(segment, connection, &it)),
    }
}

fn not_confirmed(segment: SegmentKind, connection: &Connection, reason: &str) -> String {
    format!(
        "{} has not confirmed whether the {} is public: {}. Look at {} before you post it again.",
        connection.rules.title,
        segment.as_str(),
        without_full_stop(reason),
        account_location(connection)
    )
}

pub(crate) fn resolution_with_user_message(
    resolution: Resolution,
    segment: SegmentKind,
    connection: &Connection,
) -> Resolution {
    let platform = &connection.rules.title;
    let location = account_location(connection);
    match resolution {
        Resolution::Refused { reason } => Resolution::Refused {
            reason: format!(
                "{platform} accepted the {} and then refused it: {}. {}",
                segment.as_str(),
                without_full_stop(&reason),
                after_refusal(segment, platform)
            ),
        },
        Resolution::Pending { reason } => Resolution::Pending { reason: not_confirmed(segment, connection, &reason) },
        Resolution::Undeterminable { advice } => Resolution::Undeterminable {
            advice: format!("{}. Look at {location} before you post it again.", without_full_stop(&advice)),
        },
        other => other,
    }
}

/// The URL of the account, or its name.
fn account_location(connection: &Connection) -> String {
    let account = &connection.profile;
    match (&account.profile_url, &account.username) {
        (Some(url), _) => url.clone(),
        (None, Some(name)) => format!("the account {name} on {}", connection.rules.title),
        (None, None) => format!("the account on {}", connection.rules.title),
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_connection, a_user};

    use super::*;

    fn refused(reason: &str) -> AttemptError {
        AttemptError::Refused { reason: reason.to_owned() }
    }

    #[test]
    fn refused_message_names_step_reason_and_next_action() {
        let connection = a_connection(&a_user());

        let AttemptError::Refused { reason } =
            with_user_message(refused("Too long."), Phase::Publish(SegmentKind::Post), &connection)
        else {
            panic!()
        };
        assert_eq!(reason, "Sandbox refused the post: Too long. Edit the post and reschedule it.");
        let file = refused("file 2 of 3 (image/png): too dark");
        let AttemptError::Refused { reason } = with_user_message(file, Phase::Preparation, &connection) else {
            panic!()
        };
        assert_eq!(
            reason,
            "Sandbox refused a file or another step before publishing: file 2 of 3 (image/png): too dark. \
             Edit the post and reschedule it."
        );
    }

    #[test]
    fn message_names_the_segment_that_failed() {
        let (connection, segment) = (a_connection(&a_user()), SegmentKind::Comment);
        let unknown =
            || AttemptError::Unknown { may_still_run: true, retry_at: None, reason: "no response".to_owned() };
        let busy = || AttemptError::RetryLater { retry_at: None, reason: "busy".to_owned() };
        let gone = || AttemptError::Unauthorized { reason: "gone".to_owned() };
        let published =
            [refused("Too rude."), busy(), unknown(), AttemptError::Duplicate { reason: "known".to_owned() }];
        let looked_up = [busy(), gone()].map(|it| for_unknown_outcome(it, None, segment, &connection).into_reason());
        let reason = "spam".to_owned();
        let Resolution::Refused { reason: late } =
            resolution_with_user_message(Resolution::Refused { reason }, segment, &connection)
        else {
            panic!()
        };

        let mut messages =
            published.map(|it| with_user_message(it, Phase::Publish(segment), &connection).into_reason()).to_vec();
        messages.extend(looked_up);
        messages.push(late);

        assert_eq!(messages[0], "Sandbox refused the comment: Too rude. You can add it on Sandbox yourself.");
        for message in messages {
            assert!(message.contains("comment") && !message.contains("the post "), "{message}");
        }
    }

    #[test]
    fn unknown_upload_outcome_is_not_reported_as_possibly_public() {
        let error = AttemptError::Unknown { may_still_run: true, retry_at: None, reason: "no response".to_owned() };
        let message = |phase| match with_user_message(error.clone(), phase, &a_connection(&a_user())) {
            AttemptError::Unknown { reason, .. } => reason,
            other => panic!("{other:?}"),
        };

        assert!(!message(Phase::Preparation).contains("public:"), "{}", message(Phase::Preparation));
        assert!(message(Phase::Publish(SegmentKind::Post)).contains("whether the post is public"));
    }

    #[test]
    fn lost_grant_after_unknown_outcome_does_not_promise_publication() {
        let connection = a_connection(&a_user());
        let unauthorized = || AttemptError::Unauthorized { reason: "to publish the post, connect it again".to_owned() };
        for error in [not_connected(true), for_unknown_outcome(unauthorized(), None, SegmentKind::Post, &connection)] {
            let AttemptError::Unauthorized { reason } = error else { panic!("{error:?}") };
            assert!(!reason.contains("publish") && reason.contains("look at"), "{reason}");
        }
        let reason = not_connected(false).into_reason();
        assert!(reason.ends_with("Connect the account again."), "{reason}");
    }

    #[test]
    fn unavailable_credentials_are_a_sentence_for_the_user() {
        let connection = a_connection(&a_user());
        let busy = || AttemptError::RetryLater { retry_at: None, reason: "the server returned 503".to_owned() };

        let message = keep_first_reason(busy(), None, &connection).into_reason();
        assert_eq!(message, "The post could not be prepared for Sandbox: the server returned 503.");
        let message = for_unknown_outcome(busy(), None, SegmentKind::Post, &connection).into_reason();
        assert!(message.starts_with("Sandbox has not confirmed whether the post is public: the server"), "{message}");
    }

    #[test]
    fn unknown_outcome_message_quotes_why_the_grant_is_lost() {
        let unauthorized = AttemptError::Unauthorized { reason: "to publish the post, connect it again".to_owned() };
        let connection = a_connection(&a_user());
        let message =
            for_unknown_outcome(unauthorized, Some("Your login is disabled."), SegmentKind::Post, &connection)
                .into_reason();
        assert!(
            message.starts_with("Sandbox no longer accepts this connection (Your login is disabled). It is unknown"),
            "{message}"
        );
    }

    #[test]
    fn undeterminable_outcome_names_where_to_look() {
        let mut connection = a_connection(&a_user());
        let advice = |connection: &Connection| {
            let resolution = Resolution::Undeterminable { advice: "it keeps no list".to_owned() };
            let Resolution::Undeterminable { advice } =
                resolution_with_user_message(resolution, SegmentKind::Post, connection)
            else {
                panic!()
            };
            advice
        };

        assert_eq!(
            advice(&connection),
            "it keeps no list. Look at the account harbour on Sandbox before you post it again."
        );
        connection.profile.profile_url = Some("https://sandbox.example/@harbour".to_owned());
        assert!(advice(&connection).contains("Look at https://sandbox.example/@harbour"), "{}", advice(&connection));
    }
}
