//! Site discovery and sign-in.

use fakes::wordpress::{TYPED, USER, Wordpress};

use super::refuse;
use crate::prelude::*;

fn typed<const N: usize>(values: [(&str, &str); N]) -> FieldValues {
    values.into_iter().map(|(name, it)| (name.to_owned(), it.to_owned().into())).collect()
}

#[tokio::test]
async fn account_has_the_name_of_its_site() {
    let (harness, account) = connected::<Wordpress>().await;
    let place = harness.fake.home().replace("http://", "");

    assert_eq!(account.profile.account_id, format!("2@{place}"));
    // Any site can claim this account, so the grant is of the site that has the password.
    assert!(account.grant_name().starts_with(&format!("2@{place} at {}", harness.fake.home())));
    assert_eq!(account.profile.username, Some(format!("{USER}@{place}")));
    assert_eq!(account.profile.display_name.as_deref(), Some("Harbour & Lighthouse"));
    assert!(account.profile.profile_url.unwrap().starts_with(&harness.fake.home()));
    assert_eq!(account.scopes, ["edit_posts", "publish_posts", "upload_files"]);
}

#[tokio::test]
async fn site_is_found_by_any_page_and_after_a_move() {
    let harness = AdapterHarness::<Wordpress<true>>::new().await;
    let (home, origin) = (harness.fake.home(), harness.fake.base_url());
    harness.fake.faults().respond_with(Method::GET, "/moved/", 308, format!("{home}/").into(), 1);
    for page in ["/blog", "/blog/wp-admin/profile.php", "/blog/wp-login.php?x=1", "/moved/"] {
        let (url, _) = page_for(&harness, &typed([("site", &format!("{origin}{page}"))])).await;
        assert!(url.starts_with(&format!("{home}/wp-admin/authorize-application.php?app_name=")), "{url}");
    }
    let (name, message) = field_error(&harness, &typed([("site", &format!("{origin}/elsewhere"))])).await;
    assert!(name == "site" && message.contains("has no WordPress REST API"), "{name}: {message}");
}

#[tokio::test]
async fn role_without_permission_is_refused_and_its_password_deleted() {
    for (role, capabilities, missing) in [
        ("contributor", json!({ "edit_posts": true }), "may not publish posts"),
        ("subscriber", json!([]), "may not write posts"),
    ] {
        let harness = AdapterHarness::<Wordpress>::new().await;
        let me = json!({ "id": 2, "username": USER, "roles": [role], "capabilities": capabilities });
        let callback = harness.callback_after(Decision::Allow).await;
        harness.fake.faults().respond_with(Method::GET, "/users/me", 200, me, 1);

        let reason = format!("{USER} ({role}) {missing}");
        assert_matches!(harness.complete(&callback).await, Err(ConnectError::Refused(it)) if it.contains(&reason));
        assert_eq!(harness.fake.passwords(), ["by hand"], "the password was made for nothing");
    }
}

#[tokio::test]
async fn stripped_authorization_header_is_reported() {
    let harness = AdapterHarness::<Wordpress>::new().await;
    let callback = harness.callback_after(Decision::Allow).await;
    refuse(&harness, (Method::GET, "/users/me"), (401, "rest_not_logged_in"), 2);

    let by_page = harness.complete(&callback).await.unwrap_err();
    let by_typing = harness.authorize(&harness.fake.direct_form_values().unwrap()).await.unwrap_err();

    for refusal in [by_page, by_typing] {
        assert!(refusal.to_string().contains("remove the Authorization header"), "{refusal}");
    }
}

#[tokio::test]
async fn site_without_the_page_is_connected_by_a_pasted_password() {
    let harness = AdapterHarness::<Wordpress>::new().await;
    let index =
        json!({ "name": "Harbour", "home": harness.fake.home(), "namespaces": ["wp/v2"], "authentication": [] });
    harness.fake.faults().respond_with(Method::GET, "/wp-json/", 200, index, 1);

    let (name, message) = field_error(&harness, &harness.fake.form_values()).await;

    assert!(name == "application_password" && message.contains("type it here with your username"), "{name}: {message}");
}

#[tokio::test]
async fn username_and_password_are_required_together() {
    let harness = AdapterHarness::<Wordpress>::new().await;
    let home = harness.fake.home();
    for (user, password, field) in
        [(USER, "", "application_password"), ("", TYPED, "username"), ("nobody", TYPED, "application_password")]
    {
        let values = typed([("site", &home), ("username", user), ("application_password", password)]);
        assert_eq!(field_error(&harness, &values).await.0, field);
    }
}

/// It could be the password of another site, which redirected its visitor here.
#[tokio::test]
async fn password_without_a_site_is_not_sent() {
    let harness = AdapterHarness::<Wordpress>::new().await;
    let mut callback = harness.callback_after(Decision::Allow).await;
    callback.query.remove("site_url");
    let arrived = harness.fake.request_log().all().len();

    assert_matches!(harness.complete(&callback).await, Err(ConnectError::Refused(words))
        if words.contains("delete it"));
    assert_eq!(harness.fake.request_log().all().len(), arrived, "something was sent");
}
