//! Connect flows.

use chrono::TimeDelta;
use domain::connection::AccountInfo;
use platforms::{AuthorizeStep, Callback, ConnectError};
use secrecy::ExposeSecret;

use super::troubles::WITHOUT_EFFECT;
use crate::conformance::adapter_harness::{AdapterHarness, ORIGIN, callback_at};
use crate::conformance::fake_platform::{Call, Decision, Detour, StartFake};

/// The account has everything that a user and a post need.
pub async fn user_connects_an_account(start: StartFake) {
    let harness = AdapterHarness::start(start).await;

    let account = harness.connect().await;

    assert!(!account.profile.account_id.is_empty());
    let AccountInfo { username, display_name, .. } = &account.profile;
    assert!(username.as_deref().is_none_or(|it| !it.is_empty() && !it.starts_with('@')));
    assert!(username.is_some() || display_name.is_some(), "people can tell their accounts apart");
    assert!(!account.scopes.is_empty(), "what was granted is shown to the user");
    assert!(!account.rules.rules.is_empty());
    assert_eq!(harness.fake.grant_count(), 1);
    let printed = format!("{account:?}");
    assert!(!printed.contains(account.credentials.access_token.expose_secret()), "secrets do not print");
}

/// Nothing is connected, and the user reads that access was denied.
pub async fn denied_authorization_connects_nothing(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    if !harness.fake.has_authorization_page() {
        return;
    }

    let callback = harness.callback_after(Decision::Deny).await;

    let error = harness.complete(&callback).await.unwrap_err();
    assert!(matches!(error, ConnectError::Denied), "{error:?}");
    assert_eq!(harness.fake.grant_count(), 0);
}

/// A used, forged or missing code connects nothing.
pub async fn callback_is_accepted_once(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    if !harness.fake.has_authorization_page() {
        return;
    }
    let callback = harness.callback_after(Decision::Allow).await;
    harness.complete(&callback).await.unwrap();

    if harness.fake.proof_parameter() == "code" {
        let error = harness.complete(&callback).await.unwrap_err();
        assert!(matches!(error, ConnectError::Refused(_) | ConnectError::Unreachable), "{error:?}");
    }

    if harness.fake.checks_codes() {
        let mut forged = harness.callback_after(Decision::Allow).await;
        forged.query.insert(harness.fake.proof_parameter().to_owned(), "forged".to_owned());
        assert!(harness.complete(&forged).await.is_err());
    }
    let mut empty = harness.callback_after(Decision::Allow).await;
    empty.query.clear();
    assert!(harness.complete(&empty).await.is_err());
}

pub async fn callback_at_another_redirect_uri_connects_nothing(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    if !harness.fake.has_authorization_page() {
        return;
    }
    for elsewhere in ["", "/elsewhere"] {
        let callback = harness.callback_after(Decision::Allow).await;
        let arrived_at = match elsewhere {
            "" => ORIGIN.to_owned(),
            path => format!("{}{path}", callback.arrived_at),
        };
        let before = harness.fake.call_count(Call::Exchange);
        let error = harness.complete(&Callback { arrived_at, ..callback }).await.unwrap_err();
        assert!(matches!(error, ConnectError::Refused(_)), "{error:?}");
        assert_eq!(harness.fake.call_count(Call::Exchange), before, "the code was sent");
    }
    assert_eq!(harness.fake.grant_count(), 0);
}

/// The code of one server is not sent to another server that a user named (mix-up attack: RFC 9700,
/// section 4.4). A hostile server sends the user on to an honest one, with the state of its own
/// connect flow; the honest one issues a code and redirects the user to us.
pub async fn code_of_one_server_is_not_sent_to_another(start: StartFake) {
    let (harness, honest) = AdapterHarness::start_with_second(start).await;
    let (Some(hostile_values), Some(honest_values)) =
        (harness.fake.form_values_naming_server(), honest.form_values_naming_server())
    else {
        return;
    };
    // Our app is registered at both, so that any further call would be for the code.
    match harness.authorize(&honest_values).await {
        // No server is trusted with a page that it cannot name itself.
        Err(ConnectError::Field { .. }) if !harness.fake.has_authorization_page() => return,
        step => drop(step.unwrap()),
    }
    let (step, hostile_callback) = harness.authorize(&hostile_values).await.unwrap();
    assert!(matches!(step, AuthorizeStep::Redirect { .. }), "{step:?}");
    let (step, _) = harness.authorize(&honest_values).await.unwrap();
    let AuthorizeStep::Redirect { url, .. } = step else { panic!("{step:?}") };
    let calls = || (harness.fake.call_count(Call::Exchange), honest.call_count(Call::Exchange));
    let before = calls();

    let redirected_to = honest.redirect_url(&url, Decision::Allow).await;
    let error = harness.complete(&callback_at(hostile_callback, &redirected_to)).await.unwrap_err();

    assert!(matches!(error, ConnectError::Refused(_)), "{error:?}");
    assert_eq!(calls(), before, "a code was sent");
    assert_eq!((harness.fake.grant_count(), honest.grant_count()), (0, 0));
}

/// A hostile server leads the user to the page of an honest one, which sends its code or password
/// to the requested redirect URI. Neither that nor a token from it reaches the hostile server.
pub async fn server_receives_no_secret_of_another_server(start: StartFake) {
    for detour in [Detour::Named, Detour::Redirected] {
        let (hostile, honest) = AdapterHarness::start_with_second(start).await;
        let Some(values) = hostile.fake.form_values_naming_server() else { return };
        if !hostile.fake.redirect_users_to(&honest.detour_target(), detour) {
            continue;
        }
        let (url, callback) = match hostile.authorize(&values).await {
            Ok((AuthorizeStep::Redirect { url, .. }, callback)) => (url, callback),
            // Refused before the user goes anywhere.
            Err(ConnectError::Field { .. } | ConnectError::Refused(_)) => continue,
            Ok((step, _)) => panic!("{detour:?}: {step:?}"),
            Err(error) => panic!("{detour:?}: {error:?}"),
        };

        let redirected_to = honest.redirect_url(&url, Decision::Allow).await;
        let proof = redirected_to
            .query_pairs()
            .find(|it| it.0 == honest.proof_parameter())
            .expect("the honest server gives it")
            .1;
        let connected = hostile.complete(&callback_at(callback, &redirected_to)).await;

        let secrets = honest.issued_secrets().into_iter().chain([proof.into_owned()]);
        let received: Vec<_> = secrets.filter(|it| hostile.fake.has_received(it)).collect();
        assert_eq!(received, Vec::<String>::new(), "{detour:?}: the hostile server has secrets of the honest one");
        assert!(matches!(connected, Err(ConnectError::Refused(_))), "{detour:?}: {connected:?}");
    }
}

/// After an hour, no platform accepts the code. Where there is no code, the connect flow itself has
/// ended.
pub async fn late_callback_connects_nothing(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    if !harness.fake.has_authorization_page() || harness.fake.proof_parameter() != "code" {
        return;
    }
    let callback = harness.callback_after(Decision::Allow).await;
    harness.clock.advance(TimeDelta::hours(1));

    assert!(harness.complete(&callback).await.is_err());
    assert_eq!(harness.fake.grant_count(), 0);
}

/// Every typed value has a result with a message, and none leads to a call inside our network.
pub async fn invalid_form_values_are_refused_with_a_message(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let nonsense = [
        " ",
        "@",
        "no such thing at all",
        "http://",
        "https://user:password@localhost/",
        "http://127.0.0.1:1/",
        "http://169.254.169.254/latest/meta-data",
        "https://[::1]/",
        "localhost",
        "\u{0}",
        "did:web:127.0.0.1",
        "did:plc:../../etc/passwd",
        "xn--nonsense-.invalid",
    ];
    let long = "a".repeat(2000);
    for field in harness.connector().fields().iter().filter(|it| it.optional.is_none()) {
        for typed in nonsense.into_iter().chain([long.as_str()]) {
            let mut values = harness.fake.form_values();
            values.insert(field.name.to_owned(), typed.into());
            let error = harness.authorize(&values).await.map(|(step, _)| step).unwrap_err();
            let is_field_error =
                matches!(&error, ConnectError::Field { name, message } if *name == field.name && !message.is_empty());
            assert!(is_field_error || matches!(error, ConnectError::Unreachable), "{typed:?}: {error:?}");
        }
    }
}

/// If the platform does not respond, or its response is invalid, the user is asked to try again,
/// and a second attempt works.
pub async fn failing_platform_connects_nothing_and_reports_it(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    for fault in WITHOUT_EFFECT.into_iter().filter(|it| harness.fake.can_fail(Call::Exchange, *it)) {
        let error = if harness.fake.has_authorization_page() {
            let callback = harness.callback_after(Decision::Allow).await;
            harness.fake.inject_fault(Call::Exchange, fault, 1);
            harness.complete(&callback).await.unwrap_err()
        } else {
            harness.fake.inject_fault(Call::Exchange, fault, 1);
            harness.authorize(&harness.fake.form_values()).await.map(|(step, _)| step).unwrap_err()
        };
        assert!(matches!(error, ConnectError::Unreachable), "{fault:?}: {error:?}");
    }
    harness.connect().await;
}

/// Where an account can be connected without the platform's page, it is the same account.
pub async fn form_values_may_be_sufficient(start: StartFake) {
    let harness = AdapterHarness::start(start).await;
    let Some(values) = harness.fake.direct_form_values() else { return };
    let expected = harness.connect().await;

    let account = harness.connect_directly().await.unwrap();
    assert_eq!(account.profile, expected.profile);
    let mut post = harness.post(&account, "typed", Vec::new());
    harness.deliver(&mut post).await.unwrap();

    let secret_field = harness.connector().fields().iter().find(|it| it.secret).unwrap().name;
    let wrong = values
        .into_iter()
        .map(|(name, it)| if name == secret_field { (name, "wrong-pass-word-here".into()) } else { (name, it) });
    let error = harness.authorize(&wrong.collect()).await.unwrap_err();
    assert!(matches!(error, ConnectError::Field { name, .. } if name == secret_field), "{error:?}");
}
