//! The authorization request of an app, read from the query.
//!
//! Errors are shown on a page of ours, with a link back to the app if the app is known. The browser is
//! not redirected automatically: anyone can describe an app, so a link to this service could otherwise
//! lead users to any site.

use api::page::{PageError, PageResult};
use domain::id::UserId;
use domain::name::ClientName;
use domain::oauth::{Challenge, ClientId, RedirectUri, Resource};
use domain::scope::{Scope, Scopes};
use http::StatusCode;
use serde::Deserialize;

use crate::App;
use crate::metadata::SCOPES_OF_TOOLS;

/// The longest `state`, in bytes: a sign-in keeps it in a cookie with the rest of the URL.
const MAX_STATE: usize = 1024;

/// The parameters of RFC 6749, section 4.1.1, RFC 7636 and RFC 8707. Others are ignored.
#[derive(Deserialize)]
pub(crate) struct AuthorizeQuery {
    response_type: Option<String>,
    client_id: Option<String>,
    redirect_uri: Option<String>,
    scope: Option<String>,
    state: Option<String>,
    code_challenge: Option<String>,
    code_challenge_method: Option<String>,
    resource: Option<String>,
}

/// A valid request of an app whose redirect URI is listed.
pub(crate) struct Request {
    pub(crate) client_id: ClientId,
    pub(crate) client_name: ClientName,
    pub(crate) redirect_uri: RedirectUri,
    pub(crate) state: Option<String>,
    pub(crate) challenge: Challenge,
    pub(crate) resource: Resource,
    pub(crate) scopes: Scopes,
}

impl AuthorizeQuery {
    /// Reads the request and fetches the app's metadata document.
    pub(crate) async fn read(self, app: &App, user: UserId) -> PageResult<Request> {
        let (client_id, client_name, redirect_uri) = self.client(app, user).await?;
        let error_page = |error: &str, text: &str| self.wrong(app, &redirect_uri, error, text);
        if self.state.as_ref().is_some_and(|it| MAX_STATE < it.len()) {
            return Err(invalid_request("Its state parameter is longer than 1,024 bytes."));
        }
        if self.response_type.as_deref() != Some("code") {
            return Err(error_page("unsupported_response_type", "It does not send response_type=code."));
        }
        let challenge = self.code_challenge.as_deref().and_then(Challenge::parse);
        let Some(challenge) = challenge.filter(|_| self.code_challenge_method.as_deref() == Some("S256")) else {
            let text = "It sends no code_challenge with the method S256, so others could use its code.";
            return Err(error_page("invalid_request", text));
        };
        let resource = match self.resource.as_deref().filter(|it| !it.is_empty()) {
            None => Some(Resource::Service),
            Some(address) => Resource::parse(&app.api.origin, address),
        };
        let Some(resource) = resource else {
            return Err(error_page("invalid_target", "It requests access to a service other than this one."));
        };
        let Some(scopes) = scopes(self.scope.as_deref().unwrap_or_default()) else {
            return Err(error_page("invalid_scope", "It requests no scope of this service."));
        };
        let state = self.state;
        Ok(Request { client_id, client_name, redirect_uri, state, challenge, resource, scopes })
    }

    async fn client(&self, app: &App, user: UserId) -> PageResult<(ClientId, ClientName, RedirectUri)> {
        let Some(id) = self.client_id.as_deref().and_then(ClientId::parse) else {
            return Err(invalid_request(
                "Its client_id is not the https address of a document that describes it, as \
                 https://app.example/client.json would be.",
            ));
        };
        let document = app.api.with_permit(user, Some(id.host()), app.clients.read(&id)).await?;
        let document =
            document.map_err(|error| invalid_request(&format!("Its description at {id} is invalid: {error}.")))?;
        let requested = self.redirect_uri.as_deref().and_then(RedirectUri::parse);
        match requested.filter(|requested| document.redirect_uris.iter().any(|it| it.permits(requested))) {
            Some(redirect_uri) => Ok((id, document.name, redirect_uri)),
            None => Err(invalid_request("Its redirect_uri is not listed in its description.")),
        }
    }

    fn wrong(&self, app: &App, redirect_uri: &RedirectUri, error: &str, text: &str) -> PageError {
        let mut parameters = vec![("error", error), ("iss", app.api.origin.as_str())];
        parameters.extend(self.state.as_deref().map(|it| ("state", it)));
        invalid_request(text).with_link(redirect_uri.with(&parameters), format!("Go back to {}", redirect_uri.host()))
    }
}

/// The requested scopes; by default, those that tools need. Unknown scopes are ignored, and the token
/// response lists the granted ones (RFC 6749, section 3.3).
fn scopes(requested: &str) -> Option<Scopes> {
    let mut names = requested.split_ascii_whitespace().peekable();
    if names.peek().is_none() {
        return Some(Scopes::from_requested(&SCOPES_OF_TOOLS));
    }
    let known: Vec<_> = names.filter_map(Scope::parse).collect();
    (!known.is_empty()).then(|| Scopes::from_requested(&known))
}

fn invalid_request(text: &str) -> PageError {
    let text = format!("{text} Nothing was changed. Report this to the developer of the app.");
    PageError::new(StatusCode::BAD_REQUEST, "This app cannot get access", text)
}
