//! The form in which a file is uploaded.

use bytes::Bytes;
use domain::media::Attachment;
use domain::token::random_u64;
use futures::{StreamExt, stream};
use reqwest::{Body, RequestBuilder};

use crate::request::MediaBytes;

/// Adds a file to a request as a form (RFC 7578), after its alternative text. The file is streamed,
/// with its length in the header, because servers refuse a body without one.
pub(super) fn with_file(request: RequestBuilder, file: &Attachment, bytes: MediaBytes) -> RequestBuilder {
    let boundary = format!("{:016x}{:016x}", random_u64(), random_u64());
    let description = file.alt_text.as_ref().map(|it| {
        let words = it.as_str();
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"description\"\r\n\r\n{words}\r\n")
    });
    let head = format!(
        "{}--{boundary}\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"{}.{}\"\r\n\
         Content-Type: {}\r\n\r\n",
        description.unwrap_or_default(),
        // Some servers store files under their uploaded names.
        file.media_id,
        file.mime_type.extension(),
        file.mime_type.as_str(),
    );
    let tail = format!("\r\n--{boundary}--\r\n");
    let length = head.len() as u64 + file.size_bytes + tail.len() as u64;
    let piece = |text: String| stream::once(async move { Ok(Bytes::from(text)) });
    request
        .header(http::header::CONTENT_TYPE, format!("multipart/form-data; boundary={boundary}"))
        // With a length, a stream that ends early is not mistaken for the whole file.
        .header(http::header::CONTENT_LENGTH, length)
        .body(Body::wrap_stream(piece(head).chain(bytes).chain(piece(tail))))
}
