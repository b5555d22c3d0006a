//! An unreadable path parameter returns 404, like an id that does not exist.

use axum::extract::{FromRequestParts, Path};
use domain::id::{ConnectionId, MediaId, PostId, ProfileId, TargetId, UserId, WebhookId};
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

pub trait PathId: Sized + Send {
    /// Parses an id; `None` for letters, 0, a sign, and numbers from 2^53 on.
    fn read(raw: &str) -> Option<Self>;
}

macro_rules! path_ids {
    ($($name:ident),+) => {$(
        impl PathId for $name {
            fn read(raw: &str) -> Option<Self> {
                $name::parse(raw)
            }
        }
    )+};
}

path_ids!(ConnectionId, MediaId, PostId, ProfileId, TargetId, UserId, WebhookId);

pub fn path_id<T: PathId>(raw: &str) -> Result<T, ApiError> {
    T::read(raw).ok_or(ApiError::NotFound)
}

#[derive(Clone, Copy, Debug)]
pub struct Id<T>(pub T);

/// Like [`Path`], but an unreadable parameter, such as one that is not UTF-8, returns 404.
#[derive(Clone, Debug)]
pub struct Segments<T>(pub T);

impl<S: Sync + Send, T: PathId> FromRequestParts<S> for Id<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Segments(raw) = Segments::<String>::from_request_parts(parts, state).await?;
        path_id(&raw).map(Self)
    }
}

impl<S: Sync + Send, T: DeserializeOwned + Send> FromRequestParts<S> for Segments<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(segments) = Path::<T>::from_request_parts(parts, state).await.map_err(|_| ApiError::NotFound)?;
        Ok(Self(segments))
    }
}
