//! Validation of each kind of post when it is scheduled.

use domain::media::Attachment;
use domain::text::PostText;

use super::{harness, options};
use crate::prelude::*;

#[tokio::test]
async fn kind_decides_which_rules_apply() {
    use MimeType::{Gif, Mp4, Png};
    let (_, account) = harness().await;
    let text = PostText::parse("from the harbour").unwrap();
    for (types, given, field) in [
        (vec![Png, Mp4], vec![], Some("media")),
        (vec![Png], vec![("link", "https://harbour.example")], Some("media")),
        (vec![Png], vec![("title", "The ferry")], Some("options.title")),
        (vec![], vec![("kind", "story")], Some("media")),
        (vec![Png, Gif], vec![("kind", "story")], Some("media")),
        (vec![Mp4], vec![("kind", "story"), ("title", "The ferry")], Some("options.title")),
        (vec![Mp4], vec![("kind", "story"), ("first_comment", "first!")], Some("options.first_comment")),
        (vec![Mp4], vec![("kind", "story")], None),
        (vec![Png], vec![("kind", "reel")], Some("media")),
        (vec![Mp4], vec![("kind", "reel"), ("title", "The ferry")], None),
    ] {
        let files: Vec<Attachment> = (1..).zip(&types).map(|(number, it)| sample(*it, number).attachment).collect();
        let errors = account.rules.breaches(&text, &files, &options(&given));
        assert_eq!(errors.first().map(|it| &*it.field), field, "{types:?} {given:?}: {errors:?}");
    }
}

/// Longer than the text of the conformance suite.
#[tokio::test]
async fn longest_text_is_accepted() {
    let (harness, account) = harness().await;
    let longest = "漢".repeat(63_206);
    harness.deliver(&mut harness.post(&account, &longest, Vec::new())).await.unwrap();

    let longer = PostText::parse(&format!("{longest}x")).unwrap();
    assert_eq!(account.rules.breaches(&longer, &[], &options(&[])).len(), 1);
}
