//! Connections that are closed in place of a response.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;

/// Marks a response that is not sent: the connection is closed instead.
/// Either an extension of the response, or the response itself.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the connection is cut on purpose")]
pub struct Cut;

impl IntoResponse for Cut {
    /// The body fails before its first byte, which closes the connection of a server that does not
    /// know the mark.
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from_stream(stream::iter([Err::<Bytes, _>(self)])));
        response.extensions_mut().insert(self);
        response
    }
}
