//! The simulated platforms. Together they cover every way to tell a repeat from
//! a first post, with and without preparation, and every kind of renewal.

use std::time::Duration;

use chrono::TimeDelta;
use platforms::{LeadTimes, RefreshPolicy};

/// What a platform can say about a post when the answer to its public call was
/// lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// It knows an idempotency key for an hour: a repeat returns the first
    /// post.
    Keyed,
    /// It knows a nonce for minutes, and can tell nothing after that.
    Nonce,
    /// It knows a transaction id for minutes, and lists the public posts with them.
    Transaction,
    /// A draft is made public, which changes nothing the second time, and shows
    /// whether it is.
    Drafted,
    /// A container is published once, and says whether it was. A second call is an
    /// error.
    Contained,
    /// It lists the public posts together with our references.
    Listed,
    /// It lists the public posts, but they all look the same.
    Recognised,
    Blind,
}

/// What else is special about a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlatformBehavior {
    None,
    /// It takes posts and looks at them before they become public, or are refused.
    Reviewing,
    /// Where it limits the rate, it does so for more than a day.
    Rationing,
    /// An account may publish [`QUOTA`] posts within a day. It says when the next one may
    /// go out.
    Counting,
    /// Whoever asks it what is public pays.
    Charging,
    /// Things follow each post that is public: [`FOLLOW_UPS`].
    Following,
    /// It lists a post [`LISTED_AFTER`] its publication, and refuses a post that it has.
    Lagging,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    /// The name that connections have for it.
    pub(crate) name: &'static str,
    pub(crate) certainty: Certainty,
    /// How its credentials are renewed. A refresh token works once; a second
    /// use ends the grant.
    pub(crate) renewal: RefreshPolicy,
    /// Whether its credentials expire.
    pub(crate) ends: bool,
    /// How many calls prepare a post before the public one. The platform may
    /// forget what they made.
    pub(crate) steps: usize,
    pub(crate) habit: PlatformBehavior,
}

/// Every platform.
pub(crate) static SPECS: [Spec; 18] = [
    spec("keyed", Certainty::Keyed, RefreshPolicy::Rotating, true, 0),
    spec("listed", Certainty::Listed, RefreshPolicy::Extending, true, 0),
    spec("blind", Certainty::Blind, RefreshPolicy::Never, true, 0),
    spec("keyed-in-steps", Certainty::Keyed, RefreshPolicy::Never, false, 2),
    spec("listed-in-steps", Certainty::Listed, RefreshPolicy::Rotating, true, 3),
    spec("blind-in-steps", Certainty::Blind, RefreshPolicy::Extending, true, 1),
    // The last step reads which posts the account shows.
    spec("recognised", Certainty::Recognised, RefreshPolicy::Never, false, 1),
    spec("recognised-in-steps", Certainty::Recognised, RefreshPolicy::Rotating, true, 3),
    spec("nonce", Certainty::Nonce, RefreshPolicy::Never, false, 0),
    spec("transaction", Certainty::Transaction, RefreshPolicy::Rotating, true, 1),
    spec("drafted", Certainty::Drafted, RefreshPolicy::Never, false, 2),
    spec("contained", Certainty::Contained, RefreshPolicy::Extending, true, 3),
    spec("reviewing", Certainty::Listed, RefreshPolicy::Extending, true, 0).that(PlatformBehavior::Reviewing),
    spec("rationing", Certainty::Listed, RefreshPolicy::Never, false, 0).that(PlatformBehavior::Rationing),
    spec("counting", Certainty::Contained, RefreshPolicy::Never, false, 2).that(PlatformBehavior::Counting),
    spec("charging", Certainty::Listed, RefreshPolicy::Rotating, true, 1).that(PlatformBehavior::Charging),
    spec("following", Certainty::Listed, RefreshPolicy::Rotating, true, 0).that(PlatformBehavior::Following),
    spec("lagging", Certainty::Listed, RefreshPolicy::Extending, true, 0).that(PlatformBehavior::Lagging),
];

/// The platforms of random runs. One that lags is not among them: until its list shows a
/// post, nobody can tell whether a change of the post comes too late.
pub(crate) fn random_specs() -> impl Iterator<Item = &'static Spec> {
    SPECS.iter().filter(|it| it.habit != PlatformBehavior::Lagging)
}

const fn spec(name: &'static str, certainty: Certainty, renewal: RefreshPolicy, ends: bool, steps: usize) -> Spec {
    Spec { name, certainty, renewal, ends, steps, habit: PlatformBehavior::None }
}

impl Spec {
    const fn that(self, habit: PlatformBehavior) -> Self {
        Self { habit, ..self }
    }

    /// The platform with this name.
    pub(crate) fn named(name: &str) -> Self {
        *SPECS.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("a platform {name}"))
    }

    /// Whether it can always be found out if a post is public, so that every
    /// post becomes public exactly once.
    pub(crate) fn is_certain(&self) -> bool {
        !matches!(self.certainty, Certainty::Blind | Certainty::Nonce)
    }

    /// Whether a post that it does not show is certainly not public. A list may lag, and one of posts that look alike
    /// does not say which post it is missing.
    pub(crate) fn proves_absence(&self) -> bool {
        self.is_certain() && self.certainty != Certainty::Recognised && self.habit != PlatformBehavior::Lagging
    }

    /// How long before a post is due its preparation begins, if it has any.
    pub(crate) fn lead(&self) -> LeadTimes {
        LeadTimes { always: (0 < self.steps).then_some(LEAD), ..LeadTimes::NONE }
    }
}

/// How long before a post is due its preparation begins.
const LEAD: TimeDelta = TimeDelta::seconds(60);

/// How long after it began a call whose adapter timed out may still take
/// effect.
pub(crate) const SETTLES: TimeDelta = TimeDelta::seconds(65);

/// How long an adapter waits for the public call's answer.
pub(crate) const TIMEOUT: TimeDelta = TimeDelta::seconds(15);

/// For how long at least a platform that rations takes no more posts.
pub(crate) const RATIONED_FOR: Duration = Duration::from_hours(25);

/// How far the list of a platform that lags is behind. Longer than [`SETTLES`].
pub(crate) const LISTED_AFTER: TimeDelta = TimeDelta::minutes(5);

/// How many posts of an account a platform that counts takes within [`DAY`].
pub(crate) const QUOTA: usize = 3;

/// What it counts within.
pub(crate) const DAY: TimeDelta = TimeDelta::days(1);

impl Certainty {
    /// Whether what was prepared is what becomes public: then it, and not the target, is
    /// what is public once.
    pub(crate) const fn is_of_what_was_prepared(self) -> bool {
        matches!(self, Self::Drafted | Self::Contained)
    }

    /// How long a platform remembers what a public call is to be recognised by, if it
    /// returns the first post for a repeat.
    pub(crate) const fn key_lasts(self) -> Option<TimeDelta> {
        match self {
            Self::Keyed => Some(TimeDelta::hours(1)),
            Self::Nonce => Some(TimeDelta::minutes(5)),
            Self::Transaction => Some(TimeDelta::minutes(10)),
            Self::Drafted | Self::Contained => Some(TimeDelta::MAX),
            Self::Listed | Self::Recognised | Self::Blind => None,
        }
    }
}

/// What follows a post on a platform with that habit. The second takes two steps.
pub(crate) const FOLLOW_UPS: [&str; 2] = ["comment", "playlist"];
