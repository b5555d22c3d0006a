//! How platforms fail.

use crate::faults::FaultProbabilities;
use crate::world::InjectedFault;

/// What becomes of a call to a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlatformFate {
    Fine,
    /// The connection was never made.
    Unsent,
    /// The call is lost on its way, and no answer comes.
    CallLost,
    /// The call takes effect, and its answer is lost.
    AnswerLost,
    /// The adapter times out, and the call takes effect after that.
    DoneLater,
    /// The platform answers with an error, and did nothing.
    Error,
    /// The platform answers with an error although the call took effect.
    ErrorAfter,
    /// The platform limits the rate: the call is to be made again later.
    Limited,
    /// The platform refuses this post for good.
    Refused,
    /// A platform that looks at what it has taken refuses this post after that.
    RefusedLater,
    /// The person has revoked the grant.
    Revoked,
    /// The platform has forgotten what was prepared, and did nothing.
    Forgotten,
}

impl InjectedFault for PlatformFate {
    const FINE: Self = Self::Fine;
    const DOWN: Self = Self::Unsent;

    fn name(self) -> &'static str {
        match self {
            Self::Fine => "",
            Self::Unsent => "not sent",
            Self::CallLost => "lost",
            Self::AnswerLost => "answer lost",
            Self::DoneLater => "cut off, done later",
            Self::Error => "error, nothing done",
            Self::ErrorAfter => "error, done",
            Self::Limited => "limited",
            Self::Refused => "refused",
            Self::RefusedLater => "taken, refused later",
            Self::Revoked => "revoked",
            Self::Forgotten => "forgotten",
        }
    }
}

impl PlatformFate {
    /// Whether the call takes effect while its caller waits.
    pub(crate) const fn is_done(self) -> bool {
        matches!(self, Self::Fine | Self::AnswerLost | Self::ErrorAfter)
    }
}

/// The chances for a call that changes something on the platform. Only what was
/// prepared can be forgotten.
pub(crate) fn chances(weather: &FaultProbabilities, is_prepared: bool) -> [(f64, PlatformFate); 10] {
    let (failing, moody) = (weather.failing, weather.moody);
    let forgetful = if is_prepared { moody / 3.0 } else { 0.0 };
    [
        (failing / 3.0, PlatformFate::Unsent),
        (failing / 2.0, PlatformFate::CallLost),
        (failing, PlatformFate::AnswerLost),
        (failing, PlatformFate::DoneLater),
        (moody / 6.0, PlatformFate::Error),
        (moody / 6.0, PlatformFate::ErrorAfter),
        (moody / 4.0, PlatformFate::Limited),
        (moody / 8.0, PlatformFate::Refused),
        (moody / 8.0, PlatformFate::Revoked),
        (forgetful, PlatformFate::Forgotten),
    ]
}

/// The chances for a renewal. It is never refused for good without a reason. A
/// lost answer is rare, because where refresh tokens rotate it costs the grant.
pub(crate) fn renewal_chances(weather: &FaultProbabilities) -> [(f64, PlatformFate); 5] {
    let (failing, moody) = (weather.failing, weather.moody);
    [
        (failing / 2.0, PlatformFate::Unsent),
        (failing / 4.0, PlatformFate::CallLost),
        (failing / 4.0, PlatformFate::AnswerLost),
        (moody / 4.0, PlatformFate::Error),
        (moody / 8.0, PlatformFate::Revoked),
    ]
}

/// The chances for a call that only reads.
pub(crate) fn question_chances(weather: &FaultProbabilities) -> [(f64, PlatformFate); 3] {
    [
        (weather.failing, PlatformFate::Unsent),
        (weather.failing, PlatformFate::AnswerLost),
        (weather.moody / 4.0, PlatformFate::Error),
    ]
}
