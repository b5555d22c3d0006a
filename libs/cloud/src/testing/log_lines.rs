use std::io;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use serde_json::Value;
use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, fmt};

use crate::aws::levels;

/// With one dispatcher only, tracing disables a callsite for all threads if a thread without a
/// subscriber reaches it first.
static SECOND_DISPATCHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));

/// The log of this thread while the value lives.
#[derive(Debug)]
pub struct LogLines {
    written: Written,
    _subscriber: DefaultGuard,
}

#[derive(Clone, Debug, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl LogLines {
    /// Records what a function logs with this `LOG_LEVEL`: always the audit trail.
    pub fn record(log_level: &str) -> Self {
        LazyLock::force(&SECOND_DISPATCHER);
        let written = Written::default();
        let writer = written.clone();
        let layer = fmt::layer().json().with_writer(move || writer.clone()).with_filter(levels(Some(log_level)));
        let subscriber = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
        Self { written, _subscriber: subscriber }
    }

    /// # Panics
    /// If a line is not JSON.
    #[expect(clippy::expect_used, reason = "only tests call it")]
    pub fn lines(&self) -> Vec<Value> {
        let bytes = self.written.0.lock().unwrap_or_else(PoisonError::into_inner);
        serde_json::Deserializer::from_slice(&bytes).into_iter().map(|it| it.expect("a line of JSON")).collect()
    }
}

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
