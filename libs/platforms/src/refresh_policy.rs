use chrono::{DateTime, TimeDelta, Utc};

use crate::account::Credentials;

/// How a platform refreshes credentials without the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RefreshPolicy {
    /// Not at all: when they expire, the user reconnects the account.
    #[default]
    Never,
    /// A refresh token is exchanged. If the response has a new one, the old one is used up;
    /// otherwise it is kept.
    Rotating,
    /// The access token itself is exchanged for one that lasts longer, before it expires.
    Extending,
    /// The token does not expire. What is stored with it is read again, such as the id of a group
    /// that moved.
    Updating,
}

/// The longest time between two checks of credentials.
const LOOKED_AFTER: TimeDelta = TimeDelta::days(7);

/// The shortest lead time: the refresh run comes every five minutes.
const SHORTEST_LEAD: TimeDelta = TimeDelta::minutes(5);

/// The longest lead time. For tokens that live for 60 days, platforms advise a refresh after 45 to
/// 50 days. If it fails permanently, the user has ten days to reconnect the account.
const LONGEST_LEAD: TimeDelta = TimeDelta::days(10);

impl RefreshPolicy {
    /// How long before credentials that cannot be refreshed expire their user is warned.
    pub const WARNING: TimeDelta = TimeDelta::days(7);

    pub fn can_refresh(self, credentials: &Credentials) -> bool {
        match self {
            Self::Never => false,
            Self::Rotating => credentials.refresh_token.is_some(),
            Self::Extending | Self::Updating => true,
        }
    }

    /// When credentials that were issued or checked at `since` are due next: after a week at the
    /// latest, because account info and an unused refresh token may be no older; some time before
    /// the refresh token expires; and if there is none, [`RefreshPolicy::WARNING`] before the
    /// credentials expire, when only the user can help, and when they expire.
    pub fn due_at(self, credentials: &Credentials, since: DateTime<Utc>) -> DateTime<Utc> {
        let before = |ends_at: DateTime<Utc>| ends_at - lead_time(ends_at - since);
        let due_at = if !self.can_refresh(credentials) {
            // No warning for credentials that live shorter than the warning: their user knows.
            credentials.expires_at.map(|it| if since < it - Self::WARNING { it - Self::WARNING } else { it })
        } else if self == Self::Extending {
            credentials.expires_at.map(before)
        } else {
            // The access token may expire meanwhile. A caller that needs one refreshes it.
            credentials.refresh_expires_at.map(before)
        };
        let latest = since + LOOKED_AFTER;
        due_at.map_or(latest, |it| it.min(latest))
    }
}

/// How long before they expire credentials with this lifetime are refreshed.
///
/// A fifth of the lifetime: early enough for several attempts while a platform is unavailable, and
/// late enough not to refresh much more often than needed. Never before half of it, because
/// platforms may refuse to refresh young credentials (Threads and Instagram refresh none that are
/// younger than a day).
fn lead_time(lifetime: TimeDelta) -> TimeDelta {
    (lifetime / 5).clamp(SHORTEST_LEAD, LONGEST_LEAD).min(lifetime / 2).max(TimeDelta::zero())
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    fn credentials(refresh_token: Option<&str>, life: Option<TimeDelta>) -> Credentials {
        Credentials {
            refresh_token: refresh_token.map(Into::into),
            expires_at: life.map(|it| noon() + it),
            ..Credentials::new("access".into())
        }
    }

    #[test]
    fn lead_time_grows_with_the_token_lifetime() {
        let (second, minute, hour, day) =
            (TimeDelta::seconds(1), TimeDelta::minutes(1), TimeDelta::hours(1), TimeDelta::days(1));
        let leads = [
            // Half of a short life.
            (second, second / 2),
            (minute, second * 30),
            (minute * 6, minute * 3),
            (minute * 10, minute * 5),
            // The interval of the refresh run.
            (minute * 15, minute * 5),
            (minute * 25, minute * 5),
            // A fifth.
            (minute * 42, second * 504),
            (hour, minute * 12),
            (hour * 2, minute * 24),
            (hour * 12, minute * 144),
            (day, minute * 288),
            (day * 7, minute * 2016),
            (day * 50, day * 10),
            // At most ten days.
            (day * 60, day * 10),
            (day * 365, day * 10),
            // A wrong clock, or a token that had expired on arrival.
            (TimeDelta::zero(), TimeDelta::zero()),
            (-hour, TimeDelta::zero()),
        ];
        for (life, expected) in leads {
            assert_eq!(lead_time(life), expected, "of {life}");
            let due_at = RefreshPolicy::Extending.due_at(&credentials(None, Some(life)), noon());
            assert_eq!(due_at, noon() + (life - expected).min(day * 7), "of {life}");
        }
    }

    #[test]
    fn rotation_needs_a_refresh_token() {
        let lifetime = TimeDelta::hours(1);
        let (with, without) = (credentials(Some("refresh"), Some(lifetime)), credentials(None, Some(lifetime)));

        assert!(RefreshPolicy::Rotating.can_refresh(&with) && !RefreshPolicy::Rotating.can_refresh(&without));
        assert!(RefreshPolicy::Extending.can_refresh(&with) && RefreshPolicy::Extending.can_refresh(&without));
        assert!(!RefreshPolicy::Never.can_refresh(&with) && !RefreshPolicy::Never.can_refresh(&without));
    }

    #[test]
    fn unrefreshable_credentials_are_due_weekly_before_and_at_expiry() {
        let (hour, day) = (TimeDelta::hours(1), TimeDelta::days(1));
        for (policy, refresh_token) in [(RefreshPolicy::Never, Some("refresh")), (RefreshPolicy::Rotating, None)] {
            let credentials = credentials(refresh_token, Some(day * 60));
            for (since, due_day) in [(0, 7), (7, 14), (49, 53), (53, 60), (54, 60)] {
                let due_at = policy.due_at(&credentials, noon() + day * since);
                assert_eq!(due_at, noon() + day * due_day, "{policy:?} {since}");
            }
            let short = Credentials { expires_at: Some(noon() + hour), ..credentials };
            assert_eq!(policy.due_at(&short, noon()), noon() + hour, "{policy:?}");
        }
    }

    #[test]
    fn unlimited_credentials_are_checked_every_week() {
        for policy in [RefreshPolicy::Never, RefreshPolicy::Rotating, RefreshPolicy::Extending, RefreshPolicy::Updating]
        {
            let due_at = policy.due_at(&credentials(Some("refresh"), None), noon());
            assert_eq!(due_at, noon() + TimeDelta::days(7), "{policy:?}");
        }
    }

    #[test]
    fn refresh_token_is_used_before_it_expires_not_per_access_token() {
        let (hour, day) = (TimeDelta::hours(1), TimeDelta::days(1));
        let hourly = credentials(Some("refresh"), Some(hour));
        let short_lived = Credentials { refresh_expires_at: Some(noon() + day * 2), ..hourly.clone() };

        assert_eq!(RefreshPolicy::Rotating.due_at(&hourly, noon()), noon() + day * 7);
        assert_eq!(RefreshPolicy::Rotating.due_at(&short_lived, noon()), noon() + day * 2 - day * 2 / 5);
        assert_eq!(RefreshPolicy::Never.due_at(&short_lived, noon()), noon() + hour, "it is of no use there");
    }
}
