//! How much one account may do. Source: docs.bsky.app, rate limits.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderName, HeaderValue, StatusCode};

use super::refusal::Refusal;

/// What is counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Route {
    CreateSession,
    UploadBlob,
    /// Three points for a record that is created, two for one that is put or
    /// updated, one for one that is deleted.
    Write,
}

impl Route {
    /// The most points, and within how many seconds.
    const fn windows(self) -> &'static [(u64, i64)] {
        match self {
            Self::CreateSession => &[(30, 300), (300, 86_400)],
            Self::UploadBlob => &[(1000, 86_400)],
            Self::Write => &[(5000, 3600), (35_000, 86_400)],
        }
    }
}

/// What was used; a window begins with its first use.
#[derive(Default)]
pub(super) struct Meters(HashMap<(Route, usize), (DateTime<Utc>, u64)>);

/// What is left of the window that is nearest to its end.
pub(super) struct Allowance {
    limit: u64,
    remaining: u64,
    resets_at: DateTime<Utc>,
    window: TimeDelta,
}

impl Meters {
    /// Uses points, or refuses.
    pub(super) fn take(&mut self, route: Route, points: u64, now: DateTime<Utc>) -> Result<Allowance, Refusal> {
        let mut tightest: Option<Allowance> = None;
        for (index, &(limit, seconds)) in route.windows().iter().enumerate() {
            let window = TimeDelta::seconds(seconds);
            let (since, used) = self.0.entry((route, index)).or_insert((now, 0));
            if *since + window <= now {
                (*since, *used) = (now, 0);
            }
            *used += points;
            let allowance =
                Allowance { limit, remaining: limit.saturating_sub(*used), resets_at: *since + window, window };
            if limit < *used {
                return Err(allowance.exceeded());
            }
            if tightest.as_ref().is_none_or(|it| allowance.remaining < it.remaining) {
                tightest = Some(allowance);
            }
        }
        Ok(tightest.expect("every route has a window"))
    }
}

impl Allowance {
    /// An allowance that is used up until then.
    pub(super) fn none_until(resets_at: DateTime<Utc>) -> Self {
        Self { limit: 5000, remaining: 0, resets_at, window: TimeDelta::hours(1) }
    }

    pub(super) fn headers(&self) -> [(HeaderName, HeaderValue); 4] {
        self.values()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().expect("numbers fit into a header")))
    }

    /// 429.
    pub(super) fn exceeded(&self) -> Refusal {
        let refusal = Refusal::xrpc(StatusCode::TOO_MANY_REQUESTS, "RateLimitExceeded", "Rate Limit Exceeded");
        self.values().into_iter().fold(refusal, |refusal, (name, value)| refusal.with(name, value))
    }

    /// The reset is in whole seconds since 1970, never before it happens.
    fn values(&self) -> [(&'static str, String); 4] {
        let reset = (self.resets_at + TimeDelta::milliseconds(999)).timestamp();
        [
            ("ratelimit-limit", self.limit.to_string()),
            ("ratelimit-remaining", self.remaining.to_string()),
            ("ratelimit-reset", reset.to_string()),
            ("ratelimit-policy", format!("{};w={}", self.limit, self.window.num_seconds())),
        ]
    }
}
