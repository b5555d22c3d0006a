//! Pictures and videos: taken in piece by piece, handed out piece by piece.

use std::io::{self, SeekFrom};
use std::ops::RangeInclusive;
use std::path::Path as FsPath;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use domain::token;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use tokio_util::io::ReaderStream;

use super::caller::{Caller, PUBLISH};
use super::fact::{Fact, Medium};
use super::fault_kind::FaultKind;
use super::record_calls::{CallUnderWay, Said};
use super::refusal::Refusal;
use super::world::World;
use super::{Sandbox, pages};

/// Bytes of one file.
const MAX_FILE: usize = 64 * 1024 * 1024;

/// Removes files that no fact tells of: what a dying process left behind.
pub(super) fn remove_strangers(media_dir: &FsPath, world: &World) -> io::Result<()> {
    for entry in std::fs::read_dir(media_dir)? {
        let entry = entry?;
        let known = entry.file_name().to_str().is_some_and(|it| world.medium(it).is_some());
        if !known && entry.file_type()?.is_file() {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Stores the body as a file of the caller.
pub(super) async fn upload_medium(
    State(sandbox): State<Sandbox>,
    Extension(call): Extension<CallUnderWay>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    caller.needs(PUBLISH)?;
    let mime_type = mime_type(&headers).ok_or_else(|| Refusal::Malformed {
        status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
        message: "content-type must be that of a picture or a video".into(),
    })?;
    let mut ready_at = None;
    if let Some(strike) = call.strike(caller.account) {
        match strike.kind {
            FaultKind::MediaSlow => tokio::time::sleep(strike.delay).await,
            FaultKind::MediaProcessing => ready_at = Some(sandbox.now() + strike.delay),
            kind => {
                // A client that is still sending would not see the answer.
                read_past(body).await;
                caller.lose_access(&sandbox, kind)?;
                return Err(match kind {
                    FaultKind::MediaRefuse => Refusal::content("file_refused", "the sandbox does not want this file"),
                    _ => Refusal::Broken,
                });
            }
        }
    }
    let id = new_id();
    store(&sandbox, &id, body).await?;
    let medium = Medium { account: caller.account, mime_type, ready_at };
    sandbox.ledger().record(Fact::Uploaded { id: id.clone(), medium: medium.clone() })?;
    let said = Extension(Said(format!("file {id}")));
    Ok((StatusCode::CREATED, said, show(&sandbox, &id, &medium)).into_response())
}

/// Whether a file of the caller can be shown by a post yet.
pub(super) async fn get_own_medium(
    State(sandbox): State<Sandbox>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Value>, Refusal> {
    caller.needs(PUBLISH)?;
    let medium = sandbox.ledger().world().medium(&id).filter(|it| it.account == caller.account).cloned();
    let medium = medium.ok_or_else(|| Refusal::Malformed {
        status: StatusCode::NOT_FOUND,
        message: "this account has no such file".into(),
    })?;
    Ok(show(&sandbox, &id, &medium))
}

/// A file as the API shows it to its account.
fn show(sandbox: &Sandbox, id: &str, medium: &Medium) -> Json<Value> {
    let state = if medium.is_processed_for(sandbox.now()).is_some() { "processing" } else { "ready" };
    Json(json!({ "id": id, "url": sandbox.url(&format!("media/{id}")), "state": state }))
}

async fn read_past(body: Body) {
    let mut body = body.into_data_stream();
    while let Some(Ok(_)) = body.next().await {}
}

/// Writes to a temporary file, which vanishes when anything goes wrong.
async fn store(sandbox: &Sandbox, id: &str, body: Body) -> Result<(), Refusal> {
    let temporary = tempfile::NamedTempFile::new_in(sandbox.media_dir())?;
    let (file, path) = temporary.into_parts();
    let mut file = File::from_std(file);
    let mut body = body.into_data_stream();
    let mut size = 0;
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|_| Refusal::Malformed {
            status: StatusCode::BAD_REQUEST,
            message: "the upload broke off".into(),
        })?;
        size += piece.len();
        if MAX_FILE < size {
            return Err(Refusal::TooLarge);
        }
        file.write_all(&piece).await?;
    }
    if size == 0 {
        return Err(Refusal::content("empty_file", "the file is empty"));
    }
    file.flush().await?;
    path.persist(sandbox.media_dir().join(id)).map_err(|it| it.error)?;
    Ok(())
}

/// Pictures and videos in general, but no SVG: it is a document with scripts,
/// and would be served from the origin of our own pages.
fn mime_type(headers: &HeaderMap) -> Option<String> {
    let full = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let essence = full.split(';').next()?.trim().to_ascii_lowercase();
    let (kind, subtype) = essence.split_once('/')?;
    let plain = !subtype.is_empty()
        && subtype.len() <= 40
        && subtype.bytes().all(|it| it.is_ascii_alphanumeric() || b".+-".contains(&it))
        && !subtype.contains("svg");
    (plain && matches!(kind, "image" | "video")).then_some(essence)
}

/// Cannot be guessed, so that nobody sees a file before it is in a post.
fn new_id() -> String {
    format!("{:032x}", u128::from_le_bytes(token::random_bytes()))
}

/// Sends a file, or the part of it that a player asks for.
pub(super) async fn get_medium(State(sandbox): State<Sandbox>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    let medium = sandbox.ledger().world().medium(&id).cloned();
    let Some(medium) = medium else {
        return pages::not_found();
    };
    // Only an id that the world knows becomes part of a file name.
    match send(&sandbox.media_dir().join(&id), &medium.mime_type, &headers).await {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(%error, "a sandbox file cannot be read");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

async fn send(path: &FsPath, mime_type: &str, headers: &HeaderMap) -> io::Result<Response> {
    let mut file = File::open(path).await?;
    let size = file.metadata().await?.len();
    let part = headers.get(header::RANGE).and_then(|it| it.to_str().ok()).map(|it| part(it, size));
    let mut response = match part {
        Some(Some(part)) => {
            file.seek(SeekFrom::Start(*part.start())).await?;
            let content_range = format!("bytes {}-{}/{size}", part.start(), part.end());
            let length = part.end() - part.start() + 1;
            let body = Body::from_stream(ReaderStream::new(file.take(length)));
            let headers = [(header::CONTENT_RANGE, content_range), (header::CONTENT_LENGTH, length.to_string())];
            (StatusCode::PARTIAL_CONTENT, headers, body).into_response()
        }
        Some(None) => {
            let headers = [(header::CONTENT_RANGE, format!("bytes */{size}"))];
            (StatusCode::RANGE_NOT_SATISFIABLE, headers).into_response()
        }
        None => {
            let body = Body::from_stream(ReaderStream::new(file));
            ([(header::CONTENT_LENGTH, size.to_string())], body).into_response()
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

/// The one part that `bytes=…` asks for; `None` when the file has no such part.
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
    use std::collections::HashSet;

    use super::super::testing::Network;
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nnot really";

    fn files(media_dir: &FsPath) -> HashSet<String> {
        let entries = std::fs::read_dir(media_dir).unwrap();
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[tokio::test]
    async fn an_uploaded_picture_is_served_as_what_it_is() {
        let network = Network::new();
        let token = network.connect("meadow").await.access;

        let uploaded = network.upload(&token, "image/png", PNG.to_vec()).await;
        let id = uploaded.string("id");
        let served = network.get(&format!("/sandbox/media/{id}")).await;

        assert_eq!(uploaded.status, 201);
        assert_eq!(uploaded.string("url"), format!("http://sandbox.test/sandbox/media/{id}"));
        assert_eq!((served.status, served.body.as_slice()), (200, PNG));
        assert_eq!(served.header("content-type"), "image/png");
        assert_eq!(served.header("x-content-type-options"), "nosniff");
    }

    #[tokio::test]
    async fn a_player_gets_the_part_it_asks_for() {
        let network = Network::new();
        let token = network.connect("meadow").await.access;
        let id = network.upload(&token, "video/mp4", b"0123456789".to_vec()).await.string("id");

        let part = network.get_part(&format!("/sandbox/media/{id}"), "bytes=2-4").await;
        let beyond = network.get_part(&format!("/sandbox/media/{id}"), "bytes=10-").await;

        assert_eq!((part.status, part.body.as_slice()), (206, b"234".as_slice()));
        assert_eq!(part.header("content-range"), "bytes 2-4/10");
        assert_eq!((beyond.status, beyond.header("content-range")), (416, "bytes */10"));
    }

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

    #[tokio::test]
    async fn what_is_no_picture_or_video_is_refused_and_leaves_nothing() {
        let network = Network::new();
        let token = network.connect("meadow").await.access;
        for mime_type in ["text/html", "image/svg+xml", "image/", "image/p g"] {
            let answer = network.upload(&token, mime_type, PNG.to_vec()).await;
            assert_eq!(answer.status, 415, "{mime_type}");
        }

        let empty = network.upload(&token, "image/png", Vec::new()).await;
        let large = network.upload(&token, "video/mp4", vec![0; MAX_FILE + 1]).await;

        assert_eq!((empty.status, large.status), (422, 413));
        assert!(files(network.sandbox.media_dir()).is_empty());
    }

    #[tokio::test]
    async fn a_file_of_another_account_cannot_be_posted() {
        let network = Network::new();
        let meadow = network.connect("meadow").await.access;
        let harbour = network.connect("harbour").await.access;
        let id = network.upload(&meadow, "image/png", PNG.to_vec()).await.string("id");

        let answer = network.post(&harbour, json!({"text": "mine", "media_ids": [id]})).await;

        assert_eq!((answer.status, answer.error()), (422, "unknown_media".into()));
    }

    #[tokio::test]
    async fn a_fault_strikes_the_file_that_it_names_and_the_next_try_passes() {
        for (kind, status) in [("media_error", 500), ("media_refuse", 422), ("expire", 401)] {
            let network = Network::new();
            let token = network.connect("meadow").await.access;
            let file = if kind == "expire" { 1 } else { 2 };
            network.arm(json!({"kind": kind, "file": file})).await;

            let mut statuses = Vec::new();
            for _ in 0..file {
                statuses.push(network.upload(&token, "image/png", PNG.to_vec()).await.status);
            }

            assert_eq!(statuses.pop(), Some(status), "{kind}");
            assert!(statuses.iter().all(|it| *it == 201), "{kind}: {statuses:?}");
            assert_eq!(files(network.sandbox.media_dir()).len(), statuses.len(), "{kind}");
        }
    }

    #[tokio::test]
    async fn a_slow_file_is_taken_in_the_end() {
        let network = Network::new();
        let token = network.connect("meadow").await.access;
        network.arm(json!({"kind": "media_slow", "delay_ms": 30})).await;

        let started = std::time::Instant::now();
        let answer = network.upload(&token, "image/png", PNG.to_vec()).await;

        assert_eq!(answer.status, 201);
        assert!(30 <= started.elapsed().as_millis());
    }

    #[tokio::test]
    async fn a_file_that_is_processed_cannot_be_shown_before_it_is_ready() {
        let network = Network::new();
        let token = network.connect("meadow").await.access;
        network.arm(json!({"kind": "media_processing", "delay_ms": 2500})).await;
        let uploaded = network.upload(&token, "video/mp4", PNG.to_vec()).await;
        let id = uploaded.string("id");
        let own = format!("/sandbox/api/media/{id}");
        let post = json!({"text": "Look", "media_ids": [id]});

        let early = network.post(&token, post.clone()).await;
        let early_state = network.call("GET", &own, &token, None).await.string("state");
        network.clock.advance(chrono::TimeDelta::milliseconds(2500));
        let late_state = network.call("GET", &own, &token, None).await.string("state");
        let late = network.post(&token, post).await;

        assert_eq!((uploaded.status, uploaded.string("state").as_str()), (201, "processing"));
        assert_eq!((early.status, early.error(), early.header("retry-after")), (429, "media_processing".into(), "3"));
        assert_eq!((early_state.as_str(), late_state.as_str()), ("processing", "ready"));
        assert_eq!(late.status, 201);
        let harbour = network.connect("harbour").await.access;
        assert_eq!(network.call("GET", &own, &harbour, None).await.status, 404);
    }

    #[tokio::test]
    async fn opening_removes_what_no_fact_tells_of() {
        let dir = tempfile::tempdir().unwrap();
        let network = Network::open(dir.path());
        let token = network.connect("meadow").await.access;
        let id = network.upload(&token, "image/png", PNG.to_vec()).await.string("id");
        let media_dir = network.sandbox.media_dir().to_owned();
        std::fs::write(media_dir.join("half-an-upload"), PNG).unwrap();
        drop(network);

        let _again = Network::open(dir.path());

        assert_eq!(files(&media_dir), HashSet::from([id]));
    }
}
