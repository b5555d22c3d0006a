mod server;

use domain::testing::noon;
use egress::AddressPolicy;
use serde_json::{Value, json};

use self::server::Server;
use super::*;
use crate::app::AppUnavailable;
use crate::connect_flow::CallbackUrls;

const SCOPES: &[&str] = &["read", "write"];

fn request() -> AuthorizationRequest {
    let callback_urls = CallbackUrls::new("http://us", "example");
    AuthorizationRequest { state: "a state".into(), urls: callback_urls, challenge: "challenge".to_owned() }
}

fn callback(query: &[(&str, &str)]) -> Callback {
    let callback_urls = CallbackUrls::new("http://us", "example");
    Callback {
        query: query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        arrived_at: callback_urls.redirect_uri.clone(),
        verifier: "verifier".into(),
        urls: callback_urls,
        adapter_state: None,
    }
}

fn credentials() -> Credentials {
    Credentials {
        refresh_token: Some("refresh".into()),
        extra: Some("page 7".into()),
        ..Credentials::new("access".into())
    }
}

fn tokens(response: &Value) -> Result<Tokens, NoTokens> {
    Tokens::read(response.to_string().as_bytes())
}

/// Like `TikTok`.
const KEYS: Dialect = Dialect { client_id: "client_key", scope_separator: ",", pkce: false, ..Dialect::STANDARD };

/// Like Reddit.
const BASIC: Dialect = Dialect {
    page: &[("duration", "permanent")],
    revocation: TokenCall { further: &[("token_type_hint", "refresh_token")], ..TokenCall::REVOCATION },
    pkce: false,
    ..Dialect::STANDARD
}
.with_client(ClientAuth::Basic);

/// Like Matrix.
const PUBLIC: Dialect = Dialect::STANDARD.with_client(ClientAuth::Public);

/// Like Instagram.
const LENGTHENED: Dialect = Dialect {
    pkce: false,
    scope_separator: ",",
    lengthening: Some(TokenCall {
        client: ClientAuth::Secret,
        ..TokenCall::longer("ig_exchange_token", "access_token")
    }),
    refresh: TokenCall { client: ClientAuth::None, ..TokenCall::longer("ig_refresh_token", "access_token") },
    gone: &["190"],
    ..Dialect::STANDARD
};

#[tokio::test]
async fn authorization_url_follows_the_dialect() {
    let server = Server::start().await;
    let url = async |dialect, extra: &[(&str, &str)]| {
        server.oauth(dialect).authorization_url(&request(), SCOPES, extra).await.unwrap()
    };
    let begins = format!("{}/authorize?from=here&response_type=code&", server.url);
    let us = "redirect_uri=http%3A%2F%2Fus%2Fconnect%2Fcallback%2Fexample&state=a%20state";

    assert_eq!(
        url(&Dialect::STANDARD, &[("config", "1 2")]).await,
        format!(
            "{begins}client_id=us%3A1&{us}&code_challenge=challenge&code_challenge_method=S256&scope=read%20write&config=1%202"
        )
    );
    assert_eq!(url(&KEYS, &[]).await, format!("{begins}client_key=us%3A1&{us}&scope=read%2Cwrite"));
    assert_eq!(url(&BASIC, &[]).await, format!("{begins}client_id=us%3A1&{us}&scope=read%20write&duration=permanent"));
}

#[tokio::test]
async fn code_exchange_follows_the_dialect() {
    const REDIRECT: &str = "http://us/connect/callback/example";
    for (dialect, sent) in [
        (
            &Dialect::STANDARD,
            json!({"grant_type": "authorization_code", "code": "c", "redirect_uri": REDIRECT,
                "code_verifier": "verifier", "client_id": "us:1", "client_secret": "our secret+"}),
        ),
        (
            &KEYS,
            json!({"grant_type": "authorization_code", "code": "c", "redirect_uri": REDIRECT, "client_key": "us:1",
                "client_secret": "our secret+"}),
        ),
        (
            &PUBLIC,
            json!({"grant_type": "authorization_code", "code": "c", "redirect_uri": REDIRECT,
                "code_verifier": "verifier", "client_id": "us:1"}),
        ),
        (
            &BASIC,
            json!({"authorization": "us%3A1:our+secret%2B", "grant_type": "authorization_code", "code": "c",
                "redirect_uri": REDIRECT}),
        ),
    ] {
        let server = Server::start().await;
        server.respond_with(200, json!({"access_token": "new", "expires_in": 60}));

        let tokens = server.oauth(dialect).complete(&callback(&[("code", "c")])).await.unwrap();

        assert_eq!(server.requests(), [("POST /token".to_owned(), sent)]);
        let credentials = tokens.credentials(None, noon());
        assert_eq!(credentials.access_token.expose_secret(), "new");
        assert_eq!(credentials.expires_at, Some(noon() + chrono::TimeDelta::minutes(1)));
    }
}

#[tokio::test]
async fn short_token_is_exchanged_for_a_long_lived_one_and_extended() {
    let server = Server::start().await;
    server.respond_with(
        200,
        json!({"data": [{"access_token": "short", "user_id": 17_841_400_000_000_001_u64, "permissions": "a,b"}]}),
    );
    server.respond_with(200, json!({"access_token": "long", "token_type": "bearer", "expires_in": "5183944"}));
    server.respond_with(200, json!({"access_token": "longer", "expires_in": 5_183_944.5}));
    let oauth = server.oauth(&LENGTHENED);

    let tokens = oauth.complete(&callback(&[("code", "c")])).await.unwrap();
    assert_eq!(tokens.text("user_id").unwrap(), "17841400000000001");
    assert_eq!(tokens.granted(&[]), ["a", "b"]);
    let first = tokens.credentials(Some("page 7".into()), noon());
    let second = oauth.refresh(&first, noon()).await.unwrap();

    let sent = server.requests();
    assert_eq!(
        sent[1],
        (
            "GET /lengthen".to_owned(),
            json!({"grant_type": "ig_exchange_token", "access_token": "short", "client_secret": "our secret+"})
        )
    );
    assert_eq!(sent[2], ("GET /refresh".to_owned(), json!({"grant_type": "ig_refresh_token", "access_token": "long"})));
    assert_eq!(second.access_token.expose_secret(), "longer");
    assert_eq!(second.expires_at, Some(noon() + chrono::TimeDelta::seconds(5_183_944)));
    assert_eq!(second.extra.unwrap().expose_secret(), "page 7");
}

#[tokio::test]
async fn refresh_keeps_fields_that_the_response_omits() {
    let server = Server::start().await;
    server.respond_with(200, json!({"access_token": "a2", "refresh_token": "", "expires_in": 60}));
    server.respond_with(200, json!({"access_token": "a3", "refresh_token": "r3"}));
    let oauth = server.oauth(&BASIC);

    let second = oauth.refresh(&credentials(), noon()).await.unwrap();
    let third = oauth.refresh(&second, noon()).await.unwrap();

    assert_eq!(second.refresh_token.unwrap().expose_secret(), "refresh");
    assert_eq!((third.refresh_token.unwrap().expose_secret(), third.expires_at), ("r3", None));
    assert_eq!(third.extra.unwrap().expose_secret(), "page 7");
    assert_eq!(server.requests()[0].1["refresh_token"], "refresh");

    let without = Credentials { refresh_token: None, ..credentials() };
    assert!(matches!(oauth.refresh(&without, noon()).await, Err(RefreshError::Gone(_))));
    assert_eq!(server.requests().len(), 2, "nothing was asked");
}

#[tokio::test]
async fn grant_ends_only_with_a_documented_code_of_the_platform() {
    use Dialect as D;
    const STRICT: Dialect = Dialect { gone: &["invalid_grant", "invalid_request"], ..Dialect::STANDARD };
    for (dialect, status, response, outcome) in [
        (&D::STANDARD, 400, json!({"error": "invalid_grant", "error_description": "it\nended"}), "gone: itended"),
        // Tumblr sends it with 401, TikTok and Reddit with 200.
        (&D::STANDARD, 401, json!({"error": "invalid_grant"}), "gone: invalid_grant"),
        (&D::STANDARD, 200, json!({"error": "invalid_grant", "access_token": "a"}), "gone: invalid_grant"),
        (&LENGTHENED, 400, json!({"error": {"message": "expired", "code": 190}}), "gone: expired"),
        (&LENGTHENED, 400, json!({"error": {"message": "too many", "code": 4}}), "unreachable: too many"),
        (&D::STANDARD, 400, json!({"error": "invalid_request"}), "unreachable: invalid_request"),
        (&STRICT, 400, json!({"error": "invalid_request"}), "gone: invalid_request"),
        (&D::STANDARD, 401, json!({"error": "invalid_client"}), "ours"),
        (&D::STANDARD, 400, json!({"error": "unauthorized_client"}), "ours"),
        (&D::STANDARD, 200, json!({"ok": false, "error": "invalid_client"}), "ours"),
        (&D::STANDARD, 401, json!({"message": "Unauthorized"}), "ours"),
        // It is about a sent token (RFC 6750, section 3.1), not about one that is exchanged.
        (&D::STANDARD, 401, json!({"error": "invalid_token"}), "unreachable: invalid_token"),
        (&D::STANDARD, 500, json!({"error": "invalid_grant"}), "unreachable: invalid_grant"),
        (&D::STANDARD, 429, json!({"error": "invalid_grant"}), "unreachable: invalid_grant"),
        (&D::STANDARD, 503, json!("busy"), "unreachable: the server returned 503 Service Unavailable"),
        (&D::STANDARD, 302, json!({}), "unreachable: the server returned 302 Found"),
        (&D::STANDARD, 200, json!({}), "unreachable: the platform sent an invalid response"),
        (&D::STANDARD, 200, json!("welcome"), "unreachable: the platform sent an invalid response"),
        (
            &D::STANDARD,
            200,
            json!({"access_token": "x".repeat(300_000)}),
            "unreachable: the platform sent an invalid response",
        ),
    ] {
        let server = Server::start().await;
        server.respond_with(status, response.clone());

        let refused = server.oauth(dialect).refresh(&credentials(), noon()).await.unwrap_err();

        let actual = match &refused {
            RefreshError::Gone(message) => format!("gone: {message}"),
            RefreshError::Unreachable(_) if server.refused_secrets() == 1 => "ours".to_owned(),
            RefreshError::Unreachable(message) => format!("unreachable: {message}"),
        };
        assert_eq!(actual, outcome, "{status} {response}");
        assert!(server.refused_secrets() == usize::from(outcome == "ours"), "{status} {response}");
    }
}

#[tokio::test]
async fn a_connect_flow_ends_with_the_reason() {
    const CANCELLED: Dialect = Dialect {
        denials: &["access_denied", "user_cancelled_login"],
        passing: &["internal_error"],
        ..Dialect::STANDARD
    };
    for (query, status, response, outcome) in [
        (vec![("error", "access_denied")], 0, json!(null), "Denied"),
        (vec![("error", "user_cancelled_login"), ("code", "c")], 0, json!(null), "Denied"),
        (vec![("error", "bad"), ("error_description", "no\r\nway")], 0, json!(null), "Refused(\"noway\")"),
        (vec![], 0, json!(null), "Refused(\"the response has no code\")"),
        (vec![("code", "")], 0, json!(null), "Refused(\"the response has no code\")"),
        (vec![("code", "c")], 400, json!({"error": "invalid_grant"}), "Refused(\"invalid_grant\")"),
        (vec![("code", "c")], 400, json!({"message": "Bad"}), "Refused(\"Bad\")"),
        (vec![("code", "c")], 401, json!({"error": "invalid_client"}), "Unreachable"),
        (vec![("code", "c")], 500, json!({}), "Unreachable"),
        (vec![("code", "c")], 200, json!({"ok": false, "error": "internal_error"}), "Unreachable"),
        (vec![("code", "c")], 200, json!({"ok": false, "error": "invalid_code"}), "Refused(\"invalid_code\")"),
        (vec![("code", "c")], 200, json!({"token_type": "bearer"}), "Unreachable"),
    ] {
        let server = Server::start().await;
        if status != 0 {
            server.respond_with(status, response);
        }
        let error = server.oauth(&CANCELLED).complete(&callback(&query)).await.unwrap_err();
        assert_eq!(format!("{error:?}"), outcome, "{query:?}");
        assert_eq!(server.requests().len(), usize::from(status != 0), "{query:?}");
    }
    let server = Server::start().await;
    let elsewhere = Callback { arrived_at: "http://us/other".to_owned(), ..callback(&[("code", "c")]) };
    assert!(matches!(server.oauth(&CANCELLED).complete(&elsewhere).await, Err(ConnectError::Refused(_))));
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn grant_is_revoked_and_an_ended_one_counts_as_revoked() {
    const ACCESS: Dialect =
        Dialect { revocation: TokenCall { token: TokenKind::Access, ..TokenCall::REVOCATION }, ..KEYS };
    for (status, response, outcome) in [
        (200, json!({}), "Ok(())"),
        (204, json!(null), "Ok(())"),
        (200, json!("bye"), "Ok(())"),
        (400, json!({"error": "invalid_token"}), "Ok(())"),
        (401, json!({"error": "invalid_token"}), "Ok(())"),
        (400, json!({"error": "invalid_grant"}), "Ok(())"),
        (400, json!({"error": "unsupported_token_type"}), "Err(Refused"),
        (200, json!({"error": "unsupported_token_type"}), "Err(Refused"),
        (401, json!({"error": "invalid_client"}), "Err(RetryLater"),
        (429, json!({}), "Err(RetryLater { retry_at: Some("),
        (500, json!({}), "Err(Unknown { may_still_run: false"),
    ] {
        let server = Server::start().await;
        server.respond_with(status, response.clone());
        let revoked = server.oauth(&BASIC).revoke(&credentials(), noon()).await;
        assert!(format!("{revoked:?}").starts_with(outcome), "{status} {response}: {revoked:?}");
        let is_ours = response["error"] == "invalid_client";
        assert_eq!(server.refused_secrets(), usize::from(is_ours), "{status} {response}");
        let sent =
            json!({"authorization": "us%3A1:our+secret%2B", "token": "refresh", "token_type_hint": "refresh_token"});
        assert_eq!(server.requests(), [("POST /revoke".to_owned(), sent)]);
    }
    let server = Server::start().await;
    server.respond_with(200, json!({}));
    server.oauth(&ACCESS).revoke(&credentials(), noon()).await.unwrap();
    assert_eq!(server.requests()[0].1["token"], "access");
    let without_revocation = OAuth2 { endpoints: Endpoints::default(), ..server.oauth(&KEYS) };
    without_revocation.revoke(&credentials(), noon()).await.unwrap();
    assert_eq!(server.requests().len(), 1, "without a call for it, only the person can");
}

#[tokio::test]
async fn missing_response_does_not_end_a_grant() {
    let server = Server::start().await;
    let cut = server.oauth(&Dialect::STANDARD);
    assert!(matches!(cut.refresh(&credentials(), noon()).await, Err(RefreshError::Unreachable(_))));
    assert!(matches!(cut.revoke(&credentials(), noon()).await, Err(AttemptError::Unknown { may_still_run: true, .. })));

    let closed = "http://127.0.0.1:1/".to_owned();
    let endpoints = Endpoints { token: closed.clone(), revocation: Some(closed), ..Endpoints::default() };
    let closed = OAuth2 { endpoints, ..cut };
    assert!(matches!(closed.refresh(&credentials(), noon()).await, Err(RefreshError::Unreachable(_))));
    assert!(matches!(closed.revoke(&credentials(), noon()).await, Err(AttemptError::RetryLater { .. })));
    assert!(matches!(closed.complete(&callback(&[("code", "c")])).await, Err(ConnectError::Unreachable)));
}

#[tokio::test]
async fn missing_client_credentials_are_temporary_and_call_nothing() {
    let server = Server::start().await;
    let oauth = server.oauth(&Dialect::STANDARD).by(Arc::new(AppUnavailable), &Dialect::STANDARD);

    let begun = oauth.authorization_url(&request(), SCOPES, &[]).await;
    let completed = oauth.complete(&callback(&[("code", "c")])).await;
    let refreshed = oauth.refresh(&credentials(), noon()).await;
    let revoked = oauth.revoke(&credentials(), noon()).await;

    assert!(matches!(begun, Err(ConnectError::Unreachable)), "{begun:?}");
    assert!(matches!(completed, Err(ConnectError::Unreachable)));
    assert_eq!(refreshed.unwrap_err(), RefreshError::Unreachable("this service has a temporary problem".to_owned()));
    assert!(matches!(revoked, Err(AttemptError::RetryLater { retry_at: None, .. })), "{revoked:?}");
    assert_eq!(server.requests(), []);
}

#[test]
fn tokens_are_read_in_every_form_and_debug_omits_them() {
    let ends = |expires_in: Value| {
        let read = tokens(&json!({"access_token": "a", "expires_in": expires_in})).unwrap();
        read.credentials(None, noon()).expires_at.map(|it| (it - noon()).num_seconds())
    };
    for (expires_in, seconds) in [
        (json!(3600), Some(3600)),
        (json!("3600"), Some(3600)),
        (json!(3600.7), Some(3600)),
        (json!(0), None),
        (json!(-1), None),
        (json!(null), None),
        (json!("soon"), None),
        (json!(1e300), None),
        (json!(u64::MAX), None),
    ] {
        assert_eq!(ends(expires_in.clone()), seconds, "{expires_in}");
    }
    let granted = |field: &str, value: Value| {
        let mut response = json!({"access_token": "a"});
        response[field] = value;
        tokens(&response).unwrap().granted(&["asked"])
    };
    for (field, value, scopes) in [
        ("scope", json!("openid,profile w_member"), vec!["openid", "profile", "w_member"]),
        ("scope", json!(["a", "b c"]), vec!["a", "b", "c"]),
        ("permissions", json!("a,b"), vec!["a", "b"]),
        ("scope", json!(" "), vec!["asked"]),
        ("scope", json!(7), vec!["asked"]),
        ("other", json!("x"), vec!["asked"]),
    ] {
        assert_eq!(granted(field, value.clone()), scopes, "{value}");
    }
    for none in [
        json!({}),
        json!([]),
        json!({"access_token": ""}),
        json!({"access_token": 7}),
        json!({"access_token": "two\nlines"}),
        json!({"access_token": "a", "refresh_token": "two\r\nlines"}),
        json!({"access_token": "x".repeat(8193)}),
        json!({"data": []}),
        json!({"data": {"access_token": null}}),
    ] {
        assert_eq!(tokens(&none).unwrap_err(), NoTokens, "{none}");
    }
    let read = tokens(&json!({"access_token": "very-secret", "webhook": {"token": "also-secret"}})).unwrap();
    assert_eq!(read.field("webhook").unwrap()["token"], "also-secret");
    assert_eq!(format!("{read:?}"), r#"Tokens(["access_token", "webhook"])"#);
}

#[tokio::test]
async fn address_inside_our_network_is_not_called_for_a_server_that_a_user_named() {
    let server = Server::start().await;
    server.respond_with(200, json!({"access_token": "new"}));
    let endpoints = Endpoints { token: format!("{}/token", server.url), ..Endpoints::default() };
    let oauth = OAuth2::for_named_server(HttpClients::new(AddressPolicy::PublicOnly), "us:1", &PUBLIC, endpoints);

    let error = oauth.complete(&callback(&[("code", "c")])).await.unwrap_err();

    assert!(matches!(error, ConnectError::Unreachable), "{error:?}");
    assert_eq!(server.requests(), []);
}
