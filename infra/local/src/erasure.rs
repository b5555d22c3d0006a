//! Erases a user, as `infra/erase-user` does in a deployment.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use domain::id::UserId;
use housekeeping::Housekeeping;
use http::StatusCode;
use platforms::{Connect, Registry};

#[derive(Clone)]
struct Erasure {
    housekeeping: Housekeeping,
    platforms: Registry<dyn Connect>,
}

/// `POST /dev/erase-user/{user}`: one pass of the erasure.
pub(crate) fn router(housekeeping: Housekeeping, platforms: Registry<dyn Connect>) -> Router {
    Router::new().route("/dev/erase-user/{user}", post(erase)).with_state(Erasure { housekeeping, platforms })
}

async fn erase(State(erasure): State<Erasure>, Path(user): Path<String>) -> Response {
    let Some(user) = UserId::parse(&user) else { return StatusCode::NOT_FOUND.into_response() };
    match upkeep::erase(&erasure.housekeeping, &erasure.platforms, user).await {
        Ok(pass) => Json(pass).into_response(),
        Err(error) => {
            tracing::error!(%error, "a user could not be erased");
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
    }
}
