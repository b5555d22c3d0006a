use crate::faults::FaultProbabilities;
use crate::world::InjectedFault;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlatformFault {
    Fine,
    Unsent,
    /// No response arrives.
    CallLost,
    ResponseLost,
    /// The adapter times out, and the call takes effect after that.
    DoneLater,
    Error,
    /// The platform returns an error although the call took effect.
    ErrorAfter,
    /// The platform limits the rate: the call must be made again later.
    Limited,
    Refused,
    /// A platform that reviews posts accepts this post, and refuses or removes it later.
    RefusedLater,
    Revoked,
    /// The platform has forgotten the prepared upload, and the call had no effect.
    Forgotten,
}

impl InjectedFault for PlatformFault {
    const FINE: Self = Self::Fine;
    const DOWN: Self = Self::Unsent;

    fn name(self) -> &'static str {
        match self {
            Self::Fine => "",
            Self::Unsent => "not sent",
            Self::CallLost => "lost",
            Self::ResponseLost => "response lost",
            Self::DoneLater => "cut off, done later",
            Self::Error => "error, nothing done",
            Self::ErrorAfter => "error, done",
            Self::Limited => "limited",
            Self::Refused => "refused",
            Self::RefusedLater => "accepted, refused later",
            Self::Revoked => "revoked",
            Self::Forgotten => "forgotten",
        }
    }
}

impl PlatformFault {
    pub(crate) const fn is_done(self) -> bool {
        matches!(self, Self::Fine | Self::ResponseLost | Self::ErrorAfter)
    }
}

/// The probabilities for a call that changes something on the platform. Only a prepared upload can
/// be forgotten.
pub(crate) fn chances(probabilities: &FaultProbabilities, is_prepared: bool) -> [(f64, PlatformFault); 10] {
    let (call_failure, platform_error) =
        (probabilities.call_failure_probability, probabilities.platform_error_probability);
    let forgotten = if is_prepared { platform_error / 3.0 } else { 0.0 };
    [
        (call_failure / 3.0, PlatformFault::Unsent),
        (call_failure / 2.0, PlatformFault::CallLost),
        (call_failure, PlatformFault::ResponseLost),
        (call_failure, PlatformFault::DoneLater),
        (platform_error / 6.0, PlatformFault::Error),
        (platform_error / 6.0, PlatformFault::ErrorAfter),
        (platform_error / 4.0, PlatformFault::Limited),
        (platform_error / 8.0, PlatformFault::Refused),
        (platform_error / 8.0, PlatformFault::Revoked),
        (forgotten, PlatformFault::Forgotten),
    ]
}

/// The probabilities for a refresh, which is never refused permanently without a reason. A lost
/// response is rare, because it costs the grant where refresh tokens rotate.
pub(crate) fn refresh_probabilities(probabilities: &FaultProbabilities) -> [(f64, PlatformFault); 5] {
    let (call_failure, platform_error) =
        (probabilities.call_failure_probability, probabilities.platform_error_probability);
    [
        (call_failure / 2.0, PlatformFault::Unsent),
        (call_failure / 4.0, PlatformFault::CallLost),
        (call_failure / 4.0, PlatformFault::ResponseLost),
        (platform_error / 4.0, PlatformFault::Error),
        (platform_error / 8.0, PlatformFault::Revoked),
    ]
}

pub(crate) fn read_probabilities(probabilities: &FaultProbabilities) -> [(f64, PlatformFault); 3] {
    [
        (probabilities.call_failure_probability, PlatformFault::Unsent),
        (probabilities.call_failure_probability, PlatformFault::ResponseLost),
        (probabilities.platform_error_probability / 4.0, PlatformFault::Error),
    ]
}
