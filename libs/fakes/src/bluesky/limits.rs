//! Rate limits of an account. Source: docs.bsky.app, rate limits.

use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderName, HeaderValue, StatusCode};

use super::api_error::ApiError;
use crate::fake::limits::{Limit, LimitUsage, Limits, WindowStart};

/// Calls that share one counter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Route {
    CreateSession,
    UploadBlob,
    /// Three points for each created record, two for a put or updated one, one for a
    /// deleted one.
    Write,
}

impl Route {
    const fn name(self) -> &'static str {
        match self {
            Self::CreateSession => "createSession",
            Self::UploadBlob => "uploadBlob",
            Self::Write => "write",
        }
    }

    /// Maximum points and window length in seconds.
    const fn windows(self) -> &'static [(u64, i64)] {
        match self {
            Self::CreateSession => &[(30, 300), (300, 86_400)],
            Self::UploadBlob => &[(1000, 86_400)],
            Self::Write => &[(5000, 3600), (35_000, 86_400)],
        }
    }
}

/// The usage of the window with the fewest remaining points.
pub(super) struct Allowance(LimitUsage);

/// Spends points; an error when the limit is exceeded.
pub(super) fn take(limits: &mut Limits, route: Route, points: u64, now: DateTime<Utc>) -> Result<Allowance, ApiError> {
    let mut tightest: Option<LimitUsage> = None;
    for &(max, seconds) in route.windows() {
        let (name, period) = (route.name(), TimeDelta::seconds(seconds));
        let limit = Limit { name, max, period, window_start: WindowStart::FirstRequest };
        let usage = limits.count(limit, "us", points, now);
        if usage.is_exceeded {
            return Err(Allowance(usage).exceeded());
        }
        tightest = tightest.filter(|it| it.remaining <= usage.remaining).or(Some(usage));
    }
    Ok(Allowance(tightest.expect("every route has a window")))
}

impl Allowance {
    /// An allowance without points until `resets_at`.
    pub(super) const fn none_until(resets_at: DateTime<Utc>) -> Self {
        Self(LimitUsage::none_until(5000, TimeDelta::hours(1), resets_at))
    }

    pub(super) fn headers(&self) -> [(HeaderName, HeaderValue); 4] {
        self.values()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().expect("numbers fit into a header")))
    }

    /// 429.
    pub(super) fn exceeded(&self) -> ApiError {
        let refusal = ApiError::xrpc(StatusCode::TOO_MANY_REQUESTS, "RateLimitExceeded", "Rate Limit Exceeded");
        self.values().into_iter().fold(refusal, |refusal, (name, value)| refusal.with(name, value))
    }

    /// The reset is in whole seconds since 1970, rounded up.
    fn values(&self) -> [(&'static str, String); 4] {
        let LimitUsage { max: most, remaining, resets_at: reset, period, .. } = self.0;
        let reset = (reset + TimeDelta::milliseconds(999)).timestamp();
        [
            ("ratelimit-limit", most.to_string()),
            ("ratelimit-remaining", remaining.to_string()),
            ("ratelimit-reset", reset.to_string()),
            ("ratelimit-policy", format!("{most};w={}", period.num_seconds())),
        ]
    }
}
