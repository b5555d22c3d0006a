//! What a user reads of a setback: which step it was, the platform's own
//! words, and what to do.

use domain::connection::Connection;
use domain::delivery::{AttemptError, Resolution};

/// What was being done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Doing {
    /// What comes before the public call: its files above all.
    Preparing,
    /// The public call.
    Publishing,
}

/// A setback in words for the user. That of a lost grant is in such words
/// already.
pub(crate) fn with_user_message(setback: AttemptError, doing: Doing, account: &Connection) -> AttemptError {
    let platform = &account.rules.title;
    match (setback, doing) {
        (AttemptError::Refused { reason }, Doing::Preparing) => AttemptError::Refused {
            reason: format!(
                "{platform} refused what comes before the post: {}. Change the post and give it a new time.",
                bare(&reason)
            ),
        },
        (AttemptError::Refused { reason }, Doing::Publishing) => AttemptError::Refused {
            reason: format!("{platform} refused the post: {}. Change it and give it a new time.", bare(&reason)),
        },
        (AttemptError::RetryLater { retry_at, reason }, Doing::Preparing) => AttemptError::RetryLater {
            retry_at,
            reason: format!("{platform} does not take what comes before the post: {}. Trying again.", bare(&reason)),
        },
        (AttemptError::RetryLater { retry_at, reason }, Doing::Publishing) => AttemptError::RetryLater {
            retry_at,
            reason: format!("{platform} did not take the post yet: {}. Trying again.", bare(&reason)),
        },
        // Nothing that comes before the public call can make a post public.
        (AttemptError::Unknown { may_still_run, retry_at, reason }, Doing::Preparing) => AttemptError::Unknown {
            may_still_run,
            retry_at,
            reason: format!("{platform} did not take what comes before the post: {}. Trying again.", bare(&reason)),
        },
        (AttemptError::Unknown { may_still_run, retry_at, reason }, Doing::Publishing) => AttemptError::Unknown {
            may_still_run,
            retry_at,
            reason: format!(
                "{platform} did not say whether the post is public: {}. Looking it up before anything is sent again. \
                 Until that is settled, within a day at most, the post stays as it is; look at {} to see for yourself.",
                bare(&reason),
                place(account)
            ),
        },
        (AttemptError::Duplicate { reason }, _) => AttemptError::Duplicate {
            reason: format!(
                "{platform} has this post already: {}. An earlier attempt made it. Looking it up; it is not sent again. \
                 Look at {} to see for yourself.",
                bare(&reason),
                place(account)
            ),
        },
        (AttemptError::PreparationExpired { reason }, _) => AttemptError::PreparationExpired {
            reason: format!(
                "{platform} no longer knows what came before the post: {}. Doing that again first.",
                bare(&reason)
            ),
        },
        (lost @ AttemptError::Unauthorized { .. }, _) => lost,
    }
}

/// That there is nobody to ask. What is in doubt may be out already.
pub(crate) fn not_connected(is_in_doubt: bool) -> AttemptError {
    let then = if is_in_doubt { "it is looked up whether the post is public" } else { "the post goes out" };
    let reason =
        format!("The account is not connected, or its platform is switched off here. Connect it again, and {then}.");
    AttemptError::Unauthorized { reason }
}

/// That only the user can help, with what the platform said when it refused.
pub(crate) fn wants_reconnection(account: &Connection, said: Option<&str>) -> AttemptError {
    let said = said.map_or_else(String::new, |it| format!(": {}", bare(it)));
    let reason =
        format!("{}{said}; connect the account again within 24 hours and the post goes out", not_accepted(account));
    AttemptError::Unauthorized { reason }
}

/// A setback of a delivery that waits for its account to be connected again. What
/// was noted of the loss stands: it says why, which is not said twice.
pub(crate) fn still_lost(setback: AttemptError, note: Option<&str>, account: &Connection) -> AttemptError {
    match (setback, note) {
        (AttemptError::Unauthorized { .. }, Some(note)) if note.starts_with(&not_accepted(account)) => {
            AttemptError::Unauthorized { reason: note.to_owned() }
        }
        (setback, _) => setback,
    }
}

fn not_accepted(account: &Connection) -> String {
    format!("{} no longer accepts this connection", account.rules.title)
}

/// A setback on the way to asking about an open intent: a lost grant does not
/// promise that the post goes out. `said` is what the platform said of it.
pub(crate) fn of_a_doubt(setback: AttemptError, said: Option<&str>, account: &Connection) -> AttemptError {
    match setback {
        AttemptError::Unauthorized { .. } => AttemptError::Unauthorized {
            reason: format!(
                "{}{}, and did not say whether the post is public; look at {}. \
                 Connect the account again within 24 hours, and it is looked up",
                not_accepted(account),
                said.map_or_else(String::new, |it| format!(" ({})", bare(it))),
                place(account)
            ),
        },
        other => other,
    }
}

/// What a platform says of an open intent, in words for the user.
pub(crate) fn worded_answer(answer: Resolution, account: &Connection) -> Resolution {
    let platform = &account.rules.title;
    let place = place(account);
    match answer {
        Resolution::Refused { reason } => Resolution::Refused {
            reason: format!(
                "{platform} took the post and then refused it: {}. Change it and give it a new time.",
                bare(&reason)
            ),
        },
        Resolution::Pending { reason } => Resolution::Pending {
            reason: format!(
                "{platform} cannot say whether the post is public: {}. It is asked again for up to a day. Look at \
                 {place} before you post it again.",
                bare(&reason)
            ),
        },
        Resolution::Undeterminable { advice } => Resolution::Undeterminable {
            advice: format!("{}. Look at {place} before you post it again.", bare(&advice)),
        },
        certain => certain,
    }
}

/// Where the user can see the account.
fn place(account: &Connection) -> String {
    let profile = &account.profile;
    match (&profile.profile_url, &profile.username) {
        (Some(url), _) => url.clone(),
        (None, Some(name)) => format!("the account {name} on {}", account.rules.title),
        (None, None) => format!("the account on {}", account.rules.title),
    }
}

/// Without the full stop that some platforms end their words with.
fn bare(words: &str) -> &str {
    words.trim().trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_connection, a_user};

    use super::*;

    fn refused(words: &str) -> AttemptError {
        AttemptError::Refused { reason: words.to_owned() }
    }

    #[test]
    fn a_refusal_says_the_step_the_words_of_the_platform_and_what_to_do() {
        let account = a_connection(&a_user());

        let AttemptError::Refused { reason } = with_user_message(refused("Too long."), Doing::Publishing, &account)
        else {
            panic!()
        };
        assert_eq!(reason, "Sandbox refused the post: Too long. Change it and give it a new time.");
        let file = refused("file 2 of 3 (image/png): too dark");
        let AttemptError::Refused { reason } = with_user_message(file, Doing::Preparing, &account) else { panic!() };
        assert_eq!(
            reason,
            "Sandbox refused what comes before the post: file 2 of 3 (image/png): too dark. \
             Change the post and give it a new time."
        );
    }

    #[test]
    fn a_file_whose_upload_is_in_doubt_does_not_sound_like_a_post_that_may_be_public() {
        let lost = AttemptError::Unknown { may_still_run: true, retry_at: None, reason: "no answer".to_owned() };
        let words = |doing| match with_user_message(lost.clone(), doing, &a_connection(&a_user())) {
            AttemptError::Unknown { reason, .. } => reason,
            other => panic!("{other:?}"),
        };

        assert!(!words(Doing::Preparing).contains("public"), "{}", words(Doing::Preparing));
        assert!(words(Doing::Publishing).contains("whether the post is public"));
    }

    #[test]
    fn a_doubt_is_never_told_to_go_out() {
        let account = a_connection(&a_user());
        let lost = || AttemptError::Unauthorized { reason: "connect it again and the post goes out".to_owned() };
        for setback in [not_connected(true), of_a_doubt(lost(), None, &account)] {
            let AttemptError::Unauthorized { reason } = setback else { panic!("{setback:?}") };
            assert!(!reason.contains("goes out") && reason.contains("looked up"), "{reason}");
        }
        assert!(
            matches!(not_connected(false), AttemptError::Unauthorized { reason } if reason.contains("the post goes out"))
        );
    }

    #[test]
    fn a_doubt_says_why_the_platform_cannot_be_asked() {
        let lost = AttemptError::Unauthorized { reason: "connect it again and the post goes out".to_owned() };
        let told = of_a_doubt(lost, Some("Your login is disabled."), &a_connection(&a_user())).into_reason();
        assert!(
            told.starts_with("Sandbox no longer accepts this connection (Your login is disabled), and did not"),
            "{told}"
        );
    }

    #[test]
    fn what_stays_unknown_says_where_to_look() {
        let mut account = a_connection(&a_user());
        let advice = |account: &Connection| {
            let asked = Resolution::Undeterminable { advice: "it keeps no list".to_owned() };
            let Resolution::Undeterminable { advice } = worded_answer(asked, account) else { panic!() };
            advice
        };

        assert_eq!(
            advice(&account),
            "it keeps no list. Look at the account harbour on Sandbox before you post it again."
        );
        account.profile.profile_url = Some("https://sandbox.example/@harbour".to_owned());
        assert!(advice(&account).contains("Look at https://sandbox.example/@harbour"), "{}", advice(&account));
    }
}
