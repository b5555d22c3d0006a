//! The consent page: someone chooses an account and allows the client to act
//! for it (RFC 6749, section 4.1, with PKCE required).

use askama::Template;
use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use chrono::TimeDelta;
use domain::token;
use secrecy::ExposeSecret;
use serde::Deserialize;
use url::{Url, form_urlencoded};

use super::accounts::Account;
use super::caller::{PROFILE, PUBLISH};
use super::fact::{Allowed, Fact};
use super::{CLIENT_ID, Sandbox, pages};

/// How long a client has to exchange its code.
const CODE_LIFETIME: TimeDelta = TimeDelta::minutes(5);

/// Characters of each parameter; more is nobody's honest request.
const MAX_PARAMETER: usize = 2048;

#[derive(Template)]
#[template(path = "sandbox/consent.html")]
struct ConsentPage<'a> {
    accounts: Vec<Account>,
    client: &'a str,
    returns_to: String,
    may_publish: bool,
    request: &'a str,
}

/// Asks for consent.
pub(super) async fn show_consent(RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    match AuthorizationRequest::parse(&query) {
        Ok(request) => consent_page(&request, &query),
        Err(wrong) => wrong.into_response(),
    }
}

fn consent_page(request: &AuthorizationRequest, query: &str) -> Response {
    let returns_to = request.redirect_uri.origin().ascii_serialization();
    // Browsers hold the answer's redirect against form-action, too.
    let policy = format!("{} {returns_to}", pages::POLICY);
    let page = ConsentPage {
        accounts: Account::all().collect(),
        client: CLIENT_ID,
        returns_to,
        may_publish: request.scope.split(' ').any(|it| it == PUBLISH),
        request: query,
    };
    let mut response = pages::show(&page);
    if let Ok(policy) = policy.parse() {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// What the consent page sends.
#[derive(Deserialize)]
pub(super) struct ConsentForm {
    /// The query with which the page was opened.
    request: String,
    account: Option<String>,
    answer: String,
}

/// Takes the answer back to the client.
pub(super) async fn answer_consent(
    State(sandbox): State<Sandbox>,
    form: Result<Form<ConsentForm>, FormRejection>,
) -> Response {
    let Ok(Form(form)) = form else {
        return wrong_page("The form was not complete. Go back and try again.");
    };
    let request = match AuthorizationRequest::parse(&form.request) {
        Ok(request) => request,
        Err(wrong) => return wrong.into_response(),
    };
    match form.answer.as_str() {
        "allow" => match form.account.as_deref().and_then(Account::find) {
            Some(account) => allow(&sandbox, account, &request),
            None => wrong_page("Go back and choose one of the accounts."),
        },
        "deny" => {
            let description = "the request was denied on the consent page";
            request.back(&[("error", "access_denied"), ("error_description", description)])
        }
        _ => wrong_page("Go back and press Allow or Deny."),
    }
}

fn allow(sandbox: &Sandbox, account: Account, request: &AuthorizationRequest) -> Response {
    let code = token::random_token();
    let now = sandbox.now();
    let allowed = Allowed {
        account,
        redirect_uri: request.redirect_uri_text.clone(),
        challenge: request.challenge.clone(),
        scope: request.scope.clone(),
        ends_at: now + CODE_LIFETIME,
    };
    let code_hash = token::hash(code.expose_secret());
    let recorded = sandbox.ledger().record(Fact::Allowed { code: code_hash, allowed, at: now });
    if let Err(error) = recorded {
        tracing::error!(%error, "the sandbox could not store a consent");
        return request.back(&[("error", "server_error")]);
    }
    request.back(&[("code", code.expose_secret())])
}

/// A request that may be put before a person.
#[derive(Debug)]
struct AuthorizationRequest {
    redirect_uri: Url,
    /// As the client wrote it: the exchange has to repeat it letter by letter.
    redirect_uri_text: String,
    state: Option<String>,
    challenge: String,
    scope: String,
}

/// What is wrong with a request, and where that can be said.
#[derive(Debug)]
enum Wrong {
    /// On a page, because the client cannot be trusted to be the one it says.
    Here(&'static str),
    /// To the client.
    Back(Url),
}

impl AuthorizationRequest {
    fn parse(query: &str) -> Result<Self, Wrong> {
        let query = Parameters::parse(query)?;
        if query.get("client_id") != Some(CLIENT_ID) {
            return Err(Wrong::Here("This client is not known here: check client_id."));
        }
        let redirect_uri_text = query.get("redirect_uri").unwrap_or_default();
        let redirect_uri =
            redirect_uri(redirect_uri_text).ok_or(Wrong::Here("redirect_uri must be a full http or https address."))?;
        let state = query.get("state").map(str::to_owned);
        let challenge = query.get("code_challenge").unwrap_or_default().to_owned();

        let fault = if query.get("response_type") != Some("code") {
            Some(("unsupported_response_type", "response_type must be code"))
        } else if query.get("code_challenge_method") != Some("S256") || !is_sha256(&challenge) {
            Some(("invalid_request", "PKCE with code_challenge_method=S256 is required"))
        } else {
            None
        };
        let scope = scope(query.get("scope")).ok_or(("invalid_scope", "use profile and publish"));
        let scope = match fault.map_or(scope, Err) {
            Ok(scope) => scope,
            Err((error, description)) => {
                let parameters = [("error", error), ("error_description", description)];
                return Err(Wrong::Back(answer_url(&redirect_uri, state.as_deref(), &parameters)));
            }
        };
        let redirect_uri_text = redirect_uri_text.to_owned();
        Ok(Self { redirect_uri, redirect_uri_text, state, challenge, scope })
    }

    fn back(&self, parameters: &[(&str, &str)]) -> Response {
        redirect(&answer_url(&self.redirect_uri, self.state.as_deref(), parameters))
    }
}

/// The parameters of a query, each at most once.
struct Parameters(Vec<(String, String)>);

impl Parameters {
    fn parse(query: &str) -> Result<Self, Wrong> {
        let mut seen: Vec<(String, String)> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if MAX_PARAMETER < value.len() {
                return Err(Wrong::Here("A parameter of the request is too long."));
            }
            if seen.iter().any(|(known, _)| *known == name) {
                return Err(Wrong::Here("A parameter of the request is there twice."));
            }
            seen.push((name.into_owned(), value.into_owned()));
        }
        Ok(Self(seen))
    }

    fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(known, _)| known == name)?;
        Some(value)
    }
}

fn redirect_uri(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    plain.then_some(url)
}

/// 32 bytes in URL-safe base64 without padding.
fn is_sha256(challenge: &str) -> bool {
    challenge.len() == 43 && challenge.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_'))
}

/// The scope asked for; everything when none is named.
fn scope(asked: Option<&str>) -> Option<String> {
    let asked: Vec<_> = asked.unwrap_or_default().split_ascii_whitespace().collect();
    let known = [PROFILE, PUBLISH];
    if asked.iter().any(|it| !known.contains(it)) {
        return None;
    }
    let granted = known.into_iter().filter(|it| asked.is_empty() || asked.contains(it));
    Some(granted.collect::<Vec<_>>().join(" "))
}

fn answer_url(redirect_uri: &Url, state: Option<&str>, parameters: &[(&str, &str)]) -> Url {
    let mut url = redirect_uri.clone();
    url.query_pairs_mut().extend_pairs(parameters).extend_pairs(state.map(|state| ("state", state)));
    url
}

fn redirect(url: &Url) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], Redirect::to(url.as_str())).into_response()
}

fn wrong_page(message: &str) -> Response {
    pages::message(StatusCode::BAD_REQUEST, "This does not work", message)
}

impl IntoResponse for Wrong {
    fn into_response(self) -> Response {
        match self {
            Self::Here(message) => wrong_page(message),
            Self::Back(url) => redirect(&url),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Network;
    use super::*;

    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    fn query(change: impl FnOnce(&mut Vec<(&'static str, &'static str)>)) -> String {
        let mut pairs = vec![
            ("response_type", "code"),
            ("client_id", CLIENT_ID),
            ("redirect_uri", "http://client.test/back?from=sandbox"),
            ("state", "s&1"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        change(&mut pairs);
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }

    fn without(name: &'static str) -> String {
        query(|pairs| pairs.retain(|(it, _)| *it != name))
    }

    fn with(name: &'static str, value: &'static str) -> String {
        query(|pairs| {
            pairs.retain(|(it, _)| *it != name);
            pairs.push((name, value));
        })
    }

    #[tokio::test]
    async fn the_consent_page_offers_accounts_and_both_answers() {
        let network = Network::new();

        let page = network.get(&format!("/sandbox/oauth/authorize?{}", query(|_| {}))).await;

        assert_eq!(page.status, 200);
        assert!(page.text().matches("type=\"radio\"").count() >= 3, "{}", page.text());
        assert!(page.text().contains(">Allow</button>"));
        assert!(page.text().contains(">Deny</button>"));
        assert!(page.header("content-security-policy").contains("form-action 'self' http://client.test"));
    }

    #[tokio::test]
    async fn deny_goes_back_with_the_state() {
        let network = Network::new();
        let query = query(|_| {});

        let answer = network.form("/sandbox/oauth/authorize", &[("request", &query), ("answer", "deny")]).await;

        assert_eq!(answer.status, 303);
        let back = Url::parse(answer.header("location")).unwrap();
        let pairs: Vec<_> = back.query_pairs().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(back.host_str(), Some("client.test"));
        assert_eq!(pairs[..2], ["from=sandbox", "error=access_denied"]);
        assert_eq!(pairs.last().map(String::as_str), Some("state=s&1"));
    }

    #[tokio::test]
    async fn a_client_that_cannot_be_trusted_is_told_on_a_page() {
        let network = Network::new();
        for query in [
            without("client_id"),
            with("client_id", "someone-else"),
            without("redirect_uri"),
            with("redirect_uri", "/relative"),
            with("redirect_uri", "javascript:alert(1)"),
            with("redirect_uri", "http://user@client.test/"),
            query(|pairs| pairs.push(("client_id", CLIENT_ID))),
        ] {
            let page = network.get(&format!("/sandbox/oauth/authorize?{query}")).await;
            assert_eq!(page.status, 400, "{query}");
        }
    }

    #[tokio::test]
    async fn other_faults_go_back_to_the_client() {
        let network = Network::new();
        for (query, error) in [
            (without("code_challenge"), "invalid_request"),
            (with("code_challenge", "short"), "invalid_request"),
            (with("code_challenge_method", "plain"), "invalid_request"),
            (with("response_type", "token"), "unsupported_response_type"),
            (with("scope", "everything"), "invalid_scope"),
        ] {
            let answer = network.get(&format!("/sandbox/oauth/authorize?{query}")).await;
            assert_eq!(answer.status, 303, "{query}");
            assert!(answer.header("location").contains(&format!("error={error}&")), "{query}");
            assert!(answer.header("location").ends_with("state=s%261"), "{query}");
        }
    }

    #[tokio::test]
    async fn allow_needs_an_account_that_exists() {
        let network = Network::new();
        let query = query(|_| {});

        let answer = network
            .form("/sandbox/oauth/authorize", &[("request", &query), ("answer", "allow"), ("account", "nobody")])
            .await;

        assert_eq!(answer.status, 400);
    }
}
