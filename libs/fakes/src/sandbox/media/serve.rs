//! Serves files, whole or in part.

use std::io::{self, SeekFrom};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::super::{Sandbox, pages};

/// Whole, or the range that a player requests.
pub(in crate::sandbox) async fn get_medium(
    State(sandbox): State<Sandbox>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let medium = sandbox.ledger().medium(&id).cloned();
    let Some(medium) = medium else {
        return pages::not_found();
    };
    // Only a known id becomes part of a file name.
    match send(sandbox.media_dir().join(&id), &medium.mime_type, &headers).await {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(%error, "a sandbox file cannot be read");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

async fn send(file: PathBuf, mime_type: &str, headers: &HeaderMap) -> io::Result<Response> {
    let mut file = File::open(file).await?;
    let size = file.metadata().await?.len();
    let mut bytes = Vec::new();
    let range = headers.get(header::RANGE).and_then(|it| it.to_str().ok());
    let mut response = match range.map(|it| part(it, size)) {
        None => {
            file.read_to_end(&mut bytes).await?;
            bytes.into_response()
        }
        Some(Some(part)) => {
            let content_range = format!("bytes {}-{}/{size}", part.start(), part.end());
            file.seek(SeekFrom::Start(*part.start())).await?;
            file.take(part.end() - part.start() + 1).read_to_end(&mut bytes).await?;
            (StatusCode::PARTIAL_CONTENT, [(header::CONTENT_RANGE, content_range)], bytes).into_response()
        }
        Some(None) => {
            let headers = [(header::CONTENT_RANGE, format!("bytes */{size}"))];
            (StatusCode::RANGE_NOT_SATISFIABLE, headers).into_response()
        }
    };
    let headers = response.headers_mut();
    if let Ok(mime_type) = HeaderValue::from_str(mime_type) {
        headers.insert(header::CONTENT_TYPE, mime_type);
    }
    for (name, value) in [
        (header::ACCEPT_RANGES, "bytes"),
        (header::CACHE_CONTROL, "max-age=31536000, immutable"),
        (header::CONTENT_SECURITY_POLICY, pages::NO_SCRIPT),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// For `bytes=…` with a single range; `None` if the file does not have this range.
fn part(range: &str, size: u64) -> Option<RangeInclusive<u64>> {
    let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
    let last = size.checked_sub(1)?;
    let part = if from.is_empty() {
        let length: u64 = to.parse().ok().filter(|it| *it != 0)?;
        size.saturating_sub(length)..=last
    } else {
        let end = if to.is_empty() { last } else { to.parse::<u64>().ok()?.min(last) };
        from.parse().ok()?..=end
    };
    (!part.is_empty()).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stay_within_the_file() {
        assert_eq!(part("bytes=0-", 10), Some(0..=9));
        assert_eq!(part("bytes=-3", 10), Some(7..=9));
        assert_eq!(part("bytes=-30", 10), Some(0..=9));
        assert_eq!(part("bytes=5-99", 10), Some(5..=9));
        for wrong in ["bytes=-0", "bytes=4-3", "bytes=a-b", "bytes=0-1,3-4", "lines=0-1"] {
            assert_eq!(part(wrong, 10), None, "{wrong}");
        }
        assert_eq!(part("bytes=0-", 0), None);
    }
}
