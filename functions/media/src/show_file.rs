//! `GET /files/…`: serves files to platforms that fetch them. They have no token: the MAC in the
//! URL is the permission.

use std::ops::Range;

use api::ApiError;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::media::FileAddress;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, RANGE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};

use crate::App;
use crate::error::MediaError;

/// A file that is opened as a page cannot run scripts.
const POLICY: &str = "sandbox; default-src 'none'";

#[derive(Debug, PartialEq, Eq)]
enum RequestedRange {
    Whole,
    Range(Range<u64>),
    /// It begins after the end of the file.
    OutOfRange,
}

pub(crate) async fn show_file(State(app): State<App>, method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let response = app.file(&method, &uri, headers.get(RANGE)).await;
    // An unknown URL may become valid at any moment.
    response.unwrap_or_else(|error| ([(CACHE_CONTROL, "no-store")], ApiError::from(error)).into_response())
}

impl App {
    /// A forged URL, an expired one, and one without a file have the same response. The first two
    /// cost no call of a store.
    async fn file(&self, method: &Method, uri: &Uri, range: Option<&HeaderValue>) -> Result<Response, MediaError> {
        let now = self.api.clock.now();
        // The path as sent: a decoded one would have several spellings.
        let path = uri.path_and_query().ok_or(MediaError::NotFound)?.as_str();
        let address = self.file_key.as_ref().and_then(|key| FileAddress::verify(path, key, now));
        let address = address.ok_or(MediaError::NotFound)?;
        let key = address.file.bucket_key();
        let metadata = self.bucket.head(&key, 1).await?;
        let size = metadata.ok_or(MediaError::NotFound)?.size_bytes;
        if self.max_file_bytes < size {
            tracing::warn!(size, "file is too large for a function to serve");
            return Err(MediaError::NotFound);
        }

        let (status, part) = match parse_range(range, size) {
            RequestedRange::Whole => (StatusCode::OK, 0..size),
            RequestedRange::Range(part) => (StatusCode::PARTIAL_CONTENT, part),
            RequestedRange::OutOfRange => {
                let headers = [(CONTENT_RANGE, format!("bytes */{size}")), (CACHE_CONTROL, "no-store".to_owned())];
                return Ok((StatusCode::RANGE_NOT_SATISFIABLE, headers).into_response());
            }
        };
        let mut headers: Vec<(HeaderName, String)> = vec![
            (CONTENT_TYPE, address.file.mime_type().as_str().to_owned()),
            (CONTENT_LENGTH, (part.end - part.start).to_string()),
            (ACCEPT_RANGES, "bytes".to_owned()),
            (CONTENT_SECURITY_POLICY, POLICY.to_owned()),
            // Shared caches would show the file after it was deleted.
            (CACHE_CONTROL, format!("private, max-age={}", (address.expires_at - now).num_seconds())),
        ];
        if status == StatusCode::PARTIAL_CONTENT {
            headers.push((CONTENT_RANGE, format!("bytes {}-{}/{size}", part.start, part.end - 1)));
        }
        let body = if method == Method::HEAD {
            Body::empty()
        } else {
            let chunks = self.bucket.open_range(&key, part).await?;
            Body::from_stream(chunks.ok_or(MediaError::NotFound)?)
        };
        let mut response = (status, body).into_response();
        for (name, value) in headers {
            response.headers_mut().insert(name, HeaderValue::try_from(value)?);
        }
        Ok(response)
    }
}

/// Parses the header `Range` (RFC 9110, section 14.2). For several ranges or an invalid one, the
/// whole file is returned, as the RFC allows.
fn parse_range(range: Option<&HeaderValue>, size: u64) -> RequestedRange {
    let Some((first, last)) =
        range.and_then(|it| it.to_str().ok()).and_then(|it| it.strip_prefix("bytes=")?.split_once('-'))
    else {
        return RequestedRange::Whole;
    };
    let number = |raw: &str| raw.parse::<u64>().ok().filter(|_| raw.bytes().all(|it| it.is_ascii_digit()));
    match (number(first), number(last)) {
        (None, Some(0)) if first.is_empty() => RequestedRange::OutOfRange,
        (None, Some(suffix)) if first.is_empty() && 0 < size => {
            RequestedRange::Range(size.saturating_sub(suffix)..size)
        }
        (Some(first), _) if last.is_empty() && first < size => RequestedRange::Range(first..size),
        (Some(first), Some(last)) if first <= last && first < size => {
            RequestedRange::Range(first..size.min(last.saturating_add(1)))
        }
        (Some(first), Some(last)) if first <= last => RequestedRange::OutOfRange,
        (Some(_), None) if last.is_empty() => RequestedRange::OutOfRange,
        _ => RequestedRange::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_read_and_anything_else_is_the_whole_file() {
        let part = |raw: &str| parse_range(Some(&HeaderValue::try_from(raw).unwrap()), 10);
        for (raw, range) in [
            ("bytes=0-0", 0..1),
            ("bytes=0-", 0..10),
            ("bytes=3-5", 3..6),
            ("bytes=9-18446744073709551615", 9..10),
            ("bytes=-3", 7..10),
            ("bytes=-30", 0..10),
        ] {
            assert_eq!(part(raw), RequestedRange::Range(range), "{raw}");
        }
        for raw in ["bytes=10-", "bytes=10-11", "bytes=-0"] {
            assert_eq!(part(raw), RequestedRange::OutOfRange, "{raw}");
        }
        for raw in
            ["", "bytes", "bytes=", "bytes=-", "bytes=5-3", "bytes=0-1,3-4", "bytes=+1-2", "bytes=a-b", "items=0-1"]
        {
            assert_eq!(part(raw), RequestedRange::Whole, "{raw}");
        }
        assert_eq!(parse_range(None, 10), RequestedRange::Whole);
        assert_eq!(parse_range(Some(&HeaderValue::from_static("bytes=-3")), 0), RequestedRange::Whole);
    }
}
