//! The meaning of error responses as data: status, code and message of one platform.

use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::call_error::{CallError, Details, Effect, ErrorKind};
use crate::response;

/// The errors of one platform. The first rule that matches decides; if none does, the status has its standard meaning.
///
/// Rules apply only to responses in the platform's error format, which have a code or a message at the documented
/// places. The response of a proxy or firewall says nothing about the account or the post.
pub(crate) struct ErrorTable {
    /// The name of the platform for the user: `X`, or `the server` where users name it.
    pub(crate) title: &'static str,
    /// Where codes are, as JSON pointers; `*` means every element of a list. If the value is a URL, its last segment is
    /// the code.
    pub(crate) code_at: &'static [&'static str],
    /// Where the message is, the most readable place first.
    pub(crate) message_at: &'static [&'static str],
    /// The message, where it is more than one value of the response.
    pub(crate) message: Option<fn(&Value) -> Option<String>>,
    /// The JSON of a response, where servers put other text around it.
    pub(crate) json_of: fn(&[u8]) -> &[u8],
    /// Whether an error response is the platform's own: a proxy may have a code or a message at the same places.
    pub(crate) is_own: fn(&Value) -> bool,
    /// Whether an error response without code and message comes from the platform: some software refuses without a
    /// body, or only with a header.
    pub(crate) is_own_without_code: fn(StatusCode, &HeaderMap, &[u8]) -> bool,
    /// Whether a success status carries an error.
    pub(crate) is_error: fn(&Value) -> bool,
    /// In addition to `Retry-After`.
    pub(crate) resets: &'static [Reset],
    pub(crate) rules: &'static [ErrorRule],
    /// Whether the adapter can find out whether a publish call took effect.
    pub(crate) can_look_up: bool,
}

/// One row: the conditions, and the meaning of a response that fulfills all of them.
#[derive(Clone, Copy)]
pub(crate) struct ErrorRule {
    status: Option<u16>,
    codes: &'static [&'static str],
    code_range: Option<(i64, i64)>,
    contains: &'static [&'static str],
    is_true: Option<&'static str>,
    has: Option<&'static str>,
    kind: ErrorKind,
    retry_after: Option<TimeDelta>,
    retry_at: Option<fn(DateTime<Utc>) -> DateTime<Utc>>,
    has_ended: bool,
    user_message: Option<&'static str>,
}

#[derive(Clone, Copy)]
pub(crate) enum Reset {
    /// A header with Unix seconds, which counts while the other one is 0.
    UnixWhenUsedUp {
        remaining: &'static str,
        reset: &'static str,
    },
    /// Seconds, at a JSON pointer.
    Seconds(&'static str),
    /// Milliseconds, at a JSON pointer.
    Milliseconds(&'static str),
    Custom(fn(&HeaderMap, DateTime<Utc>) -> Option<DateTime<Utc>>),
}

impl ErrorRule {
    const ANY: Self = Self {
        status: None,
        codes: &[],
        code_range: None,
        contains: &[],
        is_true: None,
        has: None,
        kind: ErrorKind::InvalidPost,
        retry_after: None,
        retry_at: None,
        has_ended: false,
        user_message: None,
    };

    pub(crate) const fn status(status: u16) -> Self {
        Self { status: Some(status), ..Self::ANY }
    }

    /// Responses with one of these codes, whatever their status.
    pub(crate) const fn codes(codes: &'static [&'static str]) -> Self {
        Self { codes, ..Self::ANY }
    }

    /// Responses with a numeric code in this range, both ends included.
    pub(crate) const fn code_range(first: i64, last: i64) -> Self {
        Self { code_range: Some((first, last)), ..Self::ANY }
    }

    /// Responses whose message contains one of these, in lower case. For platforms that send no code.
    pub(crate) const fn message(contains: &'static [&'static str]) -> Self {
        Self { contains, ..Self::ANY }
    }

    pub(crate) const fn is_true(pointer: &'static str) -> Self {
        Self { is_true: Some(pointer), ..Self::ANY }
    }

    pub(crate) const fn and_codes(self, codes: &'static [&'static str]) -> Self {
        Self { codes, ..self }
    }

    /// And a message that contains one of these, in lower case.
    pub(crate) const fn message_contains(self, contains: &'static [&'static str]) -> Self {
        Self { contains, ..self }
    }

    pub(crate) const fn and_has(self, pointer: &'static str) -> Self {
        Self { has: Some(pointer), ..self }
    }

    pub(crate) const fn kind(self, kind: ErrorKind) -> Self {
        Self { kind, ..self }
    }

    /// The wait, if the platform states none.
    pub(crate) const fn retry_after(self, wait: TimeDelta) -> Self {
        Self { retry_after: Some(wait), ..self }
    }

    /// When a limit ends that the platform resets at a fixed time, as a function of the present.
    pub(crate) const fn retry_at(self, resets_at: fn(DateTime<Utc>) -> DateTime<Utc>) -> Self {
        Self { retry_at: Some(resets_at), ..self }
    }

    pub(crate) const fn ended(self) -> Self {
        Self { has_ended: true, ..self }
    }

    /// The message for the user, to which the platform's own message is added in parentheses.
    pub(crate) const fn user_message(self, message: &'static str) -> Self {
        Self { user_message: Some(message), ..self }
    }

    fn matches(&self, status: StatusCode, response: &ParsedError<'_>) -> bool {
        self.status.is_none_or(|it| it == status.as_u16())
            && (self.codes.is_empty() || response.codes.iter().any(|it| self.codes.contains(&it.as_str())))
            && self.code_range.is_none_or(|range| response.codes.iter().any(|it| is_within(it, range)))
            && (self.contains.is_empty() || self.contains.iter().any(|it| response.lower_message.contains(it)))
            && self.is_true.is_none_or(|it| response.body.pointer(it) == Some(&Value::Bool(true)))
            && self.has.is_none_or(|it| response.body.pointer(it).is_some())
    }
}

fn is_within(code: &str, (first, last): (i64, i64)) -> bool {
    code.parse::<i64>().is_ok_and(|it| (first..=last).contains(&it))
}

struct ParsedError<'a> {
    body: &'a Value,
    codes: Vec<String>,
    message: Option<String>,
    lower_message: String,
}

impl ErrorTable {
    /// No code, no message, no rule: every status has its standard meaning. The base of every
    /// table.
    pub(crate) const STANDARD: Self = Self {
        title: "the platform",
        code_at: &[],
        message_at: &["/message", "/error_description", "/error"],
        message: None,
        json_of: whole,
        is_own: |_| true,
        is_own_without_code: |_, _, _| false,
        is_error: |_| false,
        resets: &[],
        rules: &[],
        can_look_up: true,
    };

    pub(crate) fn classify(
        &self,
        effect: Effect,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
        now: DateTime<Utc>,
    ) -> CallError {
        let is_own_without_code = (self.is_own_without_code)(status, headers, body);
        let body = serde_json::from_slice((self.json_of)(body)).ok().filter(self.is_own).unwrap_or_default();
        let response = self.parse(&body);
        let is_in_format = response.message.is_some() || !response.codes.is_empty() || is_own_without_code;
        let rule = self.rules.iter().find(|it| is_in_format && it.matches(status, &response));
        let kind = rule.map_or_else(|| standard_kind(status, is_in_format), |it| it.kind);
        let waits = rule.and_then(|it| it.retry_after).and_then(|it| now.checked_add_signed(it));
        let waits = rule.and_then(|it| it.retry_at).map(|it| it(now)).or(waits);
        CallError {
            kind,
            effect,
            status: Some(status),
            message: self.user_message(kind, status, rule, response.message.as_deref()),
            codes: response.codes,
            retry_at: self.retry_at(headers, &body, now).or(waits),
            has_ended: rule.is_some_and(|it| it.has_ended),
            can_look_up: self.can_look_up,
            may_have_published: false,
            details: Details::Response(body),
        }
    }

    pub(crate) fn is_error_in_success(&self, body: &[u8]) -> bool {
        serde_json::from_slice((self.json_of)(body)).is_ok_and(|it| (self.is_error)(&it))
    }

    fn parse<'a>(&self, body: &'a Value) -> ParsedError<'a> {
        let codes = self.code_at.iter().flat_map(|it| values(body, it)).filter_map(code).collect();
        let text = |it: &&str| values(body, it).into_iter().find_map(|it| it.as_str()).map(str::to_owned);
        let message = match self.message {
            Some(message) => message(body),
            None => self.message_at.iter().find_map(text),
        };
        let message = message.map(|it| response::shown(&it)).filter(|it| !it.is_empty());
        // Rules see every message, including those that the user does not see.
        let every = self.message_at.iter().flat_map(|it| values(body, it)).filter_map(Value::as_str);
        let lower_message = message.as_deref().into_iter().chain(every).collect::<Vec<_>>().join("\n").to_lowercase();
        ParsedError { body, codes, message, lower_message }
    }

    fn user_message(
        &self,
        kind: ErrorKind,
        status: StatusCode,
        rule: Option<&ErrorRule>,
        message: Option<&str>,
    ) -> String {
        let title = self.title;
        match (rule.and_then(|it| it.user_message), message) {
            (Some(advice), Some(platform_message)) => format!("{advice} ({platform_message})"),
            (Some(advice), None) => advice.to_owned(),
            (None, Some(platform_message)) => platform_message.to_owned(),
            (None, None) if kind == ErrorKind::Intermediary => {
                format!("a proxy or firewall in front of {title} returned {}", format_status(status))
            }
            (None, None) => format!("{title} returned {}", format_status(status)),
        }
    }

    fn retry_at(&self, headers: &HeaderMap, body: &Value, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let stated = self.resets.iter().find_map(|it| it.read(headers, body, now));
        stated.or_else(|| response::retry_at(headers, now))
    }
}

fn format_status(status: StatusCode) -> String {
    let name = status.canonical_reason().map(|it| format!(" {it}"));
    format!("{}{}", status.as_str(), name.unwrap_or_default())
}

fn whole(body: &[u8]) -> &[u8] {
    body
}

/// RFC 9110, and what follows for a call that may have been carried out. A 4xx outside the platform's error format
/// comes from an intermediary.
fn standard_kind(status: StatusCode, is_in_format: bool) -> ErrorKind {
    match status {
        StatusCode::TOO_MANY_REQUESTS => ErrorKind::RateLimited,
        StatusCode::REQUEST_TIMEOUT => ErrorKind::ServerError,
        it if it.is_client_error() && !is_in_format => ErrorKind::Intermediary,
        StatusCode::UNAUTHORIZED => ErrorKind::Unauthorized,
        StatusCode::FORBIDDEN => ErrorKind::Forbidden,
        it if it.is_client_error() => ErrorKind::InvalidPost,
        // An error that the platform sends with a status of success.
        it if it.is_success() && is_in_format => ErrorKind::InvalidPost,
        it if it.is_success() => ErrorKind::NoResponse,
        _ => ErrorKind::ServerError,
    }
}

impl Reset {
    fn read(self, headers: &HeaderMap, body: &Value, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let number = |name: &str| headers.get(name)?.to_str().ok()?.parse::<i64>().ok();
        match self {
            Self::UnixWhenUsedUp { remaining, reset } => {
                number(reset).filter(|_| number(remaining) == Some(0)).and_then(|it| DateTime::from_timestamp(it, 0))
            }
            Self::Seconds(pointer) => after(now, body.pointer(pointer)?, 1_000.0),
            Self::Milliseconds(pointer) => after(now, body.pointer(pointer)?, 1.0),
            Self::Custom(read) => read(headers, now),
        }
    }
}

/// `now` plus `value` units of `unit_ms` milliseconds, rounded up.
fn after(now: DateTime<Utc>, value: &Value, unit_ms: f64) -> Option<DateTime<Utc>> {
    let milliseconds = (value.as_f64()? * unit_ms).ceil();
    #[expect(clippy::cast_possible_truncation, reason = "it is limited to what fits")]
    let wait = (0.0..=1e15).contains(&milliseconds).then_some(milliseconds as i64)?;
    now.checked_add_signed(TimeDelta::try_milliseconds(wait)?)
}

fn values<'a>(body: &'a Value, pointer: &str) -> Vec<&'a Value> {
    match pointer.split_once("/*") {
        None => body.pointer(pointer).into_iter().collect(),
        Some((list, rest)) => {
            let elements = body.pointer(list).and_then(Value::as_array).into_iter().flatten();
            elements.flat_map(|it| values(it, rest)).collect()
        }
    }
}

/// A code as text: a number, a word, or the last part of a URL.
fn code(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => text.rsplit('/').next().filter(|it| !it.is_empty()).map(str::to_owned),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
