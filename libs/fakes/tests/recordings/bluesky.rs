use fakes::bluesky::Bluesky;
use fakes::conformance::adapter_harness::AdapterHarness;
use fakes::conformance::fake_platform::{FakePlatform, start_fake};
use fakes::fake::wire::browser;
use secrecy::ExposeSecret;

use crate::{KnownDifferences, exchanges_with, hold};

const VIDEO: &str = "POST /xrpc/app.bsky.video.uploadVideo";

const OLDER: &str = "in the lexicon; the recording is older";
const INACTIVE: &str = "only of accounts that are not active, as the recorded one";
const CONFLICT: &str = "a conflict names the job of the same file";

const KNOWN: KnownDifferences = KnownDifferences {
    differences: &[
        ("GET /xrpc/app.bsky.actor.getProfile", "/avatar: missing", "the account of the fake has no picture"),
        ("GET /xrpc/app.bsky.video.getUploadLimits", "/message: missing", "only of accounts that may not upload"),
        ("POST /xrpc/com.atproto.server.createSession", "/status: missing", INACTIVE),
        ("POST /xrpc/com.atproto.server.refreshSession", "/status: missing", INACTIVE),
        ("POST /xrpc/com.atproto.server.refreshSession", "/email: unexpected", OLDER),
        ("POST /xrpc/com.atproto.server.refreshSession", "/emailConfirmed: unexpected", OLDER),
        (VIDEO, "/did: unexpected", CONFLICT),
        (VIDEO, "/jobId: unexpected", CONFLICT),
        (VIDEO, "/progress: unexpected", CONFLICT),
        (VIDEO, "/state: unexpected", CONFLICT),
    ],
    unmet: &[],
};

#[tokio::test]
async fn bluesky_answers_as_recorded() {
    let further = async {
        let harness = AdapterHarness::<Bluesky>::new().await;
        harness.connect_directly().await.unwrap();
        let token = harness.refresh().await.unwrap().access_token;
        let url = format!("http://{}/xrpc/com.atproto.server.getSession", harness.fake.addresses()[0]);
        browser().get(url).bearer_auth(token.expose_secret()).send().await.unwrap();
    };
    hold("bluesky", &exchanges_with(start_fake::<Bluesky>, further).await, &KNOWN);
}
