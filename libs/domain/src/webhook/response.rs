use chrono::TimeDelta;

use super::retry_schedule::CONNECT_TIME_OUT;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointResponse {
    pub status: Option<u16>,
    pub error: Option<String>,
    pub body: Option<String>,
    pub retry_after: Option<TimeDelta>,
    pub took_ms: u64,
}

pub const SHOWN_BYTES: usize = 1024;

impl EndpointResponse {
    pub fn none(error: impl Into<String>, took_ms: u64) -> Self {
        Self { status: None, error: Some(error.into()), body: None, retry_after: None, took_ms }
    }

    pub fn is_accepted(&self) -> bool {
        self.status.is_some_and(|it| (200..300).contains(&it))
    }

    pub fn is_gone(&self) -> bool {
        self.status == Some(410)
    }

    /// Whether the endpoint did not respond within the timeout. A refused or broken connection is
    /// no timeout, because it occupies no worker.
    pub fn is_time_out(&self) -> bool {
        self.status.is_none() && CONNECT_TIME_OUT.num_milliseconds().unsigned_abs() <= self.took_ms
    }

    pub(super) fn is_throttled(&self) -> bool {
        matches!(self.status, Some(429 | 502 | 504))
    }
}

/// The beginning of a response body for its owner: text of at most [`SHOWN_BYTES`], without control
/// characters.
pub fn shown(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES)]);
    let clean: String = text.chars().filter(|it| !it.is_control() || *it == '\n' || *it == '\t').collect();
    (!clean.is_empty()).then_some(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_2xx_is_accepted_and_only_410_is_gone() {
        let response = |status| EndpointResponse { status: Some(status), ..EndpointResponse::none("", 0) };
        for status in [200, 201, 202, 204, 299] {
            assert!(response(status).is_accepted(), "{status}");
        }
        for status in [100, 199, 301, 302, 307, 400, 404, 410, 500] {
            assert!(!response(status).is_accepted(), "{status}");
        }
        assert!(response(410).is_gone() && !response(404).is_gone());
        assert!(!EndpointResponse::none("no answer", 0).is_accepted());
    }

    #[test]
    fn only_a_missing_response_is_a_timeout() {
        assert!(EndpointResponse::none("no answer within 15 s", 15_000).is_time_out());
        assert!(EndpointResponse::none("no connection within 10 s", 10_000).is_time_out());
        assert!(!EndpointResponse::none("refused", 20).is_time_out());
        assert!(!EndpointResponse { status: Some(504), ..EndpointResponse::none("", 15_000) }.is_time_out());
    }

    #[test]
    fn response_body_is_shortened_and_cleaned() {
        assert_eq!(shown(b"").as_deref(), None);
        assert_eq!(shown(b"no\x1b[2J way\n").as_deref(), Some("no[2J way\n"));
        assert!(shown(&[b'x'; 5000]).unwrap().len() <= SHOWN_BYTES);
    }
}
