//! Multipart forms with files (RFC 7578).

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use domain::media::MimeType;
use domain::token::random_hex;
use futures::channel::mpsc;
use futures::future::{Either, select};
use futures::{SinkExt, StreamExt, TryStreamExt, stream};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use reqwest::{Body, RequestBuilder};

use crate::publish_request::{MediaBytes, MediaReadError};

/// A form with files. Files are streamed, and the total length is sent first, because servers
/// refuse a body without a length.
pub(crate) struct Form {
    boundary: String,
    parts: Vec<MediaBytes>,
    length: u64,
    unread: ReadFailure,
}

/// Whether a file could not be read while its form was sent. The request was cut off then.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadFailure(Arc<AtomicBool>);

impl ReadFailure {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) struct Feed(mpsc::Sender<Result<Bytes, MediaReadError>>);

impl Feed {
    /// Opens the file, and streams it to its end, or until the form is no longer read: a server may
    /// respond before it has read everything.
    pub(crate) async fn stream(mut self, opening: impl Future<Output = Result<MediaBytes, MediaReadError>>) {
        if self.0.is_closed() {
            return;
        }
        let mut pieces = opening.await.unwrap_or_else(|error| stream::iter([Err(error)]).boxed());
        while let Some(piece) = pieces.next().await {
            if self.0.send(piece).await.is_err() {
                return;
            }
        }
    }
}

/// The response to a form whose files are streamed meanwhile. It may arrive before all files were
/// read.
pub(crate) async fn answered<T>(sending: impl Future<Output = T>, feeding: impl Future<Output = ()>) -> T {
    match select(pin!(sending), pin!(feeding)).await {
        Either::Left((response, _)) => response,
        Either::Right(((), sending)) => sending.await,
    }
}

impl Form {
    pub(crate) fn new() -> Self {
        Self { boundary: random_hex(), parts: Vec::new(), length: 0, unread: ReadFailure::default() }
    }

    /// `name` is trusted.
    #[must_use]
    pub(crate) fn text(self, name: &str, value: &str) -> Self {
        let head = format!("--{}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n", self.boundary);
        self.message(head)
    }

    /// The names are trusted.
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
        self = self.message(head);
        self.length += size_bytes;
        let unread = self.unread.clone();
        self.parts.push(bytes.inspect_err(move |_| unread.set()).boxed());
        self.message("\r\n".to_owned())
    }

    /// Adds a file of this length that is opened while the form is sent, one file after the other.
    #[must_use]
    pub(crate) fn streamed_file(self, names: (&str, &str), mime_type: MimeType, size_bytes: u64) -> (Self, Feed) {
        let (feed, pieces) = mpsc::channel(0);
        (self.file(names, mime_type, size_bytes, pieces.boxed()), Feed(feed))
    }

    pub(crate) fn onto(self, request: RequestBuilder) -> (RequestBuilder, ReadFailure) {
        let Self { boundary, parts, length, unread } = self.ended();
        let request = request
            .header(CONTENT_TYPE, format!("multipart/form-data; boundary={boundary}"))
            // With a length, a stream that ends early is not mistaken for the whole file.
            .header(CONTENT_LENGTH, length)
            .body(Body::wrap_stream(stream::iter(parts).flatten()));
        (request, unread)
    }

    fn ended(self) -> Self {
        let end = format!("--{}--\r\n", self.boundary);
        self.message(end)
    }

    fn message(mut self, message: String) -> Self {
        self.length += message.len() as u64;
        self.parts.push(stream::once(async move { Ok(Bytes::from(message)) }).boxed());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_file(pieces: Vec<Result<Bytes, MediaReadError>>) -> Form {
        let form = Form::new().text("description", "A boat\r\nat sea");
        form.file(("file", "7.png"), MimeType::Png, 3, stream::iter(pieces).boxed()).ended()
    }

    async fn sent(form: Form) -> Result<String, MediaReadError> {
        let sent: Vec<Bytes> = stream::iter(form.parts).flatten().try_collect().await?;
        Ok(String::from_utf8(sent.concat()).unwrap())
    }

    #[tokio::test]
    async fn form_has_the_stated_length() {
        let form = with_file(vec![Ok("ab".into()), Ok("c".into())]);
        let (boundary, length) = (form.boundary.clone(), form.length);

        let sent = sent(form).await.unwrap();

        assert_eq!(sent.len() as u64, length);
        let expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"description\"\r\n\r\nA boat\r\nat sea\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"7.png\"\r\n\
             Content-Type: image/png\r\n\r\nabc\r\n--{boundary}--\r\n"
        );
        assert_eq!(sent, expected);
    }

    #[tokio::test]
    async fn unreadable_file_is_distinguished_from_a_cut_off_request() {
        for (last, is_unread) in [(Ok("c".into()), false), (Err(MediaReadError("gone".to_owned())), true)] {
            let form = with_file(vec![Ok("ab".into()), last]);
            let unread = form.unread.clone();

            let sent = sent(form).await;

            assert_eq!((sent.is_err(), unread.is_set()), (is_unread, is_unread));
        }
    }

    #[tokio::test]
    async fn file_opened_later_arrives_or_is_reported_unread() {
        let opening = |opened: Result<&'static str, &str>| {
            let opened = opened.map(|it| stream::iter([Ok(Bytes::from(it))]).boxed());
            std::future::ready(opened.map_err(|it| MediaReadError(it.to_owned())))
        };
        for (opened, is_unread) in [(Ok("abc"), false), (Err("gone"), true)] {
            let (form, feed) = Form::new().streamed_file(("file", "7.png"), MimeType::Png, 3);
            let unread = form.unread.clone();

            let (sent, ()) = futures::join!(sent(form.ended()), feed.stream(opening(opened)));

            assert_eq!(sent.is_ok_and(|it| it.contains("\r\n\r\nabc\r\n--")), !is_unread);
            assert_eq!(unread.is_set(), is_unread);
        }

        let (form, feed) = Form::new().streamed_file(("file", "7.png"), MimeType::Png, 3);
        drop(form);
        feed.stream(async { panic!("nobody wants it") }).await;
    }
}
