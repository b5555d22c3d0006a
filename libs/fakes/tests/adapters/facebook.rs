//! Behavior specific to Facebook.

mod connecting;
mod first_comment;
mod lost_answers;
mod posts;
mod rules;
mod videos;

use fakes::facebook::Facebook;

use crate::prelude::*;

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
    sample_with_size(MimeType::Mp4, 9 << 20)
}

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
