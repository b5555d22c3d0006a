//! The first comment, once a post is public.

use fakes::linkedin::{Advertising, Community, LinkedIn, Products, SelfServe};

use super::harness_with;
use crate::prelude::*;

const COMMENT: &str = "More (and #more) at https://example.com/a_b";

#[tokio::test]
async fn a_comment_that_fails_ends_no_grant_and_is_not_made_twice() {
    let (harness, account) = harness_with::<Community>().await;
    let mut post = harness.post(&account, "the lamp is lit", Vec::new());
    let published = harness.deliver(&mut post).await.unwrap().published;
    let comment = harness.comment(&account, &published, COMMENT);
    for (status, outcome) in
        [(403, "Refused"), (404, "RetryLater"), (429, "RetryLater"), (400, "Refused"), (503, "Unknown")]
    {
        harness.fake.refuses("/rest/socialActions", status, json!({ "status": status, "message": "no" }));
        let error = harness.publish(&comment).await.unwrap_err();
        assert!(format!("{error:?}").starts_with(outcome), "{status}: {error:?}");
    }
    assert!(LinkedIn::comments(&harness.fake).is_empty());

    harness.fake.refuses("/rest/socialActions", 403, json!({ "status": 403, "message": "no" }));
    let looked_up = harness.resolve(&comment, harness.clock.now()).await;
    assert!(matches!(looked_up, Resolution::Undeterminable { .. }), "{looked_up:?}");
}

/// Only the product "Community Management API" includes the scopes for comments.
#[tokio::test]
async fn app_without_comment_permission_gets_an_error() {
    may_not_comment::<SelfServe>().await;
    may_not_comment::<Advertising>().await;
}

async fn may_not_comment<P: Products>() {
    let (harness, account) = harness_with::<P>().await;
    let mut post = harness.post(&account, "the lamp is lit", Vec::new());
    let published = harness.deliver(&mut post).await.unwrap().published;
    let comment = harness.comment(&account, &published, COMMENT);

    let refused = harness.publish(&comment).await.unwrap_err();

    assert!(matches!(refused, AttemptError::Refused { .. }), "{refused:?}");
    let looked_up = harness.resolve(&comment, harness.clock.now()).await;
    assert!(matches!(looked_up, Resolution::Undeterminable { .. }), "{looked_up:?}");
    assert_eq!(harness.fake.public_posts().len(), 1);
}
