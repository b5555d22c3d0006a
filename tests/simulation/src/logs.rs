//! Every log line of a run, searched for tokens, which must never be logged.

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::simulated_platforms::MARK;
use crate::world::lock;

#[derive(Clone, Debug, Default)]
pub(crate) struct Logs(Arc<Mutex<SeenLines>>);

#[derive(Debug, Default)]
struct SeenLines {
    lines: u64,
    leaks: Vec<String>,
}

impl Logs {
    pub(crate) fn leaks(&self) -> Vec<String> {
        lock(&self.0).leaks.clone()
    }

    #[cfg(test)]
    fn lines(&self) -> u64 {
        lock(&self.0).lines
    }
}

impl Subscriber for Logs {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::INFO
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().target().to_owned());
        event.record(&mut line);
        let mut seen = lock(&self.0);
        seen.lines += 1;
        if line.0.contains(MARK) {
            seen.leaks.push(line.0);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_in_a_log_line_is_found() {
        let logs = Logs::default();

        tracing::subscriber::with_default(logs.clone(), || {
            tracing::info!(token = %format!("{MARK}-access-1"), "a mistake");
            tracing::info!("nothing");
        });

        assert_eq!(logs.leaks().len(), 1);
        assert_eq!(logs.lines(), 2);
    }
}
