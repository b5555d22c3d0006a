//! `GET /dev/events`: the latest events, oldest first.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use domain::event::Event;
use server::LocalEvents;

pub(crate) fn router(events: LocalEvents) -> Router {
    Router::new().route("/dev/events", get(list)).with_state(events)
}

async fn list(State(events): State<LocalEvents>) -> Json<Vec<Event>> {
    Json(events.latest())
}
