mod config;
pub(crate) mod memory;

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};

use axum::extract::FromRequestParts;
use chrono::{DateTime, Utc};
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderValue};
use storage::{Counted, minute_of};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimits {
    pub requests_per_minute: u32,
    /// Such a request counts towards `requests_per_minute` too.
    pub media_per_minute: u32,
    /// Concurrent calls to hosts that users name, for the requests of one user.
    pub calls_per_user: u32,
    /// Concurrent calls to one host that users name, for the requests of all users.
    pub calls_per_host: u32,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self { requests_per_minute: 60, media_per_minute: 30, calls_per_user: 3, calls_per_host: 10 }
    }
}

/// The client address, a request extension. It comes from the gateway's request context or the
/// socket. A header, which a client could forge, is trusted only if a
/// [`TrustedProxy`](crate::TrustedProxy) proves that it wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientIp(pub IpAddr);

impl ClientIp {
    /// Requests without an address share the unspecified address, and so one limit.
    pub(crate) fn from_extensions(extensions: &Extensions) -> Self {
        extensions.get().copied().unwrap_or(Self(IpAddr::V4(Ipv4Addr::UNSPECIFIED)))
    }

    /// The subject that requests from this address are counted for. A customer usually has a whole
    /// /64 of IPv6 addresses and could use a new one for each request, so only the first half of an
    /// IPv6 address counts.
    pub fn subject(self) -> String {
        match self.0.to_canonical() {
            IpAddr::V4(address) => format!("ip#{address}"),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                format!("ip#{a:x}:{b:x}:{c:x}:{d:x}::/64")
            }
        }
    }
}

impl ClientIp {
    pub(crate) fn page_subject(self) -> String {
        format!("pages#{}", self.subject())
    }
}

impl<S: Sync> FromRequestParts<S> for ClientIp {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::from_extensions(&parts.extensions))
    }
}

/// The requests left in this minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    pub(crate) over: bool,
    pub(crate) resets_at: DateTime<Utc>,
}

impl RateLimits {
    pub(crate) fn untouched(self, now: DateTime<Utc>) -> Budget {
        let limit = self.requests_per_minute;
        Budget { limit, remaining: limit, over: false, resets_at: minute_of(now).1 }
    }

    /// By the limit that has less left.
    pub(crate) fn budget(self, counted: &Counted, is_media: bool) -> Budget {
        let budget = |used: u32, limit: u32| Budget {
            limit,
            remaining: limit.saturating_sub(used),
            over: used > limit,
            resets_at: counted.window_ends,
        };
        let requests = budget(counted.requests, self.requests_per_minute);
        let media = budget(counted.media, self.media_per_minute);
        let media_has_less = (!media.over, media.remaining) < (!requests.over, requests.remaining);
        if is_media && media_has_less { media } else { requests }
    }
}

impl Budget {
    pub(crate) const LIMIT: &str = "x-ratelimit-limit";

    /// Seconds, at least 1.
    pub(crate) fn wait(self, now: DateTime<Utc>) -> u64 {
        let millis = (self.resets_at - now).num_milliseconds();
        u64::try_from(millis).unwrap_or(0).div_ceil(1000).max(1)
    }

    pub(crate) fn write(self, headers: &mut HeaderMap) {
        headers.insert(Self::LIMIT, HeaderValue::from(self.limit));
        headers.insert("x-ratelimit-remaining", HeaderValue::from(self.remaining));
        headers.insert("x-ratelimit-reset", HeaderValue::from(self.resets_at.timestamp()));
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::noon;

    use super::*;

    fn counted(requests: u32, media: u32) -> Counted {
        Counted { requests, media, window_ends: noon() }
    }

    #[test]
    fn the_last_request_of_the_minute_passes_and_the_next_does_not() {
        let limits = RateLimits::default();
        assert_eq!(limits.budget(&counted(60, 0), false).remaining, 0);
        assert!(!limits.budget(&counted(60, 0), false).over);
        assert!(limits.budget(&counted(61, 0), false).over);
    }

    #[test]
    fn upload_counts_for_both_limits_and_shows_the_tighter() {
        let limits = RateLimits::default();
        let shown = |requests, media| {
            let budget = limits.budget(&counted(requests, media), true);
            (budget.limit, budget.remaining, budget.over)
        };
        assert_eq!(shown(10, 10), (30, 20, false));
        assert_eq!(shown(55, 10), (60, 5, false));
        assert_eq!(shown(31, 31), (30, 0, true));
        assert_eq!(shown(61, 1), (60, 0, true));
        assert_eq!(shown(40, 10), (60, 20, false), "the limit of all requests where both have as much left");
    }

    #[test]
    fn pages_of_an_address_count_separately() {
        let [one, other] = [1, 2].map(|it| ClientIp([203, 0, 113, it].into()));
        assert_ne!(one.page_subject(), other.page_subject());
        assert_ne!(one.page_subject(), one.subject());
    }

    #[test]
    fn upload_limit_does_not_block_other_requests() {
        assert!(!RateLimits::default().budget(&counted(40, 35), false).over);
    }

    #[test]
    fn wait_is_at_least_one_second() {
        let budget = RateLimits::default().budget(&counted(61, 0), false);
        assert_eq!(budget.wait(noon() - TimeDelta::milliseconds(1500)), 2);
        assert_eq!(budget.wait(noon()), 1);
    }

    #[test]
    fn addresses_of_one_customer_are_counted_together() {
        let subject = |raw: &str| ClientIp(raw.parse().unwrap()).subject();
        assert_eq!(subject("2001:db8:1:2:3::4"), subject("2001:db8:1:2:ffff::1"));
        assert_ne!(subject("2001:db8:1:2::1"), subject("2001:db8:1:3::1"));
        assert_eq!(subject("::ffff:192.0.2.1"), subject("192.0.2.1"));
        assert_ne!(subject("192.0.2.1"), subject("192.0.2.2"));
    }
}
