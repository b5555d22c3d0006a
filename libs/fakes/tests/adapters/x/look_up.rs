//! The look-up of a post whose publish call had an unknown outcome.

use super::X;
use crate::prelude::*;

/// Each post that is read is billed.
#[tokio::test]
async fn look_up_stops_at_the_page_that_has_the_post() {
    let (harness, account) = connected::<X>().await;
    let post = harness.due(&account, "a lighthouse", Vec::new()).await;
    harness.fake.publish_manual_posts(250);
    let began = harness.lose_outcome(&post, InjectedFault::LoseResponse).await;

    assert_matches!(harness.resolve(&post, began).await, Resolution::Found(_));

    assert_eq!((harness.fake.posts_read(), harness.fake.call_count(Call::LookUp)), (100, 1));
}

/// `meta` shows whether a list is complete, and `errors` lists what is missing.
#[tokio::test]
async fn list_without_a_mark_of_its_end_proves_nothing() {
    let (harness, account) = connected::<X>().await;
    let (post, began) = lost_post(&harness, &account, "a lighthouse", Vec::new(), InjectedFault::CutBefore).await;
    let hidden =
        json!({ "title": "Authorization Error", "type": "https://api.x.com/2/problems/not-authorized-for-resource" });
    for list in [
        json!({}),
        json!({ "data": [] }),
        json!({ "meta": { "result_count": 3 } }),
        json!({ "meta": { "result_count": 0 }, "errors": [hidden] }),
    ] {
        harness.fake.refuses("/2/users/", 200, list.clone());
        assert_matches!(harness.resolve(&post, began).await, Resolution::Pending { .. }, "{list}");
    }
}

#[tokio::test]
async fn long_text_is_recognized_by_both_spellings_of_its_field() {
    for is_renamed in [false, true] {
        let (harness, account) = connected::<X>().await;
        harness.fake.set_subscription("Premium");
        if is_renamed {
            harness.fake.rename_fields();
        }
        let text = format!("example.com {}", "a long story & a good one ".repeat(20));
        let (post, began) = lost_post(&harness, &account, &text, Vec::new(), InjectedFault::LoseResponse).await;
        harness.fake.publish_manual_posts(120);

        assert_matches!(harness.resolve(&post, began).await, Resolution::Found(_), "{is_renamed}");
    }
}

/// The earlier call created the post, and the list lags by more than the settle time.
#[tokio::test]
async fn duplicate_of_an_unlisted_post_is_looked_up_until_it_is_listed() {
    let (harness, account) = connected::<X>().await;
    harness.fake.lists_after(TimeDelta::minutes(10));
    let (post, began) = lost_post(&harness, &account, "good morning", Vec::new(), InjectedFault::LoseResponse).await;
    harness.clock.advance(TimeDelta::minutes(2));
    assert_eq!(harness.resolve(&post, began).await, Resolution::NotFound);

    for duplicate in [
        None,
        Some(json!({ "title": "Forbidden", "type": "https://api.x.com/2/problems/duplicate-rules", "status": 403 })),
    ] {
        if let Some(body) = duplicate {
            harness.fake.refuses("/2/tweets", 403, body);
        }
        assert_matches!(harness.publish(&post).await, Err(AttemptError::Duplicate { .. }));
    }
    harness.clock.advance(TimeDelta::minutes(10));
    assert_matches!(harness.resolve(&post, began).await, Resolution::Found(_));
}
