//! The simulated platforms. Together they cover every way to tell a repeat from
//! a first post, with and without preparation, and every kind of renewal.

use chrono::TimeDelta;
use platforms::{Lead, Renewal};

/// What a platform can say about a post when the answer to its public call was
/// lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// It knows an idempotency key for an hour: a repeat returns the first
    /// post.
    Keyed,
    /// It lists the public posts together with our references.
    Listed,
    /// It lists the public posts, but they all look the same.
    Recognised,
    /// Nothing.
    Blind,
}

/// A platform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    /// The name that connections have for it.
    pub(crate) name: &'static str,
    pub(crate) certainty: Certainty,
    /// How its credentials are renewed. A refresh token works once; a second
    /// use ends the grant.
    pub(crate) renewal: Renewal,
    /// Whether its credentials expire.
    pub(crate) ends: bool,
    /// How many calls prepare a post before the public one. The platform may
    /// forget what they made.
    pub(crate) steps: usize,
}

/// Every platform.
pub(crate) const SPECS: [Spec; 8] = [
    spec("keyed", Certainty::Keyed, Renewal::Rotating, true, 0),
    spec("listed", Certainty::Listed, Renewal::Extending, true, 0),
    spec("blind", Certainty::Blind, Renewal::Never, true, 0),
    spec("keyed-in-steps", Certainty::Keyed, Renewal::Never, false, 2),
    spec("listed-in-steps", Certainty::Listed, Renewal::Rotating, true, 3),
    spec("blind-in-steps", Certainty::Blind, Renewal::Extending, true, 1),
    // The last step reads which posts the account shows.
    spec("recognised", Certainty::Recognised, Renewal::Never, false, 1),
    spec("recognised-in-steps", Certainty::Recognised, Renewal::Rotating, true, 3),
];

const fn spec(name: &'static str, certainty: Certainty, renewal: Renewal, ends: bool, steps: usize) -> Spec {
    Spec { name, certainty, renewal, ends, steps }
}

impl Spec {
    /// The platform with this name.
    pub(crate) fn named(name: &str) -> Self {
        *SPECS.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("a platform {name}"))
    }

    /// Whether it can always be found out if a post is public, so that every
    /// post becomes public exactly once.
    pub(crate) fn is_certain(&self) -> bool {
        self.certainty != Certainty::Blind
    }

    /// How long before a post is due its preparation begins, if it has any.
    pub(crate) fn lead(&self) -> Lead {
        Lead { always: (0 < self.steps).then_some(LEAD), ..Lead::NONE }
    }
}

/// How long before a post is due its preparation begins.
const LEAD: TimeDelta = TimeDelta::seconds(60);

/// How long after it began a call whose adapter timed out may still take
/// effect.
pub(crate) const SETTLES: TimeDelta = TimeDelta::seconds(65);

/// How long an adapter waits for the public call's answer.
pub(crate) const TIMEOUT: TimeDelta = TimeDelta::seconds(15);

/// How long a platform remembers an idempotency key.
pub(crate) const KEY_LASTS: TimeDelta = TimeDelta::hours(1);
