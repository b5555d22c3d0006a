//! Forms with files (RFC 7578).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use domain::media::MimeType;
use domain::token::random_u64;
use futures::{StreamExt, TryStreamExt, stream};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use reqwest::{Body, RequestBuilder};

use crate::job::MediaBytes;

/// A form with files. They are passed on piece by piece, and the length of all is
/// said before, because servers refuse a body that does not say it.
pub(crate) struct Form {
    boundary: String,
    parts: Vec<MediaBytes>,
    length: u64,
    unread: Unread,
}

/// Whether a file could not be read while its form was sent. Then the request broke
/// off before its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unread(Arc<AtomicBool>);

impl Unread {
    /// Whether that has happened.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Form {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self {
            boundary: format!("{:016x}{:016x}", random_u64(), random_u64()),
            parts: Vec::new(),
            length: 0,
            unread: Unread::default(),
        }
    }

    /// With a field. Its name is ours.
    #[must_use]
    pub(crate) fn text(self, name: &str, value: &str) -> Self {
        let head = format!("--{}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n", self.boundary);
        self.words(head)
    }

    /// With a file of so many bytes. Its names are ours.
    #[must_use]
    pub(crate) fn file(
        mut self,
        (name, file_name): (&str, &str),
        mime_type: MimeType,
        size_bytes: u64,
        bytes: MediaBytes,
    ) -> Self {
        let head = format!(
            "--{}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{file_name}\"\r\nContent-Type: {}\r\n\r\n",
            self.boundary,
            mime_type.as_str(),
        );
        self = self.words(head);
        self.length += size_bytes;
        let unread = self.unread.clone();
        self.parts.push(bytes.inspect_err(move |_| unread.0.store(true, Ordering::Relaxed)).boxed());
        self.words("\r\n".to_owned())
    }

    /// Puts it into a request.
    pub(crate) fn onto(self, request: RequestBuilder) -> (RequestBuilder, Unread) {
        let (boundary, unread) = (self.boundary.clone(), self.unread.clone());
        let whole = self.words(format!("--{boundary}--\r\n"));
        let request = request
            .header(CONTENT_TYPE, format!("multipart/form-data; boundary={boundary}"))
            // With a length, a stream that ends early is not taken for the file.
            .header(CONTENT_LENGTH, whole.length)
            .body(Body::wrap_stream(stream::iter(whole.parts).flatten()));
        (request, unread)
    }

    fn words(mut self, words: String) -> Self {
        self.length += words.len() as u64;
        self.parts.push(stream::once(async move { Ok(Bytes::from(words)) }).boxed());
        self
    }
}
