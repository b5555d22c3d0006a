//! What the log says.

use domain::media::MimeType;
use http::Method;
use networks::wordpress::{SiteQuirk, Wordpress};
use platforms::conformance::log::Log;
use platforms::conformance::network::Decision;
use platforms::conformance::samples::sample;
use platforms::conformance::stage::Stage;

use super::stage;

/// A site that a user names may repeat the request in its message. The log has neither.
#[tokio::test]
async fn log_has_no_text_of_a_site() {
    let (log, _guard) = Log::capture();
    let (stage, account) = stage().await;
    stage.fake.is_odd(SiteQuirk::KeepsPosts);
    stage.fake.set_max_file_bytes(10);
    let mut post = stage.post(&account, "too large", vec![sample(MimeType::Png, 1)]);
    stage.deliver(&mut post).await.unwrap_err();

    let stage = Stage::<Wordpress>::new().await;
    let callback = stage.callback_after(Decision::Allow).await;
    stage.fake.set_role("subscriber");
    stage.fake.is_odd(SiteQuirk::LacksIntrospection);
    stage.fake.intermediary().block(Method::GET, "/application-passwords", 500, 1);
    stage.complete(&callback).await.unwrap_err();

    let lines = log.text();
    assert!(
        lines.contains("a draft could not be deleted")
            && lines.contains("an application password could not be deleted")
    );
    assert!(!lines.contains("not allowed to delete") && !lines.contains("Basic "), "{lines}");
}
