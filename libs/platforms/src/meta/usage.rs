//! Rate limit usage, from the headers of Meta's responses.

use chrono::{DateTime, TimeDelta, Utc};
use http::HeaderMap;
use serde_json::Value;

/// The usage of the app, in percent.
const OF_THE_APP: &str = "x-app-usage";

/// The usage of accounts: a list like that of the app, by account id.
const OF_THE_ACCOUNT: &str = "x-business-use-case-usage";

/// In percent. From here on, calls that can wait are slowed down.
const NEAR: u64 = 80;

/// How long they wait. Usage is that of the last hour or day.
const SLOWLY: TimeDelta = TimeDelta::minutes(1);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// The highest percentage of all. At 100, calls are refused.
    percent: u64,
    /// Minutes until calls are accepted again, if they are refused now.
    minutes: u64,
}

impl Usage {
    /// Zero if there are no such headers.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let read = |name: &str| serde_json::from_str::<Value>(headers.get(name)?.to_str().ok()?).ok();
        let mut all = Self::default();
        if let Some(app_usage) = read(OF_THE_APP) {
            all.count(&app_usage);
        }
        let account_usage = read(OF_THE_ACCOUNT);
        let lists = account_usage.as_ref().and_then(Value::as_object).into_iter().flat_map(|it| it.values());
        lists.filter_map(Value::as_array).flatten().for_each(|it| all.count(it));
        all
    }

    fn count(&mut self, usage: &Value) {
        let percents = ["call_count", "total_cputime", "total_time"].iter().filter_map(|it| usage[*it].as_u64());
        self.percent = percents.fold(self.percent, u64::max);
        self.minutes = self.minutes.max(usage["estimated_time_to_regain_access"].as_u64().unwrap_or(0));
    }

    /// When to repeat a call that would be made at `at`: later near the limit.
    pub(crate) fn not_before(self, at: DateTime<Utc>, now: DateTime<Utc>) -> DateTime<Utc> {
        if self.percent < NEAR { at } else { at.max(now + SLOWLY) }
    }
}

/// When calls that were refused for rate limits are accepted again: at most a day later, because
/// nothing counts longer. `None` if the headers do not state it.
pub(super) fn rate_limit_reset(headers: &HeaderMap, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let minutes = i64::try_from(Usage::from_headers(headers).minutes).unwrap_or(i64::MAX).min(24 * 60);
    (minutes != 0).then(|| now + TimeDelta::minutes(minutes))
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn usage(headers: &[(&'static str, &'static str)]) -> Usage {
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        Usage::from_headers(&headers.iter().map(header).collect())
    }

    #[test]
    fn highest_usage_counts() {
        let app = (OF_THE_APP, r#"{"call_count":28,"total_time":25,"total_cputime":91}"#);
        let account = (
            OF_THE_ACCOUNT,
            r#"{"17":[{"type":"pages","call_count":3,"total_cputime":1,"total_time":1},{"type":"instagram","call_count":100,"total_cputime":1,"total_time":1,"estimated_time_to_regain_access":19}]}"#,
        );
        assert_eq!(usage(&[app]), Usage { percent: 91, minutes: 0 });
        assert_eq!(usage(&[app, account]), Usage { percent: 100, minutes: 19 });
        for nonsense in ["", "[]", "null", r#"{"17":7}"#, r#"{"call_count":"many"}"#, r#"{"17":[[]]}"#] {
            assert_eq!(usage(&[(OF_THE_APP, nonsense), (OF_THE_ACCOUNT, nonsense)]), Usage::default(), "{nonsense}");
        }
    }

    #[test]
    fn calls_wait_near_the_limit() {
        let soon = noon() + TimeDelta::seconds(3);
        for (percent, expected) in [(0, soon), (79, soon), (80, noon() + SLOWLY), (100, noon() + SLOWLY)] {
            assert_eq!(Usage { percent, minutes: 0 }.not_before(soon, noon()), expected, "{percent}");
        }
    }

    #[test]
    fn rate_limit_ends_at_the_stated_time() {
        for (minutes, expected) in [("0", None), ("19", Some(19)), ("18446744073709551615", Some(24 * 60))] {
            let usage = format!(r#"{{"17":[{{"call_count":100,"estimated_time_to_regain_access":{minutes}}}]}}"#);
            let name = HeaderName::from_static(OF_THE_ACCOUNT);
            let headers = [(name, HeaderValue::from_str(&usage).unwrap())].into_iter().collect();
            let expected = expected.map(|it| noon() + TimeDelta::minutes(it));
            assert_eq!(rate_limit_reset(&headers, noon()), expected, "{minutes}");
        }
    }
}
