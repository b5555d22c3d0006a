use domain::media::MimeType;
use fakes::conformance::adapter_harness::AdapterHarness;
use fakes::conformance::fake_platform::start_fake;
use fakes::conformance::samples::sample;
use fakes::fake::wire::browser;
use fakes::mastodon::Server;
use secrecy::ExposeSecret;

use crate::{KnownDifferences, exchanges_with, hold};

const CUT: &str = "documented, and cut from the recording";

const KNOWN: KnownDifferences = KnownDifferences {
    differences: &[
        ("GET /api/v1/instance/", "/rules: unexpected", CUT),
        ("GET /api/v1/instance/", "/short_description: unexpected", CUT),
        ("GET /api/v2/instance/", "/rules: unexpected", CUT),
    ],
    unmet: &[
        ("error-empty-page.json", "another endpoint; the fake answers no page"),
        ("error-forbidden.json", "an endpoint for administrators"),
        ("media-still-processing.json", "recorded with PUT, and the adapter asks with GET"),
    ],
};

#[tokio::test]
async fn mastodon_answers_as_recorded() {
    let further = async {
        let harness = AdapterHarness::<Server>::new().await;
        let account = harness.connect().await;
        let mut post = harness.post(&account, "with a picture", vec![sample(MimeType::Png, 1)]);
        let id = harness.deliver(&mut post).await.unwrap().published.platform_post_id;
        for path in [&format!("v1/statuses/{id}"), "v1/statuses/1", "v1/instance"] {
            let call = browser().get(format!("{}/api/{path}", harness.fake.base_url()));
            call.bearer_auth(account.credentials.access_token.expose_secret()).send().await.unwrap();
        }
    };
    hold("mastodon", &exchanges_with(start_fake::<Server>, further).await, &KNOWN);
}
