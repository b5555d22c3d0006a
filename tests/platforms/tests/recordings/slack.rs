use chrono::TimeDelta;
use domain::media::{AltText, MimeType};
use networks::fake::wire::browser;
use networks::slack::Slack;
use platforms::conformance::network::Network;
use platforms::conformance::samples::sample;
use platforms::conformance::stage::Stage;

use crate::{Known, exchanges_with, hold};

const ECHO: &str = "the suite lets refusals repeat the request in this field";

const KNOWN: Known = Known {
    differences: &[
        (
            "GET /api/conversations.history",
            "/messages/*/metadata: unexpected",
            "the recorded request does not ask for it",
        ),
        ("GET /api/files.info", "/file/shares/public/C0LIGHTHOUSE: unexpected", "the ids of channels are keys"),
        ("GET /api/files.info", "/file/shares/public/C0T8SE4AU: missing", "the ids of channels are keys"),
        ("POST /api/files.completeUploadExternal", "/error_description: unexpected", ECHO),
        ("POST /api/files.getUploadURLExternal", "/error_description: unexpected", ECHO),
    ],
    unmet: &[],
};

#[tokio::test]
async fn slack_answers_as_recorded() {
    hold("slack", &exchanges_with::<Slack>(further()).await, &KNOWN);
}

async fn further() {
    let stage = Stage::<Slack>::new().await;
    let account = stage.connect().await;
    browser().post(format!("{}/api/auth.test", stage.fake.base_url())).send().await.unwrap();
    for code in ["invalid_arguments", "too_many_attachments", "channel_not_found", "fatal_error"] {
        stage.fake.refuses("chat.postMessage", code);
        stage.publish(&stage.post(&account, code, Vec::new())).await.unwrap_err();
    }
    // The share of a file whose message never appears.
    let mut file = sample(MimeType::Png, 1);
    file.attachment.alt_text = Some(AltText::parse("waves").unwrap());
    let post = stage.due(&account, "look", vec![file, sample(MimeType::Png, 2)]).await;
    stage.fake.drop_shares(1);
    let since = stage.clock.now();
    stage.publish(&post).await.unwrap_err();
    for minutes in [4, 2, 0] {
        stage.clock.advance(TimeDelta::minutes(minutes));
        stage.resolve(&post, since).await;
    }
}
