use fakes::conformance::fake_platform::start_fake;
use fakes::x::X;

use crate::{KnownDifferences, exchanges_with, hold};

const KNOWN: KnownDifferences = KnownDifferences {
    differences: &[
        ("GET /2/media/upload", "/data/expires_after_secs: unexpected", "in the description of the API"),
        ("GET /2/media/upload", "/data/size: unexpected", "in the description of the API"),
        ("GET /2/users/me", "/data/profile_image_url: unexpected", "the recorded request does not ask for it"),
        ("GET /2/users/me", "/data/subscription_type: unexpected", "the recorded request does not ask for it"),
        ("POST /2/media/upload/{id}/finalize", "/data/expires_after_secs: unexpected", "in the description of the API"),
        ("POST /2/media/upload/{id}/finalize", "/data/processing_info: unexpected", "the recorded file is a picture"),
        ("POST /2/media/upload/{id}/finalize", "/data/size: unexpected", "in the description of the API"),
        ("POST /2/media/upload/{id}/finalize", "/errors: unexpected", "in the description of the API"),
        ("POST /2/tweets", "/data/edit_history_post_ids: unexpected", "since 2022; the recording is older"),
    ],
    unmet: &[],
};

#[tokio::test]
async fn x_answers_as_recorded() {
    hold("x", &exchanges_with(start_fake::<X>, async {}).await, &KNOWN);
}
