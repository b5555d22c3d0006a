//! The authorization request of a client (RFC 6749, section 4.1.1), and the errors of an invalid one.

use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use url::{Url, form_urlencoded};

use super::super::CLIENT_ID;
use super::super::caller::{PROFILE, PUBLISH};
use super::error_page;

/// Maximum length of each parameter, in characters; valid requests are shorter.
const MAX_PARAMETER: usize = 2048;

#[derive(Debug)]
pub(super) struct AuthorizationRequest {
    pub(super) redirect_uri: Url,
    /// As the client sent it: the exchange has to repeat the identical text.
    pub(super) redirect_uri_text: String,
    state: Option<String>,
    pub(super) challenge: String,
    pub(super) scope: String,
}

/// An invalid authorization request, and who receives the error.
#[derive(Debug)]
pub(super) enum InvalidRequest {
    /// The user, on a page: client or redirect URI are invalid, so no redirect is made
    /// (RFC 6749, section 4.1.2.1).
    TellPerson(&'static str),
    /// The client, by this redirect.
    TellClient(Url),
}

impl AuthorizationRequest {
    pub(super) fn parse(query: &str) -> Result<Self, InvalidRequest> {
        let query = Parameters::parse(query)?;
        if query.get("client_id") != Some(CLIENT_ID) {
            return Err(InvalidRequest::TellPerson("The client is unknown. Check client_id."));
        }
        let redirect_uri_text = query.get("redirect_uri").unwrap_or_default();
        let redirect_uri = redirect_uri(redirect_uri_text)
            .ok_or(InvalidRequest::TellPerson("redirect_uri must be an absolute http or https URL."))?;
        let state = query.get("state").map(str::to_owned);
        let challenge = query.get("code_challenge").unwrap_or_default().to_owned();

        let invalid = if query.get("response_type") != Some("code") {
            Some(("unsupported_response_type", "response_type must be code"))
        } else if query.get("code_challenge_method") != Some("S256") || !is_sha256(&challenge) {
            Some(("invalid_request", "PKCE with code_challenge_method=S256 is required"))
        } else {
            None
        };
        let scope = scope(query.get("scope")).ok_or(("invalid_scope", "use profile and publish"));
        let scope = match invalid.map_or(scope, Err) {
            Ok(scope) => scope,
            Err((error, description)) => {
                let parameters = [("error", error), ("error_description", description)];
                return Err(InvalidRequest::TellClient(response_url(&redirect_uri, state.as_deref(), &parameters)));
            }
        };
        let redirect_uri_text = redirect_uri_text.to_owned();
        Ok(Self { redirect_uri, redirect_uri_text, state, challenge, scope })
    }

    /// Redirects the user to the client with these parameters and the state.
    pub(super) fn redirect_with(&self, parameters: &[(&str, &str)]) -> Response {
        redirect(&response_url(&self.redirect_uri, self.state.as_deref(), parameters))
    }
}

/// The parameters of a query; each occurs at most once.
struct Parameters(Vec<(String, String)>);

impl Parameters {
    fn parse(query: &str) -> Result<Self, InvalidRequest> {
        let mut seen: Vec<(String, String)> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if MAX_PARAMETER < value.len() {
                return Err(InvalidRequest::TellPerson("A parameter of the request is too long."));
            }
            if seen.iter().any(|(known, _)| *known == name) {
                return Err(InvalidRequest::TellPerson("A parameter of the request occurs twice."));
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
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    is_plain.then_some(url)
}

/// 32 bytes in URL-safe base64 without padding.
fn is_sha256(challenge: &str) -> bool {
    challenge.len() == 43 && challenge.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_'))
}

/// The requested scope; all scopes if none is requested.
fn scope(requested: Option<&str>) -> Option<String> {
    let requested: Vec<_> = requested.unwrap_or_default().split_ascii_whitespace().collect();
    let known = [PROFILE, PUBLISH];
    if requested.iter().any(|it| !known.contains(it)) {
        return None;
    }
    let granted = known.into_iter().filter(|it| requested.is_empty() || requested.contains(it));
    Some(granted.collect::<Vec<_>>().join(" "))
}

fn response_url(redirect_uri: &Url, state: Option<&str>, parameters: &[(&str, &str)]) -> Url {
    let mut url = redirect_uri.clone();
    url.query_pairs_mut().extend_pairs(parameters).extend_pairs(state.map(|state| ("state", state)));
    url
}

fn redirect(url: &Url) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], Redirect::to(url.as_str())).into_response()
}

impl IntoResponse for InvalidRequest {
    fn into_response(self) -> Response {
        match self {
            Self::TellPerson(message) => error_page(message),
            Self::TellClient(url) => redirect(&url),
        }
    }
}
