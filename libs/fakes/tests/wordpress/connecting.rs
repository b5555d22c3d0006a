//! Site discovery and sign-in.

use fakes::wordpress::{SiteQuirk, TYPED, USER, Wordpress};
use platforms::conformance::adapter_harness::AdapterHarness;
use platforms::conformance::fake_platform::{Decision, FakePlatform};
use platforms::{AuthorizeStep, ConnectError, FieldValues};

use super::harness;

fn typed(values: [(&str, &str); 3]) -> FieldValues {
    values.into_iter().map(|(name, it)| (name.to_owned(), it.to_owned().into())).collect()
}

#[tokio::test]
async fn an_account_is_known_by_its_site() {
    let (harness, account) = harness().await;
    let place = harness.fake.home().replace("http://", "");

    assert_eq!(account.profile.account_id, format!("2@{place}"));
    assert_eq!(account.profile.username, Some(format!("{USER}@{place}")));
    assert_eq!(account.profile.display_name.as_deref(), Some("Harbour & Lighthouse"));
    assert!(account.profile.profile_url.unwrap().starts_with(&harness.fake.home()));
    assert_eq!(account.scopes, ["edit_posts", "publish_posts", "upload_files"]);
}

#[tokio::test]
async fn a_site_is_found_from_any_of_its_pages_and_where_it_has_moved() {
    let harness = AdapterHarness::<Wordpress<true>>::new().await;
    let origin = harness.fake.home().replace("/blog", "");
    for page in ["/blog", "/blog/wp-admin/profile.php", "/blog/wp-login.php?x=1", "/moved/"] {
        let values = FieldValues::from([("site".to_owned(), format!("{origin}{page}").into())]);
        let (step, _) = harness.authorize(&values).await.unwrap();
        let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
        assert!(url.starts_with(&format!("{origin}/blog/wp-admin/authorize-application.php?app_name=")), "{url}");
    }
}

#[tokio::test]
async fn a_site_that_names_its_api_nowhere_is_found_all_the_same() {
    let harness = AdapterHarness::<Wordpress<true>>::new().await;
    harness.fake.is_odd(SiteQuirk::HidesItsApi);

    harness.connect().await;
}

#[tokio::test]
async fn site_without_wordpress_gets_an_error() {
    let harness = AdapterHarness::<Wordpress<true>>::new().await;
    let elsewhere = harness.fake.home().replace("/blog", "/elsewhere");
    let refusal = harness.authorize(&FieldValues::from([("site".to_owned(), elsewhere.into())])).await.unwrap_err();

    let ConnectError::Field { name: "site", message } = refusal else { panic!("{refusal:?}") };
    assert!(message.contains("has no WordPress REST API"), "{message}");
}

#[tokio::test]
async fn application_passwords_have_unique_names_and_are_revoked() {
    let (harness, first) = harness().await;
    let second = harness.connect().await;
    let names = harness.fake.passwords();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names[1].starts_with("Social Publishing 2026-11-21 ") && names[1] != names[2], "{names:?}");

    for account in [first, second] {
        harness.connector().revoke(&account.credentials, harness.clock.now()).await.unwrap();
    }
    assert_eq!(harness.fake.passwords(), ["by hand"]);
}

#[tokio::test]
async fn a_role_that_may_not_publish_is_refused_and_keeps_no_password() {
    for (role, missing) in [("contributor", "may not publish posts"), ("subscriber", "may not write posts")] {
        let harness = AdapterHarness::<Wordpress>::new().await;
        harness.fake.set_role(role);

        let refusal = harness.complete(&harness.callback_after(Decision::Allow).await).await.unwrap_err();

        let ConnectError::Refused(words) = refusal else { panic!("{refusal:?}") };
        assert!(words.contains(&format!("{USER} ({role}) {missing}")), "{words}");
        assert_eq!(harness.fake.passwords(), ["by hand"], "the password was made for nothing");
    }
}

#[tokio::test]
async fn a_host_that_strips_the_header_is_named() {
    let harness = AdapterHarness::<Wordpress>::new().await;
    harness.fake.is_odd(SiteQuirk::StripsAuthorization);

    let by_page = harness.complete(&harness.callback_after(Decision::Allow).await).await.unwrap_err();
    let by_typing = harness.authorize(&harness.fake.direct_form_values().unwrap()).await.unwrap_err();

    for refusal in [by_page, by_typing] {
        assert!(refusal.to_string().contains("remove the Authorization header"), "{refusal}");
    }
}

#[tokio::test]
async fn a_site_without_the_page_is_connected_by_a_password_that_the_person_makes() {
    let harness = AdapterHarness::<Wordpress>::new().await;
    harness.fake.is_odd(SiteQuirk::HasNoPasswords);
    let refusal = harness.authorize(&harness.fake.form_values()).await.unwrap_err();
    let ConnectError::Field { name: "application_password", message } = refusal else { panic!("{refusal:?}") };
    assert!(message.contains("type it here with your username"), "{message}");
}

#[tokio::test]
async fn a_user_name_and_a_password_belong_together() {
    let harness = AdapterHarness::<Wordpress>::new().await;
    let home = harness.fake.home();
    for (user, password, field) in
        [(USER, "", "application_password"), ("", TYPED, "username"), ("nobody", TYPED, "application_password")]
    {
        let values = typed([("site", &home), ("username", user), ("application_password", password)]);
        let refusal = harness.authorize(&values).await.unwrap_err();
        assert!(matches!(refusal, ConnectError::Field { name, .. } if name == field), "{refusal:?}");
    }
}
