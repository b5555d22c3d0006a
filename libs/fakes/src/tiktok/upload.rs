//! Videos that are uploaded in chunks.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use http::{HeaderMap, StatusCode, Uri, header};
use serde_json::Value;

use super::{ApiError, Fake, Memory, fields, invalid};
use crate::fake::oauth::secret;
use crate::fake::params::essence;

pub(super) const PATH: &str = "/video/";

/// "5 MB", "64 MB" and "4GB" in the stricter of both readings.
const MIN_CHUNK: u64 = 5 << 20;
const MAX_CHUNK: u64 = 64_000_000;
const MAX_VIDEO: u64 = 4_000_000_000;

const MAX_CHUNKS: u64 = 1_000;

const URL_LIVES: TimeDelta = TimeDelta::hours(1);

#[derive(Clone, Debug)]
pub(super) struct Upload {
    pub(super) query: String,
    size: u64,
    chunk_size: u64,
    chunks: u64,
}

impl Upload {
    /// Reads the `source_info` of an upload. A single chunk has to be as large as the video, also where
    /// rounding down would give one chunk: clients report that TikTok refuses anything else.
    pub(super) fn plan(source: &Value) -> Result<Self, ApiError> {
        fields::check(source, "source:string! video_size:int! chunk_size:int! total_chunk_count:int!")?;
        let number = |name: &str| source[name].as_u64().unwrap_or_default();
        let (size, chunk_size, chunks) = (number("video_size"), number("chunk_size"), number("total_chunk_count"));
        if source["source"] != "FILE_UPLOAD" || !(1..=MAX_VIDEO).contains(&size) {
            return Err(invalid("The source or the video size is invalid"));
        }
        let is_whole = chunk_size == size && size <= MAX_CHUNK;
        let is_split = (MIN_CHUNK..=MAX_CHUNK).contains(&chunk_size) && 2 <= size / chunk_size;
        if !is_whole && !is_split {
            return Err(invalid("The chunk size is invalid"));
        }
        if chunks != size / chunk_size || MAX_CHUNKS < chunks {
            return Err(invalid("The total chunk count is invalid"));
        }
        Ok(Self { query: format!("upload_id=67890&upload_token={}", secret()), size, chunk_size, chunks })
    }

    /// The end of the chunk that begins at this byte. The last one takes the remainder.
    fn end_of_chunk(&self, start: u64) -> u64 {
        if start / self.chunk_size + 1 < self.chunks { start + self.chunk_size } else { self.size }
    }
}

/// The first byte, the end and the total of `Content-Range`.
pub(super) fn range(headers: &HeaderMap) -> Option<(u64, u64, u64)> {
    let range = headers.get(header::CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    let (range, total) = range.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    Some((first.parse().ok()?, last.parse::<u64>().ok()?.checked_add(1)?, total.parse().ok()?))
}

/// `PUT` of the upload URL, without a token. Its errors have no documented body.
pub(super) async fn receive(State(fake): State<Arc<Fake>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let (now, mut memory) = (fake.clock.now(), fake.memory());
    let Memory { posts, fail_reason, .. } = &mut *memory;
    let is_match = |upload: &Upload| uri.query() == Some(upload.query.as_str());
    let Some(post) = posts.iter_mut().find(|it| it.upload.as_ref().is_some_and(is_match)) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if post.begun_at + URL_LIVES <= now {
        return StatusCode::FORBIDDEN.into_response();
    }
    let upload = post.upload.clone().unwrap();
    let is_video = ["video/mp4", "video/quicktime", "video/webm"].contains(&essence(&headers).as_str());
    let is_right =
        is_video && headers.contains_key(header::CONTENT_LENGTH) && !headers.contains_key(header::AUTHORIZATION);
    let range = range(&headers).filter(|(first, end, total)| {
        is_right && *total == upload.size && first.checked_add(body.len() as u64) == Some(*end)
    });
    let Some((first, end, total)) = range else { return StatusCode::BAD_REQUEST.into_response() };
    let arrived: u64 = post.files.iter().map(|it| it.len() as u64).sum();
    if first != arrived || arrived == total {
        return StatusCode::RANGE_NOT_SATISFIABLE.into_response();
    }
    if end != upload.end_of_chunk(first) {
        return StatusCode::BAD_REQUEST.into_response();
    }
    post.files.resize(1, Vec::new());
    post.files[0].extend_from_slice(&body);
    let status = if end == total { StatusCode::CREATED } else { StatusCode::PARTIAL_CONTENT };
    if end == total {
        post.receive(fail_reason.take(), now);
    }
    (status, [(header::CONTENT_RANGE, format!("bytes 0-{end}/{total}"))]).into_response()
}
