use chrono::TimeDelta;
use domain::media::{AltText, MimeType};
use fakes::conformance::adapter_harness::AdapterHarness;
use fakes::conformance::fake_platform::{FakePlatform, start_fake};
use fakes::conformance::samples::sample;
use fakes::fake::wire::browser;
use fakes::slack::Slack;

use crate::{KnownDifferences, exchanges_with, hold};

const ECHO: &str = "the suite lets refusals repeat the request in this field";
const UNASKED: &str = "the recorded request does not ask for it";

const KNOWN: KnownDifferences = KnownDifferences {
    differences: &[
        ("GET /api/conversations.history", "/messages/*/metadata: unexpected", UNASKED),
        ("GET /api/conversations.replies", "/messages/*/metadata: unexpected", UNASKED),
        ("GET /api/files.info", "/file/shares/public/C0LIGHTHOUSE: unexpected", "the ids of channels are keys"),
        ("GET /api/files.info", "/file/shares/public/C0T8SE4AU: missing", "the ids of channels are keys"),
        ("POST /api/files.completeUploadExternal", "/error_description: unexpected", ECHO),
        ("POST /api/files.getUploadURLExternal", "/error_description: unexpected", ECHO),
    ],
    unmet: &[],
};

#[tokio::test]
async fn slack_answers_as_recorded() {
    hold("slack", &exchanges_with(start_fake::<Slack>, further()).await, &KNOWN);
}

async fn further() {
    let harness = AdapterHarness::<Slack>::new().await;
    let account = harness.connect().await;
    browser().post(format!("{}/api/auth.test", harness.fake.base_url())).send().await.unwrap();
    for code in ["invalid_arguments", "too_many_attachments", "channel_not_found", "fatal_error"] {
        harness.fake.refuses("chat.postMessage", code);
        harness.publish(&harness.post(&account, code, Vec::new())).await.unwrap_err();
    }
    let root = harness.publish(&harness.post(&account, "island", Vec::new())).await.unwrap();
    harness.clock.advance(TimeDelta::seconds(2));
    let reply = harness.reply(&account, (&root, &root), "one island", Vec::new());
    let since = harness.clock.now();
    harness.publish(&reply).await.unwrap();
    harness.fake.has_pages_of(1);
    harness.resolve(&reply, since).await;
    // A share of a file whose message never appears.
    let mut file = sample(MimeType::Png, 1);
    file.attachment.alt_text = Some(AltText::parse("waves").unwrap());
    let post = harness.due(&account, "look", vec![file, sample(MimeType::Png, 2)]).await;
    harness.fake.drop_shares(1);
    let since = harness.clock.now();
    harness.publish(&post).await.unwrap_err();
    for minutes in [4, 2, 0] {
        harness.clock.advance(TimeDelta::minutes(minutes));
        harness.resolve(&post, since).await;
    }
}
