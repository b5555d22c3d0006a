//! How credentials are renewed, and when.

use chrono::{DateTime, TimeDelta, Utc};

use crate::account::Credentials;

/// How a platform renews credentials without their user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Renewal {
    /// Not at all: when they end, the user connects the account again.
    #[default]
    Never,
    /// A refresh token is exchanged. When a new one comes back, the old one is
    /// spent; otherwise the old one is kept.
    Rotating,
    /// The access token itself is exchanged for one that lasts longer, which
    /// has to happen before it ends.
    Extending,
}

/// The shortest lead: a round of upkeep, which comes every five minutes.
const SHORTEST_LEAD: TimeDelta = TimeDelta::minutes(5);

/// The longest lead. For tokens that live for 60 days, platforms advise a renewal
/// after 45 to 50 days. Where it fails for good, ten days give the user time to
/// connect the account again.
const LONGEST_LEAD: TimeDelta = TimeDelta::days(10);

impl Renewal {
    /// How long before the end of credentials that cannot be renewed their user is
    /// told, so that they can connect the account again in time.
    pub const WARNING: TimeDelta = TimeDelta::days(7);

    /// Whether these credentials can be renewed without their user.
    pub fn can_renew(self, credentials: &Credentials) -> bool {
        match self {
            Self::Never => false,
            Self::Rotating => credentials.refresh_token.is_some(),
            Self::Extending => true,
        }
    }

    /// When credentials that were issued at `issued_at` are to be looked after:
    /// a while before their end where they can be renewed, and otherwise
    /// [`Renewal::WARNING`] before it, when only their user can help. `None` when they do
    /// not end.
    pub fn due_at(self, credentials: &Credentials, issued_at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let ends_at = credentials.expires_at?;
        if self.can_renew(credentials) {
            return Some(ends_at - lead(ends_at - issued_at));
        }
        let warned_at = ends_at - Self::WARNING;
        // What lives no longer than that is not warned of: its user knows.
        Some(if issued_at < warned_at { warned_at } else { ends_at })
    }
}

/// How long before their end credentials with such a life are renewed.
///
/// A fifth of it: early enough for several tries while a platform is unavailable,
/// and late enough not to renew much more often than needed. Never before half of
/// it, because platforms may refuse to renew young credentials (Threads and
/// Instagram renew none that are younger than a day).
fn lead(life: TimeDelta) -> TimeDelta {
    (life / 5).clamp(SHORTEST_LEAD, LONGEST_LEAD).min(life / 2).max(TimeDelta::zero())
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    fn credentials(refresh_token: Option<&str>, life: Option<TimeDelta>) -> Credentials {
        Credentials {
            refresh_token: refresh_token.map(Into::into),
            expires_at: life.map(|it| noon() + it),
            ..Credentials::of("access".into())
        }
    }

    #[test]
    fn the_lead_grows_with_the_life_of_a_token() {
        let (second, minute, hour, day) =
            (TimeDelta::seconds(1), TimeDelta::minutes(1), TimeDelta::hours(1), TimeDelta::days(1));
        let leads = [
            // Half of a short life.
            (second, second / 2),
            (minute, second * 30),
            (minute * 6, minute * 3),
            (minute * 10, minute * 5),
            // A round of upkeep.
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
            // And no more than ten days.
            (day * 60, day * 10),
            (day * 365, day * 10),
            // A clock that is wrong, or a token that was dead on arrival.
            (TimeDelta::zero(), TimeDelta::zero()),
            (-hour, TimeDelta::zero()),
        ];
        for (life, expected) in leads {
            assert_eq!(lead(life), expected, "of {life}");
            let due_at = Renewal::Extending.due_at(&credentials(None, Some(life)), noon());
            assert_eq!(due_at, Some(noon() + life - expected), "of {life}");
        }
    }

    #[test]
    fn without_a_refresh_token_nothing_rotates() {
        let lasting = TimeDelta::hours(1);
        let (with, without) = (credentials(Some("refresh"), Some(lasting)), credentials(None, Some(lasting)));

        assert!(Renewal::Rotating.can_renew(&with) && !Renewal::Rotating.can_renew(&without));
        assert!(Renewal::Extending.can_renew(&with) && Renewal::Extending.can_renew(&without));
        assert!(!Renewal::Never.can_renew(&with) && !Renewal::Never.can_renew(&without));
    }

    #[test]
    fn what_cannot_be_renewed_is_looked_at_a_week_before_it_ends_or_else_then() {
        let (hour, day) = (TimeDelta::hours(1), TimeDelta::days(1));
        for (renewal, refresh_token) in [(Renewal::Never, Some("refresh")), (Renewal::Rotating, None)] {
            for (life, looked_at) in [(hour, hour), (day * 7, day * 7), (day * 60, day * 53)] {
                let due_at = renewal.due_at(&credentials(refresh_token, Some(life)), noon());
                assert_eq!(due_at, Some(noon() + looked_at), "{renewal:?} {life}");
            }
        }
    }

    #[test]
    fn what_does_not_end_is_never_due() {
        for renewal in [Renewal::Never, Renewal::Rotating, Renewal::Extending] {
            assert_eq!(renewal.due_at(&credentials(Some("refresh"), None), noon()), None);
        }
    }
}
