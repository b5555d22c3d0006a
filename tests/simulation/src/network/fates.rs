//! How platforms fail.

use crate::faults::Weather;
use crate::world::Fate;

/// What becomes of a call to a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlatformFate {
    Fine,
    /// The connection was never made.
    Unsent,
    /// It gets lost on the way, and nobody answers.
    CallLost,
    /// It is done, and nobody hears of it.
    AnswerLost,
    /// It is cut off by the adapter, and done later.
    DoneLater,
    /// It answers with an error of its own; nothing was done.
    Error,
    /// It answers with an error of its own, and did it all the same.
    ErrorAfter,
    /// It wants to be asked again later.
    Limited,
    /// It does not want this, and never will.
    Refused,
    /// The person took the grant back.
    Revoked,
    /// It does not know any more what was prepared; nothing was done.
    Forgotten,
}

impl Fate for PlatformFate {
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
            Self::Revoked => "revoked",
            Self::Forgotten => "forgotten",
        }
    }
}

impl PlatformFate {
    /// Whether it takes effect while the caller waits.
    pub(crate) const fn is_done(self) -> bool {
        matches!(self, Self::Fine | Self::AnswerLost | Self::ErrorAfter)
    }
}

/// The chances of a call that changes something over there. Only what was
/// prepared can be forgotten.
pub(crate) fn chances(weather: &Weather, is_prepared: bool) -> [(f64, PlatformFate); 10] {
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

/// The chances of a renewal. It is never refused for good without a reason,
/// and an answer that gets lost costs the grant where tokens rotate, so that it
/// is rare.
pub(crate) fn renewal_chances(weather: &Weather) -> [(f64, PlatformFate); 5] {
    let (failing, moody) = (weather.failing, weather.moody);
    [
        (failing / 2.0, PlatformFate::Unsent),
        (failing / 4.0, PlatformFate::CallLost),
        (failing / 4.0, PlatformFate::AnswerLost),
        (moody / 4.0, PlatformFate::Error),
        (moody / 8.0, PlatformFate::Revoked),
    ]
}

/// The chances of a call that only asks.
pub(crate) fn question_chances(weather: &Weather) -> [(f64, PlatformFate); 3] {
    [
        (weather.failing, PlatformFate::Unsent),
        (weather.failing, PlatformFate::AnswerLost),
        (weather.moody / 4.0, PlatformFate::Error),
    ]
}
