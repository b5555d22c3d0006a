//! Options specific to Mastodon.

use domain::testing::an_attachment;
use fakes::mastodon::{FlavorType, GoToSocial, Pixelfed, Snac, Stock};

use super::{Server, picture};
use crate::prelude::*;

#[tokio::test]
async fn options_are_sent_and_defaults_are_those_of_the_account() {
    let (harness, account) = connected::<Server<Stock>>().await;
    harness.fake.set_default_visibility("private");
    harness.deliver(&mut harness.post(&account, "as the account has it", Vec::new())).await.unwrap();
    assert_eq!(harness.fake.latest().unwrap(), ("private".to_owned(), String::new(), false, None));

    let mut post = harness.post(&account, "with everything", picture());
    let warning = "Boats & \"oars\"";
    post.options = options(json!({
        "visibility": "unlisted", "content_warning": warning, "sensitive": true, "language": "de",
    }));
    harness.deliver(&mut post).await.unwrap();

    let said = ("unlisted".to_owned(), warning.to_owned(), true, Some("de".to_owned()));
    assert_eq!(harness.fake.latest().unwrap(), said);
}

#[tokio::test]
async fn lost_post_missing_in_an_incomplete_list_is_not_sent_again() {
    let (harness, account) = connected::<Server<Snac>>().await;
    for (visibility, is_listed) in [(None, true), (Some("public"), true), (Some("private"), false)] {
        let mut post = harness.due(&account, &format!("to {visibility:?}"), Vec::new()).await;
        if let Some(visibility) = visibility {
            post.options = options(json!({ "visibility": visibility }));
        }
        let since = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;

        harness.clock.advance(TimeDelta::minutes(3));
        let response = harness.resolve(&post, since).await;
        match response {
            Resolution::Candidate(_) | Resolution::Found(_) => assert!(is_listed, "{response:?}"),
            Resolution::Undeterminable { .. } => assert!(!is_listed, "{response:?}"),
            other => panic!("{visibility:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn unknown_software_gets_the_default_visibility_of_the_account() {
    for own in ["public", "unlisted", "private"] {
        let (harness, account) = connected::<Server<Snac>>().await;
        harness.fake.set_default_visibility(own);
        let plain = publish_text(&harness, &account, "as the account has it").await;
        assert_eq!(harness.fake.latest().unwrap().0, own);
        harness.deliver(&mut harness.reply(&account, (&plain, &plain), "and a reply", Vec::new())).await.unwrap();
        assert_eq!(harness.fake.latest().unwrap().0, own);

        // The list shows only public posts.
        let (lost, since) = lost_post(&harness, &account, "and lost", Vec::new(), InjectedFault::LoseResponse).await;
        harness.clock.advance(TimeDelta::minutes(3));
        let response = harness.resolve(&lost, since).await;
        assert_eq!(matches!(response, Resolution::Undeterminable { .. }), own != "public", "{own}: {response:?}");
    }
}

#[tokio::test]
async fn unsupported_visibility_is_left_to_the_server() {
    let (harness, account) = connected::<Server<Snac>>().await;
    harness.fake.hides_visibility();
    let lost = harness.due(&account, "as the server has it", Vec::new()).await;
    let since = harness.lose_outcome(&lost, InjectedFault::LoseResponse).await;
    assert_eq!(harness.fake.public_posts().len(), 1);

    // The post exists. If it did not, the adapter would not send it again, because the post's
    // visibility is unknown.
    harness.clock.advance(TimeDelta::minutes(3));
    assert_matches!(harness.resolve(&lost, since).await, Resolution::Candidate(_) | Resolution::Found(_));
    let (lost, since) = lost_post(&harness, &account, "never there", Vec::new(), InjectedFault::CutBefore).await;
    harness.clock.advance(TimeDelta::minutes(3));
    assert_matches!(harness.resolve(&lost, since).await, Resolution::Undeterminable { .. });
}

#[tokio::test]
async fn content_warning_has_the_limit_of_its_server() {
    async fn is_kept<K: FlavorType>(longest: usize, field: &str) {
        let (harness, account) = connected::<Server<K>>().await;
        let warned = |length: usize| json!({ "content_warning": "é".repeat(length) });
        let errors = |length| account.rules.breaches(Some("Look"), &[an_attachment(1)], &options(warned(length)));
        assert_eq!(errors(longest), []);
        let over = errors(longest + 1);
        assert_eq!(over.iter().map(|it| &*it.field).collect::<Vec<_>>(), [field], "{over:?}");

        harness.deliver(&mut harness.post(&account, "Look", picture()).with(warned(longest))).await.unwrap();
        assert_eq!(harness.fake.latest().unwrap().1, "é".repeat(longest));
        let mut post = harness.post(&account, "Look", picture()).with(warned(longest + 1));
        assert_matches!(harness.deliver(&mut post).await, Err(AttemptError::Refused { .. }));
    }

    is_kept::<Pixelfed>(140, "options.content_warning").await;
    is_kept::<Stock>(496, "content").await;
    is_kept::<GoToSocial>(4996, "content").await;
}
