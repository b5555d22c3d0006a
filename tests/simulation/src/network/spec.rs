//! The platforms there are: every way in which a repeat can be told from a
//! first post, with and without steps before it, with every kind of renewal.

use chrono::TimeDelta;
use platforms::{Lead, Renewal};

/// What a platform can say of a post whose end nobody heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// It answers a repeat of a key with the first post, for an hour.
    Keyed,
    /// It lists what is public, with our references.
    Listed,
    /// It lists what is public, and every post looks the same.
    Recognised,
    /// Nothing.
    Blind,
}

/// A platform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    /// As connections name it.
    pub(crate) name: &'static str,
    pub(crate) certainty: Certainty,
    /// How its credentials are renewed. A refresh token works once, and a second
    /// use ends the grant.
    pub(crate) renewal: Renewal,
    /// Whether its credentials end by themselves.
    pub(crate) ends: bool,
    /// Calls that come before the public one. What they made may be forgotten.
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
    // The last step reads what the account shows.
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

    /// Whether every post becomes public exactly once: a doubt can be settled.
    pub(crate) fn is_certain(&self) -> bool {
        self.certainty != Certainty::Blind
    }

    /// When its steps begin, if it has any.
    pub(crate) fn lead(&self) -> Lead {
        Lead { always: (0 < self.steps).then_some(LEAD), ..Lead::NONE }
    }
}

/// How long before its time the steps begin.
const LEAD: TimeDelta = TimeDelta::seconds(60);

/// How long a call that was cut off may still take effect.
pub(crate) const SETTLES: TimeDelta = TimeDelta::seconds(65);

/// How long an adapter waits for the public call's answer.
pub(crate) const TIMEOUT: TimeDelta = TimeDelta::seconds(15);

/// How long a platform knows a key.
pub(crate) const KEY_LASTS: TimeDelta = TimeDelta::hours(1);
