//! Uploading a file to the URL that the service returned.

use reqwest::Body;
use reqwest::header::CONTENT_LENGTH;

use crate::error::chain;
use crate::{Client, Error, ErrorResponse, PresignedUpload};

/// The most bytes that are read of an error response.
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
        let mut response = request.body(body.into()).send().await.map_err(|error| Error::Unreachable(chain(error)))?;
        let status = response.status().as_u16();
        // 412: the condition `if-none-match: *` failed, so the file has already arrived.
        if response.status().is_success() || status == 412 {
            return Ok(());
        }
        let mut response_body = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            response_body.extend_from_slice(&chunk);
            if MAX_REFUSAL < response_body.len() {
                break;
            }
        }
        let response_body = String::from_utf8_lossy(&response_body).into_owned();
        if response.status().is_server_error() {
            return Err(Error::Unreachable(format!("the upload failed with status {status}")));
        }
        Err(Error::Refused(Box::new(ErrorResponse::read(status, None, response_body))))
    }
}
