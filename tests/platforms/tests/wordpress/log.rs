//! What the log says.

use std::io;
use std::sync::{Arc, LazyLock, Mutex};

use domain::media::MimeType;
use http::Method;
use networks::wordpress::{Oddity, Wordpress};
use platforms::conformance::network::Decision;
use platforms::conformance::samples::sample;
use platforms::conformance::stage::Stage;
use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber};

use super::stage;

/// A site that a user names may repeat the request in its message. The log has neither.
#[tokio::test]
async fn no_words_of_a_site_reach_the_log() {
    let (log, _guard) = Log::kept();
    let (stage, account) = stage().await;
    stage.network.is_odd(Oddity::KeepsPosts);
    stage.network.takes_files_up_to(10);
    let mut post = stage.post(&account, "too large", vec![sample(MimeType::Png, 1)]);
    stage.deliver(&mut post).await.unwrap_err();

    let stage = Stage::<Wordpress>::new().await;
    let callback = stage.decided(Decision::Allow).await;
    stage.network.has_role("subscriber");
    stage.network.is_odd(Oddity::LacksIntrospection);
    stage.network.intermediary().block(Method::GET, "/application-passwords", 500, 1);
    stage.complete(&callback).await.unwrap_err();

    let lines = log.lines();
    assert!(lines.contains("a draft was left behind") && lines.contains("an application password was left behind"));
    assert!(!lines.contains("not allowed to delete") && !lines.contains("Basic "), "{lines}");
}

/// With one dispatcher alone, tracing disables a callsite for all threads if a thread without a subscriber reaches it
/// first.
static SECOND_DISPATCHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));

/// What is logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn kept() -> (Self, DefaultGuard) {
        LazyLock::force(&SECOND_DISPATCHER);
        let log = Self::default();
        let writer = log.clone();
        let lines = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        (log, tracing::subscriber::set_default(lines))
    }

    fn lines(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
