//! The simulated platforms. Together they cover every way to distinguish a repeat from a first
//! post, with and without preparation, and every kind of refresh.

use std::time::Duration;

use chrono::TimeDelta;
use platforms::{LeadTimes, RefreshPolicy};

/// How a platform can look up a post when the response to its publish call was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookUpSupport {
    /// The platform remembers an idempotency key for an hour: a repeated call returns the first
    /// post.
    Keyed,
    /// The platform remembers a nonce for minutes, and has no list.
    Nonce,
    /// The platform remembers a transaction id for minutes, and lists the public posts with it.
    Transaction,
    /// A draft is published, which has no further effect the second time. The draft shows whether
    /// it is public.
    Drafted,
    /// A container is published once, and shows whether it was. A second call is an error.
    Contained,
    /// The platform lists the public posts with our references.
    Listed,
    /// The platform lists the public posts, but they all look alike.
    Recognized,
    Blind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlatformBehavior {
    None,
    /// The platform accepts posts and reviews them before they become public or are refused.
    Reviewing,
    /// The platform reviews public posts, and removes some of them. A follow-up finds that: [`REVIEW`].
    Removing,
    /// The platform gives posts to a person, who publishes them later or never.
    HandingOver,
    /// The platform's rate limits last for more than a day.
    Rationing,
    /// An account may publish [`QUOTA`] posts within a day. The platform returns the time of the
    /// next one.
    Counting,
    /// The platform charges for look-ups.
    Charging,
    /// The platform has follow-ups of each public post: [`FOLLOW_UPS`].
    Following,
    Slow,
    /// The platform lists a post [`LISTED_AFTER`] its publication, and refuses a duplicate.
    Lagging,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) certainty: LookUpSupport,
    /// How credentials are refreshed. A refresh token works once; a second use ends the grant.
    pub(crate) refresh_policy: RefreshPolicy,
    /// Whether credentials expire.
    pub(crate) ends: bool,
    /// The number of calls that prepare a post before the publish call. The platform may forget
    /// their result.
    pub(crate) steps: usize,
    pub(crate) behavior: PlatformBehavior,
}

pub(crate) static SPECS: [Spec; 21] = [
    spec("keyed", LookUpSupport::Keyed, RefreshPolicy::Rotating, true, 0),
    spec("listed", LookUpSupport::Listed, RefreshPolicy::Extending, true, 0),
    spec("blind", LookUpSupport::Blind, RefreshPolicy::Never, true, 0),
    spec("keyed-in-steps", LookUpSupport::Keyed, RefreshPolicy::Never, false, 2),
    spec("listed-in-steps", LookUpSupport::Listed, RefreshPolicy::Rotating, true, 3),
    spec("blind-in-steps", LookUpSupport::Blind, RefreshPolicy::Extending, true, 1),
    // The last step reads the posts that the account shows.
    spec("recognized", LookUpSupport::Recognized, RefreshPolicy::Never, false, 1),
    spec("recognized-in-steps", LookUpSupport::Recognized, RefreshPolicy::Rotating, true, 3),
    spec("nonce", LookUpSupport::Nonce, RefreshPolicy::Never, false, 0),
    spec("transaction", LookUpSupport::Transaction, RefreshPolicy::Rotating, true, 1),
    spec("drafted", LookUpSupport::Drafted, RefreshPolicy::Never, false, 2),
    spec("contained", LookUpSupport::Contained, RefreshPolicy::Extending, true, 3),
    spec("reviewing", LookUpSupport::Listed, RefreshPolicy::Extending, true, 0).with(PlatformBehavior::Reviewing),
    spec("rationing", LookUpSupport::Listed, RefreshPolicy::Never, false, 0).with(PlatformBehavior::Rationing),
    spec("counting", LookUpSupport::Contained, RefreshPolicy::Never, false, 2).with(PlatformBehavior::Counting),
    spec("charging", LookUpSupport::Listed, RefreshPolicy::Rotating, true, 1).with(PlatformBehavior::Charging),
    spec("following", LookUpSupport::Listed, RefreshPolicy::Rotating, true, 0).with(PlatformBehavior::Following),
    spec("removing", LookUpSupport::Listed, RefreshPolicy::Rotating, true, 0).with(PlatformBehavior::Removing),
    spec("handing-over", LookUpSupport::Listed, RefreshPolicy::Never, false, 0).with(PlatformBehavior::HandingOver),
    spec("lagging", LookUpSupport::Listed, RefreshPolicy::Extending, true, 0).with(PlatformBehavior::Lagging),
    spec("slow", LookUpSupport::Listed, RefreshPolicy::Never, false, 0).with(PlatformBehavior::Slow),
];

/// The platforms of random runs, without the one whose list lags: until its list shows a post, it
/// is unknown whether a change of the post is too late. Slow calls are drawn for every platform.
pub(crate) fn random_specs() -> impl Iterator<Item = &'static Spec> {
    SPECS.iter().filter(|it| !matches!(it.behavior, PlatformBehavior::Lagging | PlatformBehavior::Slow))
}

const fn spec(
    name: &'static str,
    certainty: LookUpSupport,
    refresh_policy: RefreshPolicy,
    ends: bool,
    steps: usize,
) -> Spec {
    Spec { name, certainty, refresh_policy, ends, steps, behavior: PlatformBehavior::None }
}

impl Spec {
    const fn with(self, behavior: PlatformBehavior) -> Self {
        Self { behavior, ..self }
    }

    pub(crate) fn named(name: &str) -> Self {
        *SPECS.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("a platform {name}"))
    }

    /// Whether it can always be determined if a post is public, so that every post becomes public
    /// exactly once.
    pub(crate) fn is_certain(&self) -> bool {
        !matches!(self.certainty, LookUpSupport::Blind | LookUpSupport::Nonce)
    }

    /// Whether a post that the platform does not show is certainly not public. A list may lag, and
    /// a list of posts that look alike does not show which post is missing.
    pub(crate) fn proves_absence(&self) -> bool {
        self.is_certain() && self.certainty != LookUpSupport::Recognized && self.behavior != PlatformBehavior::Lagging
    }

    pub(crate) const fn follow_ups(&self) -> &'static [&'static str] {
        match self.behavior {
            PlatformBehavior::Following => &FOLLOW_UPS,
            PlatformBehavior::Removing => &[REVIEW],
            _ => &[],
        }
    }

    /// `None` without preparation.
    pub(crate) fn lead(&self) -> LeadTimes {
        LeadTimes { always: (0 < self.steps).then_some(LEAD), ..LeadTimes::NONE }
    }
}

/// Before the due time.
const LEAD: TimeDelta = TimeDelta::seconds(60);

/// For a call whose adapter timed out.
pub(crate) const SETTLES: TimeDelta = TimeDelta::seconds(65);

/// For the response to the publish call.
pub(crate) const TIMEOUT: TimeDelta = TimeDelta::seconds(15);

/// Nearly as long as an adapter waits.
pub(crate) const SLOW: Duration = Duration::from_secs(37);

/// The minimum on a `Rationing` platform.
pub(crate) const RATIONED_FOR: Duration = Duration::from_hours(25);

/// Longer than [`SETTLES`].
pub(crate) const LISTED_AFTER: TimeDelta = TimeDelta::minutes(5);

/// Posts of an account within [`DAY`].
pub(crate) const QUOTA: usize = 3;

pub(crate) const DAY: TimeDelta = TimeDelta::days(1);

impl LookUpSupport {
    /// Whether the prepared object itself is published: then each object, not each target, is
    /// public at most once.
    pub(crate) const fn is_of_what_was_prepared(self) -> bool {
        matches!(self, Self::Drafted | Self::Contained)
    }

    /// How long a platform recognizes a publish call, if a repeated call returns the first post.
    pub(crate) const fn key_lasts(self) -> Option<TimeDelta> {
        match self {
            Self::Keyed => Some(TimeDelta::hours(1)),
            Self::Nonce => Some(TimeDelta::minutes(5)),
            Self::Transaction => Some(TimeDelta::minutes(10)),
            Self::Drafted | Self::Contained => Some(TimeDelta::MAX),
            Self::Listed | Self::Recognized | Self::Blind => None,
        }
    }
}

/// The follow-ups of a post on a `Following` platform. The second takes two steps.
pub(crate) const FOLLOW_UPS: [&str; 2] = ["comment", "playlist"];

/// The follow-up of a post on a `Removing` platform. It takes three steps.
pub(crate) const REVIEW: &str = "review";
