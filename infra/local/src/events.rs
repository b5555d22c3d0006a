//! The event bus in this process: the latest events, to be looked at.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use cloud::events::{EventBus, EventError};
use domain::event::Event;

/// Events kept.
const KEPT: usize = 1_000;

/// The latest events.
#[derive(Clone, Default)]
pub(crate) struct LocalEvents(Arc<Mutex<VecDeque<Event>>>);

#[async_trait]
impl EventBus for LocalEvents {
    async fn put(&self, events: &[Event]) -> Result<(), EventError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            if kept.len() == KEPT {
                kept.pop_front();
            }
            kept.push_back(event.clone());
        }
        Ok(())
    }
}

/// `GET /dev/events`: the latest events, oldest first.
pub(crate) fn router(events: LocalEvents) -> Router {
    Router::new().route("/dev/events", get(list)).with_state(events)
}

async fn list(State(events): State<LocalEvents>) -> Json<Vec<Event>> {
    let kept = events.0.lock().unwrap_or_else(PoisonError::into_inner);
    Json(kept.iter().cloned().collect())
}
