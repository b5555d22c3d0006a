//! The content of the log.

use domain::media::MimeType;
use fakes::wordpress::{SiteQuirk, Wordpress};
use http::Method;
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::Decision;
use platforms::conformance::log::Log;
use platforms::conformance::samples::sample;

use super::harness;

/// A site that a user names may repeat the request in its message. The log contains neither.
#[tokio::test]
async fn log_has_no_text_of_a_site() {
    let (log, _guard) = Log::capture();
    let (harness, account) = harness().await;
    harness.fake.is_odd(SiteQuirk::KeepsPosts);
    harness.fake.set_max_file_bytes(10);
    let mut post = harness.post(&account, "too large", vec![sample(MimeType::Png, 1)]);
    harness.deliver(&mut post).await.unwrap_err();

    let harness = AdapterHarness::<Wordpress>::new().await;
    let callback = harness.callback_after(Decision::Allow).await;
    harness.fake.set_role("subscriber");
    harness.fake.is_odd(SiteQuirk::LacksIntrospection);
    harness.fake.intermediary().block(Method::GET, "/application-passwords", 500, 1);
    harness.complete(&callback).await.unwrap_err();

    let lines = log.text();
    assert!(
        lines.contains("a draft could not be deleted")
            && lines.contains("an application password could not be deleted")
    );
    assert!(!lines.contains("not allowed to delete") && !lines.contains("Basic "), "{lines}");
}
