//! What the log says.

use domain::media::MimeType;
use http::Method;
use networks::wordpress::{Oddity, Wordpress};
use platforms::conformance::log::Log;
use platforms::conformance::network::Decision;
use platforms::conformance::samples::sample;
use platforms::conformance::stage::Stage;

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

    let lines = log.text();
    assert!(
        lines.contains("a draft could not be deleted")
            && lines.contains("an application password could not be deleted")
    );
    assert!(!lines.contains("not allowed to delete") && !lines.contains("Basic "), "{lines}");
}
