//! The methods, each with the scopes that the discovery document lists for it, and the parts that it has.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Query, State};
use http::{HeaderMap, Method, Uri};

use super::api::{ApiCall, ApiResult, FORCE_SSL, READONLY, UPLOAD, YOUTUBE, error, is_in};
use super::{Fake, lists, uploads, videos};
use crate::fake::oauth::Fault;

const READ: &[&str] = &[YOUTUBE, FORCE_SSL, READONLY];
const WRITE: &[&str] = &[YOUTUBE, FORCE_SSL];
const SEND: &[&str] = &[YOUTUBE, FORCE_SSL, UPLOAD];

pub(super) async fn call(
    State(fake): State<Arc<Fake>>,
    method: Method,
    uri: Uri,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
    body: Bytes,
) -> ApiResult {
    type Handler = fn(&Fake, &ApiCall) -> ApiResult;
    let (scopes, parts, handle): (&[&str], &str, Handler) = match (method.as_str(), uri.path()) {
        ("GET", "/youtube/v3/channels") => (READ, "contentDetails id snippet statistics status", lists::channel),
        ("GET", "/youtube/v3/videos") => (READ, videos::PARTS, videos::list),
        ("PUT", "/youtube/v3/videos") => (WRITE, videos::PARTS, videos::update),
        ("POST", "/upload/youtube/v3/videos") => (SEND, videos::PARTS, uploads::start),
        ("PUT", "/upload/youtube/v3/videos") => (SEND, videos::PARTS, uploads::receive),
        ("POST", "/upload/youtube/v3/thumbnails/set") => (SEND, "", uploads::set_thumbnail),
        ("GET", "/youtube/v3/playlists") => (READ, "contentDetails id snippet status", lists::playlists),
        ("POST", "/youtube/v3/playlistItems") => (WRITE, "contentDetails id snippet status", lists::add_to_playlist),
        ("GET", "/youtube/v3/videoCategories") => (READ, "snippet", lists::categories),
        ("GET", "/youtube/v3/commentThreads") => (&[FORCE_SSL], "id replies snippet", lists::comments),
        ("POST", "/youtube/v3/commentThreads") => (&[FORCE_SSL], "id replies snippet", lists::comment),
        _ => return Err(error(404, "global", "notFound", "Not Found")),
    };
    let accepted = fake.oauth().accept(&headers, scopes, fake.clock.now()).map(|_| ());
    accepted.map_err(|fault| match fault {
        Fault::BeyondScope => error(403, "global", "insufficientPermissions", "Insufficient Permission"),
        _ => error(401, "global", "authError", "Invalid Credentials"),
    })?;
    if let Some((status, body)) = fake.injected_faults().refusal(uri.path()) {
        return Err((status, Json(body)));
    }
    let call = ApiCall { uri, query, headers, body };
    if !parts.is_empty() {
        let unknown = call.required("part")?.split(',').find(|it| !is_in(parts, it));
        unknown.map_or(Ok(()), |it| Err(error(400, "youtube.part", "unknownPart", it)))?;
    }
    handle(&fake, &call)
}
