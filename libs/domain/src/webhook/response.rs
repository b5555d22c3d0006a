//! What an endpoint answered, and what that means.

use chrono::TimeDelta;

use super::retry_schedule::CONNECT_TIME_OUT;

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointResponse {
    /// The status; `None` when there was no answer.
    pub status: Option<u16>,
    /// Why there was none, in words for the endpoint's owner.
    pub error: Option<String>,
    /// The beginning of what was answered.
    pub body: Option<String>,
    /// The wait that the endpoint asked for.
    pub retry_after: Option<TimeDelta>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// How much is kept of what an endpoint answers.
pub const SHOWN_BYTES: usize = 1024;

impl EndpointResponse {
    /// No answer, and why.
    pub fn none(error: impl Into<String>, took_ms: u64) -> Self {
        Self { status: None, error: Some(error.into()), body: None, retry_after: None, took_ms }
    }

    /// Whether the endpoint has taken the message: by a 2xx, and by nothing else.
    pub fn is_accepted(&self) -> bool {
        self.status.is_some_and(|it| (200..300).contains(&it))
    }

    /// Whether the endpoint wants to hear nothing any more.
    pub fn is_gone(&self) -> bool {
        self.status == Some(410)
    }

    /// Whether the endpoint took the whole time and gave no answer. A refused or broken
    /// connection is none: it holds nothing up.
    pub fn is_time_out(&self) -> bool {
        self.status.is_none() && CONNECT_TIME_OUT.num_milliseconds().unsigned_abs() <= self.took_ms
    }

    /// Whether the endpoint has too much to do.
    pub(super) fn is_throttled(&self) -> bool {
        matches!(self.status, Some(429 | 502 | 504))
    }
}

/// The beginning of an answer as its owner is shown it: text, at most
/// [`SHOWN_BYTES`] long, without what could move the cursor.
pub fn shown(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES)]);
    let clean: String = text.chars().filter(|it| !it.is_control() || *it == '\n' || *it == '\t').collect();
    (!clean.is_empty()).then_some(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_2xx_is_accepted_and_only_410_is_the_end() {
        let answered = |status| EndpointResponse { status: Some(status), ..EndpointResponse::none("", 0) };
        for status in [200, 201, 202, 204, 299] {
            assert!(answered(status).is_accepted(), "{status}");
        }
        for status in [100, 199, 301, 302, 307, 400, 404, 410, 500] {
            assert!(!answered(status).is_accepted(), "{status}");
        }
        assert!(answered(410).is_gone() && !answered(404).is_gone());
        assert!(!EndpointResponse::none("no answer", 0).is_accepted());
    }

    #[test]
    fn only_a_long_wait_without_an_answer_is_a_time_out() {
        assert!(EndpointResponse::none("no answer within 15 s", 15_000).is_time_out());
        assert!(EndpointResponse::none("no connection within 10 s", 10_000).is_time_out());
        assert!(!EndpointResponse::none("refused", 20).is_time_out());
        assert!(!EndpointResponse { status: Some(504), ..EndpointResponse::none("", 15_000) }.is_time_out());
    }

    #[test]
    fn an_answer_is_cut_and_cleaned() {
        assert_eq!(shown(b"").as_deref(), None);
        assert_eq!(shown(b"no\x1b[2J way\n").as_deref(), Some("no[2J way\n"));
        assert!(shown(&[b'x'; 5000]).unwrap().len() <= SHOWN_BYTES);
    }
}
