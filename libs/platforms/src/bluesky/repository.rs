//! Records of any account, read without a token.

use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::pds::address;
use super::reply::Reply;
use crate::http_clients::HttpClients;

#[derive(Deserialize)]
pub(super) struct Record {
    pub(super) cid: Option<String>,
    pub(super) value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReadError {
    Nothing,
    /// The reason.
    Unclear(String),
}

/// In bytes.
const MAX_CID_BYTES: usize = 128;

pub(super) fn is_cid(text: &str) -> bool {
    (1..=MAX_CID_BYTES).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_alphanumeric())
}

pub(super) async fn read(
    http: &HttpClients,
    (server, did): (&Url, &str),
    collection: &str,
    rkey: &str,
) -> Result<Record, ReadError> {
    let unclear = |reason: &dyn ToString| ReadError::Unclear(reason.to_string());
    let request = http.request_named_host(Method::GET, address(server, "com.atproto.repo.getRecord"));
    let request = request.map_err(|refusal| unclear(&refusal))?;
    let request = request.query(&[("repo", did), ("collection", collection), ("rkey", rkey)]);
    let reply = Reply::to(request).await.map_err(|reply_error| unclear(&reply_error))?;
    match (reply.status, reply.error().as_deref()) {
        (StatusCode::OK, _) => reply.json().ok_or_else(|| unclear(&"its response is not valid")),
        (_, Some("RecordNotFound")) => Err(ReadError::Nothing),
        _ => Err(ReadError::Unclear(reply.message())),
    }
}
