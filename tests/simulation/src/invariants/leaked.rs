use super::{Broken, History, Kind};
use crate::simulated_platforms::MARK;
use crate::world::lock;

/// No access or refresh token is in any log line or event.
pub(super) fn credentials_are_not_logged(history: &History<'_>) -> Vec<Broken> {
    let events = history.published_events.iter().map(|it| it.event.detail.to_string()).filter(|it| it.contains(MARK));
    let lines = history.leaks.iter().cloned().chain(events);
    lines.map(|it| Broken::new(Kind::Other, None, format!("credentials are logged: {it}"))).collect()
}

pub(super) fn each_request_creates_one_post(history: &History<'_>) -> Vec<Broken> {
    lock(&history.people.twice_created).iter().map(|it| Broken::new(Kind::Duplicated, None, it.clone())).collect()
}
