//! Why this function did not do what a request asked, for clients and for pages.

use api::page::PageError;
use api::scope_guard::PostsDraft;
use api::{ApiError, Caller};
use domain::validation_errors::ValidationErrors;
use http::StatusCode;
use scheduling::{NotCreated, SchedulingError};

#[derive(Debug, thiserror::Error)]
pub(crate) enum PostsError {
    /// Or belongs to another user.
    #[error("post not found")]
    NotFound,
    /// Since the revision that the request names.
    #[error("the post was changed")]
    Stale,
    #[error("the token can only write drafts")]
    DraftsOnly,
    /// A request without `If-Match` schedules a draft that was written by a drafts-only token.
    #[error("the revision of the draft is required")]
    RevisionRequired,
    #[error("no link to the file")]
    NoLink,
    #[error(transparent)]
    Scheduling(#[from] SchedulingError),
}

impl From<PostsError> for ApiError {
    fn from(error: PostsError) -> Self {
        match error {
            PostsError::NotFound => Self::NotFound,
            PostsError::Stale => Self::PreconditionFailed,
            PostsError::DraftsOnly => Self::Forbidden(
                "The token can only write drafts (posts:draft). Leave out scheduled_at and ask the user to schedule the draft on \
                 /account/posts, or get a token with the scope posts:write."
                    .to_owned(),
            ),
            PostsError::RevisionRequired => Self::PreconditionRequired(
                "This draft was written with a token for drafts, so it may have changed since you saw it. Read the post, then schedule \
                 it with its etag in If-Match, or ask the user to schedule it on /account/posts."
                    .to_owned(),
            ),
            PostsError::NoLink => Self::Unavailable,
            // The client's other requests conflicted for as long as this one could wait.
            PostsError::Scheduling(error) if error.is_contended() => Self::TooMany { wait: 1 },
            PostsError::Scheduling(SchedulingError::Storage(error)) => error.into(),
            PostsError::Scheduling(SchedulingError::Bucket(error)) => {
                tracing::error!(%error, "media bucket failed during a request");
                Self::Unavailable
            }
            PostsError::Scheduling(error @ (SchedulingError::Queue(_) | SchedulingError::NotInspected)) => {
                tracing::error!(%error, "a document was not inspected in time");
                Self::Unavailable
            }
            PostsError::Scheduling(error) => {
                tracing::error!(%error, "request for a post failed");
                Self::Internal
            }
        }
    }
}

pub(crate) fn not_created(caller: &Caller<PostsDraft>, reason: NotCreated) -> ApiError {
    match reason {
        NotCreated::KeyReused => ValidationErrors::one(
            "idempotency-key",
            "was used for another request; check whether the post of that request exists before you send a new key",
        )
        .into(),
        NotCreated::NotInPlan(reason) => caller.plan_error(reason),
        NotCreated::NoUser => ApiError::Unauthenticated,
        NotCreated::Invalid(faults) => faults.into(),
    }
}

/// Every page has a link to the user's posts.
impl From<PostsError> for PageError {
    fn from(error: PostsError) -> Self {
        let page = match error {
            PostsError::NotFound | PostsError::DraftsOnly => {
                let text = "The post was deleted, or it belongs to another user.";
                Self::new(StatusCode::NOT_FOUND, "Post not found", text)
            }
            PostsError::Stale | PostsError::RevisionRequired => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "The post was changed",
                "The post was changed after you opened the page, so nothing was done. Check the post, then try again.",
            ),
            PostsError::Scheduling(error) if error.is_contended() => Self::new(
                StatusCode::CONFLICT,
                "The post is being changed",
                "Another request is changing the post. Nothing was changed. Try again.",
            ),
            PostsError::NoLink => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "The file cannot be shown",
                "The storage of files does not respond. Try again.",
            ),
            PostsError::Scheduling(SchedulingError::Storage(error)) => return error.into(),
            PostsError::Scheduling(_) => {
                tracing::error!(%error, "form request for a post failed");
                let text = "Something failed on our side. Check the post before you try again.";
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong", text)
            }
        };
        page.with_link("/account/posts", "Go to your posts")
    }
}
