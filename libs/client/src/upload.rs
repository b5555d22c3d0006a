//! Sending a file to where the service wants it.

use reqwest::Body;
use reqwest::header::CONTENT_LENGTH;

use crate::error::chain;
use crate::{Client, Error, PresignedUpload, Refusal};

/// The most bytes of a refusal that are looked at.
const MAX_REFUSAL: usize = 64 * 1024;

impl Client {
    /// Sends the bytes of a file, `size` of them. It may be done again until it
    /// worked: what is there already is not written a second time.
    ///
    /// It takes as long as it takes; whoever wants a limit sets it around it.
    pub async fn upload(&self, to: &PresignedUpload, body: impl Into<Body>, size: u64) -> Result<(), Error> {
        let mut request = self.http.put(&to.upload_url);
        // The length is among the headers where it was said beforehand.
        for (name, value) in to.upload_headers.iter().filter(|it| !it.0.eq_ignore_ascii_case(CONTENT_LENGTH.as_str())) {
            request = request.header(name, value);
        }
        request = request.header(CONTENT_LENGTH, size);
        // An upload that ended without an answer is no risk: nothing is public by it.
        let mut response = request.body(body.into()).send().await.map_err(|error| Error::Unreachable(chain(error)))?;
        let status = response.status().as_u16();
        // 412: "if-none-match: *" says that the file is there.
        if response.status().is_success() || status == 412 {
            return Ok(());
        }
        let mut said = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            said.extend_from_slice(&chunk);
            if MAX_REFUSAL < said.len() {
                break;
            }
        }
        let said = String::from_utf8_lossy(&said).into_owned();
        if response.status().is_server_error() {
            return Err(Error::Unreachable(format!("the upload was answered with {status}")));
        }
        Err(Error::Refused(Box::new(Refusal::read(status, None, said))))
    }
}
