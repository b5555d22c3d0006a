//! Options specific to Mastodon.

use domain::testing::an_attachment;
use fakes::mastodon::{FlavorType, GoToSocial, Pixelfed, Snac, Stock};

use super::{harness, picture};
use crate::prelude::*;

#[tokio::test]
async fn options_arrive_and_what_is_not_said_is_the_accounts_own_setting() {
    let (harness, account) = harness::<Stock>().await;
    harness.fake.set_default_visibility("private");
    let mut plain = harness.post(&account, "as the account has it", Vec::new());
    harness.deliver(&mut plain).await.unwrap();
    assert_eq!(harness.fake.latest().unwrap(), ("private".to_owned(), String::new(), false, None));

    let mut post = harness.post(&account, "with everything", picture());
    let warning = "Boats & \"oars\"";
    post.options = options(&[
        ("visibility", text("unlisted")),
        ("content_warning", text(warning)),
        ("sensitive", OptionValue::Flag(true)),
        ("language", text("de")),
    ]);
    harness.deliver(&mut post).await.unwrap();

    let said = ("unlisted".to_owned(), warning.to_owned(), true, Some("de".to_owned()));
    assert_eq!(harness.fake.latest().unwrap(), said);
}

#[tokio::test]
async fn where_the_listing_may_lack_it_a_lost_post_is_not_sent_again() {
    let (harness, account) = harness::<Snac>().await;
    for (visibility, is_told) in [(None, true), (Some("public"), true), (Some("private"), false)] {
        let mut post = harness.due(&account, &format!("to {visibility:?}"), Vec::new()).await;
        if let Some(visibility) = visibility {
            post.options = options(&[("visibility", text(visibility))]);
        }
        let since = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;

        harness.clock.advance(TimeDelta::minutes(3));
        let response = harness.resolve(&post, since).await;
        match response {
            Resolution::Candidate(_) | Resolution::Found(_) => assert!(is_told, "{response:?}"),
            Resolution::Undeterminable { .. } => assert!(!is_told, "{response:?}"),
            other => panic!("{visibility:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn unknown_software_is_sent_the_accounts_own_visibility() {
    for own in ["public", "unlisted", "private"] {
        let (harness, account) = harness::<Snac>().await;
        harness.fake.set_default_visibility(own);
        let mut plain = harness.post(&account, "as the account has it", Vec::new());
        let plain = harness.deliver(&mut plain).await.unwrap().published;
        assert_eq!(harness.fake.latest().unwrap().0, own);
        let mut reply = harness.reply(&account, (&plain, &plain), "and a reply", Vec::new());
        harness.deliver(&mut reply).await.unwrap();
        assert_eq!(harness.fake.latest().unwrap().0, own);

        // The list shows only public posts.
        let lost = harness.due(&account, "and lost", Vec::new()).await;
        let since = harness.lose_outcome(&lost, InjectedFault::LoseResponse).await;
        harness.clock.advance(TimeDelta::minutes(3));
        let response = harness.resolve(&lost, since).await;
        assert_eq!(matches!(response, Resolution::Undeterminable { .. }), own != "public", "{own}: {response:?}");
    }
}

#[tokio::test]
async fn a_visibility_that_cannot_be_asked_for_is_left_to_the_server() {
    let (harness, account) = harness::<Snac>().await;
    harness.fake.hides_visibility();
    let lost = harness.due(&account, "as the server has it", Vec::new()).await;
    let since = harness.lose_outcome(&lost, InjectedFault::LoseResponse).await;
    assert_eq!(harness.fake.public_posts().len(), 1);

    // The post exists. If it did not, the adapter would not send it again, because the post's
    // visibility is unknown.
    harness.clock.advance(TimeDelta::minutes(3));
    let response = harness.resolve(&lost, since).await;
    assert!(matches!(response, Resolution::Candidate(_) | Resolution::Found(_)), "{response:?}");
    let lost = harness.due(&account, "never there", Vec::new()).await;
    let since = harness.lose_outcome(&lost, InjectedFault::CutBefore).await;
    harness.clock.advance(TimeDelta::minutes(3));
    let response = harness.resolve(&lost, since).await;
    assert!(matches!(response, Resolution::Undeterminable { .. }), "{response:?}");
}

#[tokio::test]
async fn a_warning_has_the_limit_of_its_server_and_is_kept() {
    async fn is_kept<K: FlavorType>(longest: usize, field: &str) {
        let (harness, account) = harness::<K>().await;
        let warned = |length: usize| options(&[("content_warning", text(&"é".repeat(length)))]);
        let errors = |length| account.rules.breaches(Some("Look"), &[an_attachment(1)], &warned(length));
        assert_eq!(errors(longest), []);
        let over = errors(longest + 1);
        assert_eq!(over.iter().map(|it| &*it.field).collect::<Vec<_>>(), [field], "{over:?}");

        let mut post = harness.post(&account, "Look", picture());
        post.options = warned(longest);
        harness.deliver(&mut post).await.unwrap();
        assert_eq!(harness.fake.latest().unwrap().1, "é".repeat(longest));
        let mut post = harness.post(&account, "Look", picture());
        post.options = warned(longest + 1);
        let refused = harness.deliver(&mut post).await;
        assert!(matches!(refused, Err(AttemptError::Refused { .. })), "{refused:?}");
    }

    is_kept::<Pixelfed>(140, "options.content_warning").await;
    is_kept::<Stock>(496, "content").await;
    is_kept::<GoToSocial>(4996, "content").await;
}
