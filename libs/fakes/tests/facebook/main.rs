//! Behavior specific to Facebook.
#![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

mod connecting;
mod first_comment;
mod intermediaries;
mod lost_answers;
mod posts;
mod rules;
mod videos;

use domain::media::MimeType;
use domain::options::{OptionValue, Options};
use fakes::facebook::Facebook;
use platforms::Account;
use platforms::conformance::adapter_harness::{AdapterHarness, Post};
use platforms::conformance::samples::{Sample, sample};

async fn harness() -> (AdapterHarness<Facebook>, Account) {
    let harness = AdapterHarness::new().await;
    let account = harness.connect().await;
    (harness, account)
}

fn options(pairs: &[(&str, &str)]) -> Options {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Text((*value).to_owned()))).collect()
}

/// A video of three parts.
fn long_video() -> Sample {
    let mut video = sample(MimeType::Mp4, 1);
    video.bytes.resize(9 << 20, 0);
    video.attachment.size_bytes = 9 << 20;
    video
}

/// A post with these files and options.
fn a_post<'a>(
    harness: &AdapterHarness<Facebook>,
    account: &'a Account,
    files: Vec<Sample>,
    given: &[(&str, &str)],
) -> Post<'a> {
    let mut post = harness.post(account, "from the harbour", files);
    post.options = options(given);
    post
}
