//! What the Mastodon adapter makes of each kind of server that speaks the API,
//! beside what every adapter has to keep.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod apps;
mod connecting;
mod files;
mod recognition;

use domain::media::MimeType;
use networks::mastodon::{Known, Server};
use platforms::Account;
use platforms::conformance::samples::{Sample, sample};
use platforms::conformance::stage::{Post, Stage};

async fn stage<K: Known>() -> (Stage<Server<K>>, Account) {
    let stage = Stage::new().await;
    let account = stage.connect().await;
    (stage, account)
}

fn picture() -> Vec<Sample> {
    vec![sample(MimeType::Jpeg, 1)]
}

/// A post that is prepared and due.
async fn due<'a, K: Known>(stage: &Stage<Server<K>>, account: &'a Account, text: &str, media: Vec<Sample>) -> Post<'a> {
    let mut post = stage.post(account, text, media);
    let mut setbacks = Vec::new();
    stage.prepare_all(&mut post, &mut setbacks).await.unwrap();
    assert_eq!(setbacks, []);
    stage.clock.skip_to(post.publish_at);
    post
}
