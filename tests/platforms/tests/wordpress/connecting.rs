//! Finding a site, and being let in.

use networks::wordpress::{SiteQuirk, TYPED, USER, Wordpress};
use platforms::conformance::network::{Decision, Network};
use platforms::conformance::stage::Stage;
use platforms::{AuthorizeStep, ConnectError, FieldValues};

use super::stage;

fn typed(answers: [(&str, &str); 3]) -> FieldValues {
    answers.into_iter().map(|(name, it)| (name.to_owned(), it.to_owned().into())).collect()
}

#[tokio::test]
async fn an_account_is_known_by_its_site() {
    let (stage, account) = stage().await;
    let place = stage.fake.home().replace("http://", "");

    assert_eq!(account.profile.account_id, format!("2@{place}"));
    assert_eq!(account.profile.username, Some(format!("{USER}@{place}")));
    assert_eq!(account.profile.display_name.as_deref(), Some("Harbour & Lighthouse"));
    assert!(account.profile.profile_url.unwrap().starts_with(&stage.fake.home()));
    assert_eq!(account.scopes, ["edit_posts", "publish_posts", "upload_files"]);
}

#[tokio::test]
async fn a_site_is_found_from_any_of_its_pages_and_where_it_has_moved() {
    let stage = Stage::<Wordpress<true>>::new().await;
    let origin = stage.fake.home().replace("/blog", "");
    for page in ["/blog", "/blog/wp-admin/profile.php", "/blog/wp-login.php?x=1", "/moved/"] {
        let answers = FieldValues::from([("site".to_owned(), format!("{origin}{page}").into())]);
        let (step, _) = stage.authorize(&answers).await.unwrap();
        let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
        assert!(url.starts_with(&format!("{origin}/blog/wp-admin/authorize-application.php?app_name=")), "{url}");
    }
}

#[tokio::test]
async fn a_site_that_names_its_api_nowhere_is_found_all_the_same() {
    let stage = Stage::<Wordpress<true>>::new().await;
    stage.fake.is_odd(SiteQuirk::HidesItsApi);

    stage.connect().await;
}

#[tokio::test]
async fn site_without_wordpress_gets_an_error() {
    let stage = Stage::<Wordpress<true>>::new().await;
    let elsewhere = stage.fake.home().replace("/blog", "/elsewhere");
    let refusal = stage.authorize(&FieldValues::from([("site".to_owned(), elsewhere.into())])).await.unwrap_err();

    let ConnectError::Field { name: "site", message } = refusal else { panic!("{refusal:?}") };
    assert!(message.contains("has no WordPress REST API"), "{message}");
}

#[tokio::test]
async fn application_passwords_have_unique_names_and_are_revoked() {
    let (stage, first) = stage().await;
    let second = stage.connect().await;
    let names = stage.fake.passwords();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names[1].starts_with("Social Publishing 2026-11-21 ") && names[1] != names[2], "{names:?}");

    for account in [first, second] {
        stage.connector().revoke(&account.credentials, stage.clock.now()).await.unwrap();
    }
    assert_eq!(stage.fake.passwords(), ["by hand"]);
}

#[tokio::test]
async fn a_role_that_may_not_publish_is_refused_and_keeps_no_password() {
    for (role, missing) in [("contributor", "may not publish posts"), ("subscriber", "may not write posts")] {
        let stage = Stage::<Wordpress>::new().await;
        stage.fake.set_role(role);

        let refusal = stage.complete(&stage.callback_after(Decision::Allow).await).await.unwrap_err();

        let ConnectError::Refused(words) = refusal else { panic!("{refusal:?}") };
        assert!(words.contains(&format!("{USER} ({role}) {missing}")), "{words}");
        assert_eq!(stage.fake.passwords(), ["by hand"], "the password was made for nothing");
    }
}

#[tokio::test]
async fn a_host_that_strips_the_header_is_named() {
    let stage = Stage::<Wordpress>::new().await;
    stage.fake.is_odd(SiteQuirk::StripsAuthorization);

    let by_page = stage.complete(&stage.callback_after(Decision::Allow).await).await.unwrap_err();
    let by_typing = stage.authorize(&stage.fake.direct_form_values().unwrap()).await.unwrap_err();

    for refusal in [by_page, by_typing] {
        assert!(refusal.to_string().contains("remove the Authorization header"), "{refusal}");
    }
}

#[tokio::test]
async fn a_site_without_the_page_is_connected_by_a_password_that_the_person_makes() {
    let stage = Stage::<Wordpress>::new().await;
    stage.fake.is_odd(SiteQuirk::HasNoPasswords);
    let refusal = stage.authorize(&stage.fake.form_values()).await.unwrap_err();
    let ConnectError::Field { name: "application_password", message } = refusal else { panic!("{refusal:?}") };
    assert!(message.contains("type it here with your username"), "{message}");
}

#[tokio::test]
async fn a_user_name_and_a_password_belong_together() {
    let stage = Stage::<Wordpress>::new().await;
    let home = stage.fake.home();
    for (user, password, field) in
        [(USER, "", "application_password"), ("", TYPED, "username"), ("nobody", TYPED, "application_password")]
    {
        let answers = typed([("site", &home), ("username", user), ("application_password", password)]);
        let refusal = stage.authorize(&answers).await.unwrap_err();
        assert!(matches!(refusal, ConnectError::Field { name, .. } if name == field), "{refusal:?}");
    }
}
