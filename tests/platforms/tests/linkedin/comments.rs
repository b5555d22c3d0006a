//! The first comment, once a post is public.

use domain::delivery::AttemptError;
use domain::options::{OptionValue, Options};
use networks::linkedin::{Advertising, Community, LinkedIn, PAGE_URN, Products, SelfServe};
use platforms::Followed;
use platforms::conformance::network::Network;
use platforms::conformance::stage::Stage;
use serde_json::json;

use super::stage_with;

const COMMENT: &str = "More (and #more) at https://example.com/a_b";

fn with_comment() -> Options {
    [("first_comment".to_owned(), OptionValue::Text(COMMENT.to_owned()))].into_iter().collect()
}

#[tokio::test]
async fn a_comment_stands_under_the_post_as_it_was_written() {
    let (stage, account): (Stage<LinkedIn<Community>>, _) = stage_with().await;
    let mut post = stage.post(&account, "the lamp is lit", Vec::new());
    post.options = with_comment();
    let published = stage.deliver(&mut post).await.unwrap().published;

    let followed = stage.follow_up(&post, "first_comment", &published).await;

    assert_eq!(followed, Ok(Followed::Done));
    assert_eq!(stage.fake.comments(), [(published.platform_post_id, PAGE_URN.to_owned(), COMMENT.to_owned())]);
}

#[tokio::test]
async fn a_comment_that_fails_ends_no_grant_and_is_not_made_twice() {
    let (stage, account) = stage_with::<Community>().await;
    let mut post = stage.post(&account, "the lamp is lit", Vec::new());
    post.options = with_comment();
    let published = stage.deliver(&mut post).await.unwrap().published;
    for (status, outcome) in
        [(403, "Refused"), (404, "RetryLater"), (429, "RetryLater"), (400, "Refused"), (503, "Unknown")]
    {
        stage.fake.refuses("/rest/socialActions", status, json!({ "status": status, "message": "no" }));
        let error = stage.follow_up(&post, "first_comment", &published).await.unwrap_err();
        assert!(format!("{error:?}").starts_with(outcome), "{status}: {error:?}");
    }
    assert!(stage.fake.comments().is_empty());
}

/// The scopes for comments come with "Community Management API" alone.
#[tokio::test]
async fn app_without_comment_permission_gets_an_error() {
    may_not_comment::<SelfServe>().await;
    may_not_comment::<Advertising>().await;
}

async fn may_not_comment<P: Products>() {
    let (stage, account) = stage_with::<P>().await;
    let mut post = stage.post(&account, "the lamp is lit", Vec::new());
    post.options = with_comment();
    let published = stage.deliver(&mut post).await.unwrap().published;

    let refused = stage.follow_up(&post, "first_comment", &published).await.unwrap_err();

    assert!(matches!(refused, AttemptError::Refused { .. }), "{refused:?}");
    assert_eq!(stage.fake.public_posts().len(), 1);
}
