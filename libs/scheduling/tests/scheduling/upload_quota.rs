use chrono::{DateTime, TimeDelta, Utc};
use domain::post::{Authority, Changes};
use domain::rules::{PostRule, Rule, Rules};
use domain::testing::{a_new_post, noon};
use publishing::testing::PublishingHarness;
use scheduling::{Changed, PostValidated};

async fn warnings(harness: &PublishingHarness, at: DateTime<Utc>) -> Vec<(String, String)> {
    let request = a_new_post(Some(at), &harness.accounts[..1]);
    match harness.scheduling.validate_post(harness.user.user_id, request).await.unwrap() {
        PostValidated::Fine(warnings) => warnings.into_iter().map(|it| (it.field, it.message)).collect(),
        PostValidated::Refused(refused) => panic!("{refused:?}"),
    }
}

#[tokio::test]
async fn post_beyond_the_uploads_of_its_day_has_a_warning_with_the_next_day() {
    let mut harness = PublishingHarness::new().await;
    harness.accounts[0].rules = Rules::new("Example", [Rule::OfPost(PostRule::UploadsPerDay { max: 1 })]);
    harness.reconnect(0, PublishingHarness::credentials(None), None).await;
    let (user, at) = (harness.user.user_id, noon() + TimeDelta::hours(1));
    assert_eq!(warnings(&harness, at).await, []);

    let post = harness.schedule("one", at).await;

    let [(field, message)] = &warnings(&harness, at).await[..] else { panic!("one warning") };
    assert_eq!(field, "platforms.0.connected_account_id");
    let ends_at =
        (noon() + TimeDelta::hours(20)).format("may be published only after %Y-%m-%dT08:00:00Z: Example accepts 1 ");
    assert!(message.starts_with(&ends_at.to_string()), "{message}");
    assert_eq!(warnings(&harness, at + TimeDelta::days(1)).await, []);

    let tomorrow = Changes { scheduled_at: Some(Some(at + TimeDelta::days(1))), ..Changes::default() };
    let changed = harness.scheduling.change_post(user, harness.post(&post).await, tomorrow).await.unwrap();
    let Changed::Done(post) = changed else { panic!("{changed:?}") };
    assert_eq!(warnings(&harness, at).await, []);
    assert_eq!(warnings(&harness, at + TimeDelta::days(1)).await.len(), 1);

    harness.scheduling.delete_post(user, *post, Authority::default(), None).await.unwrap();
    assert_eq!(warnings(&harness, at + TimeDelta::days(1)).await, []);
}
