//! Connecting with Instagram Login, and with Facebook Login.

use fakes::instagram::{HANDLE, ID, Instagram, PageAndAccount};
use platforms::RefreshPolicy;
use secrecy::ExposeSecret;

use super::by_facebook;
use crate::prelude::*;

#[tokio::test]
async fn needed_scopes_are_requested_and_the_token_is_in_no_url() {
    let (harness, account) = connected::<Instagram>().await;
    let asked = harness.fake.request_log.all();
    let page = asked.iter().find(|it| it.request_line.starts_with("GET /oauth/authorize")).unwrap();
    let scopes = "instagram_business_basic%2Cinstagram_business_content_publish%2Cinstagram_business_manage_comments";
    assert!(page.request_line.contains(scopes), "{}", page.request_line);
    let token = account.credentials.access_token.expose_secret();
    assert!(asked.iter().filter(|it| it.request_line.contains("/v26.0/")).all(|it| !it.request_line.contains(token)));
}

#[tokio::test]
async fn accounts_of_all_chosen_pages_are_connected_each_with_its_own_token() {
    let harness = by_facebook().await;
    harness.fake.has_pages(&[
        ("1001", Some((ID, HANDLE)), &["CREATE_CONTENT"]),
        ("1002", None, &["CREATE_CONTENT"]),
        ("1003", Some(("17841400000000003", "second.keeper")), &["MANAGE", "CREATE_CONTENT"]),
        ("1004", Some(("17841400000000004", "third")), &["ANALYZE"]),
    ]);

    let accounts = connect_all(&harness).await.unwrap();

    let actual: Vec<_> =
        accounts.iter().map(|it| (it.profile.account_id.as_str(), it.profile.username.as_deref())).collect();
    assert_eq!(actual, [(ID, Some(HANDLE)), ("17841400000000003", Some("second.keeper"))]);
    let [first, second] = &accounts[..] else { panic!() };
    assert_eq!((first.grant_name(), first.grant_name() == first.profile.account_id), (second.grant_name(), false));
    let own = |it: &Account| it.credentials.own_token.as_ref().unwrap().expose_secret().to_owned();
    assert_ne!(own(first), own(second));
    assert!(first.credentials.expires_at.is_none(), "tokens of Pages do not expire");
    assert_eq!(harness.publisher().refresh_policy(), RefreshPolicy::Never);
}

#[tokio::test]
async fn refused_account_gets_the_reason() {
    let pages: [(&[PageAndAccount<'_>], &str); 3] = [
        (&[], "you have no Facebook Page"),
        (&[("1", None, &["CREATE_CONTENT"])], "has a professional Instagram account: link the account"),
        (&[("1", Some((ID, HANDLE)), &["ANALYZE"])], "you may not create content on the Pages of keeper_ada"),
    ];
    for (pages, expected) in pages {
        let harness = by_facebook().await;
        harness.fake.has_pages(pages);
        let refusal = connect_all(&harness).await.unwrap_err();
        assert!(refusal.to_string().contains(expected), "{refusal}");
    }

    let harness = AdapterHarness::<Instagram>::new().await;
    harness.fake.set_account_type("Personal");
    let refusal = connect_all(&harness).await.unwrap_err();
    assert!(refusal.to_string().contains("keeper_ada is a personal account"), "{refusal}");
}

#[tokio::test]
async fn permission_for_comments_is_not_needed_to_post() {
    let harness = AdapterHarness::<Instagram>::new().await;
    for (declined, is_connected) in
        [("instagram_business_content_publish", false), ("instagram_business_manage_comments", true)]
    {
        harness.fake.declines(&[declined]);
        let connected = connect_all(&harness).await;
        assert_eq!(connected.is_ok(), is_connected, "{declined}: {connected:?}");
    }
}
