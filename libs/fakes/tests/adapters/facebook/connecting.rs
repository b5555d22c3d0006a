//! The Pages that are connected, their tokens, and the end of grants.

use domain::connection::AccountInfo;
use domain::text::PostText;
use fakes::facebook::{Facebook, PAGE, PERSON_ID};
use platforms::RefreshPolicy;
use secrecy::ExposeSecret;

use crate::prelude::*;

fn names(accounts: &[Account]) -> Vec<&str> {
    accounts.iter().filter_map(|it| it.profile.display_name.as_deref()).collect()
}

#[tokio::test]
async fn all_pages_on_which_the_user_may_post_can_be_chosen() {
    let harness = AdapterHarness::<Facebook>::new().await;
    harness.fake.has_page("200", "Tide Tables", &["PROFILE_PLUS_CREATE_CONTENT"]);
    harness.fake.has_page("201", "Fog Horn", &["ANALYZE", "ADVERTISE"]);
    harness.fake.has_page("202", "Old Pier", &["CREATE_CONTENT"]);
    harness.fake.add_portfolio_page("300", "Ferry Office", true);
    harness.fake.add_portfolio_page("301", "Ferry Archive", false);
    harness.fake.declines(&["business_management"]);
    assert_eq!(names(&connect_all(&harness).await.unwrap()), ["Harbour Lights", "Tide Tables", "Old Pier"]);
    harness.fake.declines(&[]);

    let accounts = connect_all(&harness).await.unwrap();

    assert_eq!(names(&accounts), ["Harbour Lights", "Tide Tables", "Old Pier", "Ferry Office"]);
    let mut own: Vec<_> =
        accounts.iter().map(|it| it.credentials.own_token.as_ref().unwrap().expose_secret()).collect();
    own.sort_unstable();
    own.dedup();
    assert_eq!(own.len(), 4, "each has a token of its own");
    for account in &accounts {
        assert_eq!(account.grant.as_deref(), Some(PERSON_ID), "one grant has all of them");
        assert_eq!(account.credentials.expires_at, None);
    }
    assert_eq!(harness.connector().refresh_policy(), RefreshPolicy::Never);
    for (account, text) in accounts.iter().zip(["a", "b", "c", "d"]) {
        harness.store_credentials(&account.credentials);
        let published = publish_text(&harness, account, text).await;
        assert!(published.platform_post_id.starts_with(&format!("{}_", account.profile.account_id)));
    }
}

#[tokio::test]
async fn page_has_its_username_or_its_name() {
    let harness = AdapterHarness::<Facebook>::new().await;
    harness.fake.has_page("200", "Tide Tables", &["CREATE_CONTENT"]);

    let accounts = connect_all(&harness).await.unwrap();

    for (account, id, name, url) in [
        (&accounts[0], PAGE, "harbourlights", "https://www.facebook.com/harbourlights"),
        (&accounts[1], "200", "Tide Tables", "https://www.facebook.com/200"),
    ] {
        let AccountInfo { account_id, username, profile_url, .. } = &account.profile;
        assert_eq!((account_id.as_str(), username.as_deref(), profile_url.as_deref()), (id, Some(name), Some(url)));
    }
    assert!(accounts[0].profile.avatar.is_some());
}

#[tokio::test]
async fn user_without_a_page_gets_the_reason() {
    for (declined, tasks, expected) in [
        (&["pages_manage_posts", "pages_show_list"][..], None, "not granted: pages_show_list, pages_manage_posts"),
        (&[], None, "you have no Facebook Page, or selected none"),
        (&[], Some(["ANALYZE"]), "you may not create content on Fog Horn: ask an admin"),
    ] {
        let harness = AdapterHarness::<Facebook>::new().await;
        harness.fake.remove_pages();
        harness.fake.declines(declined);
        if let Some(tasks) = tasks {
            harness.fake.has_page("201", "Fog Horn", &tasks);
        }
        assert_matches!(connect_all(&harness).await, Err(ConnectError::Refused(it)) if it.contains(expected));
    }
}

#[tokio::test]
async fn missing_comment_permission_is_a_validation_error() {
    let harness = AdapterHarness::<Facebook>::new().await;
    harness.fake.declines(&["pages_manage_engagement"]);
    let account = connect_all(&harness).await.unwrap().remove(0);
    let text = PostText::parse("hello").unwrap();

    let errors = account.rules.breaches(&text, &[], &options(json!({ "first_comment": "first!" })));

    assert_eq!(errors.len(), 1);
    assert!(!account.scopes.contains(&"pages_manage_engagement".to_owned()), "{:?}", account.scopes);
    let about = details(&harness, &account).await.unwrap().unwrap();
    assert_eq!(about.rules, account.rules, "it is remembered");
}

#[tokio::test]
async fn grant_that_has_ended_counts_as_revoked() {
    let (harness, account) = connected::<Facebook>().await;
    let now = harness.clock.now();
    harness.fake.inject_fault(Call::Revoke, InjectedFault::ServerError, 1);
    assert!(harness.connector().revoke(&account.credentials, now).await.is_err());
    for _ in 0..2 {
        harness.connector().revoke(&account.credentials, now).await.unwrap();
        assert_eq!(harness.fake.grant_count(), 0);
    }
}

#[tokio::test]
async fn invisible_page_needs_reconnection() {
    let (harness, account) = connected::<Facebook>().await;
    let post = harness.due(&account, "prepared", Vec::new()).await;
    let missing = json!({ "message": "No.", "type": "GraphMethodException", "code": 100, "error_subcode": 33 });
    harness.fake.refuses("POST /feed", 400, json!({ "error": missing }));
    let error = harness.publish(&post).await.unwrap_err();
    assert_matches!(&error, AttemptError::RetryLater { .. }, "a single such error may be temporary");

    harness.fake.hide_pages();
    assert_matches!(harness.publish(&post).await, Err(AttemptError::Unauthorized { .. }));
    for mime_type in [MimeType::Png, MimeType::Mp4] {
        let mut other = harness.post(&account, "another", vec![sample(mime_type, 1)]);
        assert_matches!(harness.prepare_all(&mut other, &mut Vec::new()).await, Err(AttemptError::Unauthorized { .. }));
    }
}
