//! Connect flows.

use chrono::TimeDelta;
use secrecy::ExposeSecret;

use crate::conformance::network::{Call, Decision, Detour, InjectedFault, Network};
use crate::conformance::stage::{ORIGIN, Stage, returning};
use crate::connect_flow::{AuthorizeStep, Callback, ConnectError};

/// The account has everything that a user and a post need.
pub async fn user_connects_an_account<N: Network>() {
    let stage = Stage::<N>::new().await;

    let account = stage.connect().await;

    assert!(!account.profile.account_id.is_empty());
    assert!(account.profile.username.as_deref().is_some_and(|it| !it.is_empty() && !it.starts_with('@')));
    assert!(!account.scopes.is_empty(), "what was granted is shown to the user");
    assert!(!account.rules.rules.is_empty());
    assert_eq!(stage.network.grants(), 1);
    let printed = format!("{account:?}");
    assert!(!printed.contains(account.credentials.access_token.expose_secret()), "secrets do not print");
}

/// Nothing is connected, and the user reads that access was denied.
pub async fn denied_authorization_connects_nothing<N: Network>() {
    let stage = Stage::<N>::new().await;
    if !stage.network.has_page() {
        return;
    }

    let callback = stage.decided(Decision::Deny).await;

    let refusal = stage.complete(&callback).await.unwrap_err();
    assert!(matches!(refusal, ConnectError::Denied), "{refusal:?}");
    assert_eq!(stage.network.grants(), 0);
}

/// A used, forged or missing code connects nothing.
pub async fn callback_is_accepted_once<N: Network>() {
    let stage = Stage::<N>::new().await;
    if !stage.network.has_page() {
        return;
    }
    let callback = stage.decided(Decision::Allow).await;
    stage.complete(&callback).await.unwrap();

    if stage.network.proof() == "code" {
        let refusal = stage.complete(&callback).await.unwrap_err();
        assert!(matches!(refusal, ConnectError::Refused(_) | ConnectError::Unreachable), "{refusal:?}");
    }

    if stage.network.checks_codes() {
        let mut forged = stage.decided(Decision::Allow).await;
        forged.query.insert(stage.network.proof().to_owned(), "forged".to_owned());
        assert!(stage.complete(&forged).await.is_err());
    }
    let mut empty = stage.decided(Decision::Allow).await;
    empty.query.clear();
    assert!(stage.complete(&empty).await.is_err());
}

/// A callback at another redirect URI than the requested one connects nothing.
pub async fn callback_at_another_redirect_uri_connects_nothing<N: Network>() {
    let stage = Stage::<N>::new().await;
    if !stage.network.has_page() {
        return;
    }
    for elsewhere in ["", "/elsewhere"] {
        let callback = stage.decided(Decision::Allow).await;
        let arrived_at = match elsewhere {
            "" => ORIGIN.to_owned(),
            path => format!("{}{path}", callback.arrived_at),
        };
        let before = stage.network.calls(Call::Exchange);
        let refusal = stage.complete(&Callback { arrived_at, ..callback }).await.unwrap_err();
        assert!(matches!(refusal, ConnectError::Refused(_)), "{refusal:?}");
        assert_eq!(stage.network.calls(Call::Exchange), before, "the code was sent");
    }
    assert_eq!(stage.network.grants(), 0);
}

/// The code of one server is not sent to another server that a user named (mix-up attack: RFC 9700,
/// section 4.4). A hostile server sends the user on to an honest one, with the state of its own
/// connect flow; the honest one issues a code and redirects the user to us.
pub async fn code_of_one_server_is_not_sent_to_another<N: Network>() {
    let (stage, honest) = Stage::<N>::beside_another().await;
    let (Some(hostiles), Some(honests)) = (stage.network.answers_naming_it(), honest.answers_naming_it()) else {
        return;
    };
    // Our app is registered at both, so that any further call would be for the code.
    match stage.depart(&honests).await {
        // No server is trusted with a page that it cannot name itself.
        Err(ConnectError::Field { .. }) if !stage.network.has_page() => return,
        departed => drop(departed.unwrap()),
    }
    let (departure, begun_at_hostile) = stage.depart(&hostiles).await.unwrap();
    assert!(matches!(departure, AuthorizeStep::Redirect { .. }), "{departure:?}");
    let (departure, _) = stage.depart(&honests).await.unwrap();
    let AuthorizeStep::Redirect { url, .. } = departure else { panic!("{departure:?}") };
    let calls = || (stage.network.calls(Call::Exchange), honest.calls(Call::Exchange));
    let before = calls();

    let back = honest.send_back(&url, Decision::Allow).await;
    let refusal = stage.complete(&returning(begun_at_hostile, &back)).await.unwrap_err();

    assert!(matches!(refusal, ConnectError::Refused(_)), "{refusal:?}");
    assert_eq!(calls(), before, "a code was sent");
    assert_eq!((stage.network.grants(), honest.grants()), (0, 0));
}

/// A hostile server leads the user to the page of an honest one, which sends its code or password
/// to the requested redirect URI. Neither that nor a token from it reaches the hostile server.
pub async fn server_receives_no_secret_of_another_server<N: Network>() {
    for detour in [Detour::Named, Detour::Redirected] {
        let (hostile, honest) = Stage::<N>::beside_another().await;
        let Some(answers) = hostile.network.answers_naming_it() else { return };
        if !hostile.network.lead_users_to(&honest, detour) {
            continue;
        }
        let (url, callback) = match hostile.depart(&answers).await {
            Ok((AuthorizeStep::Redirect { url, .. }, callback)) => (url, callback),
            // Refused before the user goes anywhere.
            Err(ConnectError::Field { .. } | ConnectError::Refused(_)) => continue,
            Ok((departure, _)) => panic!("{detour:?}: {departure:?}"),
            Err(refusal) => panic!("{detour:?}: {refusal:?}"),
        };

        let back = honest.send_back(&url, Decision::Allow).await;
        let proof = back.query_pairs().find(|it| it.0 == honest.proof()).expect("the honest server gives it").1;
        let connected = hostile.complete(&returning(callback, &back)).await;

        let secrets = honest.secrets().into_iter().chain([proof.into_owned()]);
        let received: Vec<_> = secrets.filter(|it| hostile.network.has_received(it)).collect();
        assert_eq!(received, Vec::<String>::new(), "{detour:?}: the hostile server has secrets of the honest one");
        assert!(matches!(connected, Err(ConnectError::Refused(_))), "{detour:?}: {connected:?}");
    }
}

/// After an hour, no platform accepts the code. Where there is no code, the connect flow itself has
/// ended.
pub async fn late_callback_connects_nothing<N: Network>() {
    let stage = Stage::<N>::new().await;
    if !stage.network.has_page() || stage.network.proof() != "code" {
        return;
    }
    let callback = stage.decided(Decision::Allow).await;
    stage.clock.advance(TimeDelta::hours(1));

    assert!(stage.complete(&callback).await.is_err());
    assert_eq!(stage.network.grants(), 0);
}

/// Every typed value has a result with a message, and none leads to a call inside our network.
pub async fn invalid_form_values_are_refused_with_a_message<N: Network>() {
    let stage = Stage::<N>::new().await;
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
    for field in stage.connecting().fields().iter().filter(|it| it.optional.is_none()) {
        for typed in nonsense.into_iter().chain([long.as_str()]) {
            let mut answers = stage.network.answers();
            answers.insert(field.name.to_owned(), typed.into());
            let refusal = stage.depart(&answers).await.map(|(departure, _)| departure).unwrap_err();
            let said =
                matches!(&refusal, ConnectError::Field { name, message } if *name == field.name && !message.is_empty());
            assert!(said || matches!(refusal, ConnectError::Unreachable), "{typed:?}: {refusal:?}");
        }
    }
}

/// If the platform does not respond, or its response is invalid, the user is asked to try again,
/// and a second attempt works.
pub async fn failing_platform_connects_nothing_and_reports_it<N: Network>() {
    let stage = Stage::<N>::new().await;
    let limited = InjectedFault::Limited { retry_after: TimeDelta::seconds(30) };
    for fault in
        [InjectedFault::CutBefore, InjectedFault::Broken, InjectedFault::Unavailable, InjectedFault::Gibberish, limited]
    {
        if !stage.network.can(Call::Exchange, fault) {
            continue;
        }
        let refusal = if stage.network.has_page() {
            let callback = stage.decided(Decision::Allow).await;
            stage.network.trouble(Call::Exchange, fault, 1);
            stage.complete(&callback).await.unwrap_err()
        } else {
            stage.network.trouble(Call::Exchange, fault, 1);
            stage.depart(&stage.network.answers()).await.map(|(departure, _)| departure).unwrap_err()
        };
        assert!(matches!(refusal, ConnectError::Unreachable), "{fault:?}: {refusal:?}");
    }
    stage.connect().await;
}

/// Where an account can be connected without the platform's page, it is the same account.
pub async fn form_values_may_be_sufficient<N: Network>() {
    let stage = Stage::<N>::new().await;
    let Some(answers) = stage.network.direct_answers() else { return };
    let by_page = stage.connect().await;

    let account = stage.connect_by_typing().await.unwrap();
    assert_eq!(account.profile, by_page.profile);
    let mut post = stage.post(&account, "typed", Vec::new());
    stage.deliver(&mut post).await.unwrap();

    let secret = stage.connecting().fields().iter().find(|it| it.secret).unwrap().name;
    let wrong = answers
        .into_iter()
        .map(|(name, it)| if name == secret { (name, "wrong-pass-word-here".into()) } else { (name, it) });
    let refusal = stage.depart(&wrong.collect()).await.unwrap_err();
    assert!(matches!(refusal, ConnectError::Field { name, .. } if name == secret), "{refusal:?}");
}
