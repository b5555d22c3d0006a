use reqwest::header::CONTENT_LENGTH;
use reqwest::{Body, Response, StatusCode};

use crate::error::chain;
use crate::{Client, Error, ErrorResponse, PresignedUpload};

const MAX_REFUSAL: usize = 64 * 1024;

impl Client {
    /// Uploads `size` bytes. It may be repeated until it succeeds, because a file that has arrived
    /// is not written again.
    ///
    /// There is no timeout; callers set their own.
    pub async fn upload(&self, to: &PresignedUpload, body: impl Into<Body>, size: u64) -> Result<(), Error> {
        let mut request = self.http.put(&to.upload_url);
        // The length is among the headers if it was declared beforehand.
        for (name, value) in to.upload_headers.iter().filter(|it| !it.0.eq_ignore_ascii_case(CONTENT_LENGTH.as_str())) {
            request = request.header(name, value);
        }
        request = request.header(CONTENT_LENGTH, size);
        // An upload without a response is no risk, because it makes nothing public.
        let response = request.body(body.into()).send().await.map_err(|error| Error::Unreachable(chain(error)))?;
        // 412: the condition `if-none-match: *` failed, so the file has already arrived.
        if response.status().is_success() || response.status() == StatusCode::PRECONDITION_FAILED {
            return Ok(());
        }
        Err(refusal(response).await)
    }
}

pub(crate) async fn refusal(mut response: Response) -> Error {
    let status = response.status().as_u16();
    if response.status().is_server_error() {
        return Error::Unreachable(format!("the storage for files returned status {status}"));
    }
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if MAX_REFUSAL < body.len() {
            break;
        }
    }
    Error::Refused(Box::new(ErrorResponse::read(status, None, String::from_utf8_lossy(&body).into_owned())))
}
