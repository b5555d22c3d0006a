use secrecy::ExposeSecret;
use url::Url;

use super::dialect::Dialect;
use crate::connect_flow::{AuthorizationRequest, Callback, ConnectError};
use crate::response;

/// Only the operator can correct an app that requests scopes that it may not request.
const SCOPES_REFUSED: &str = "The platform does not allow this service to request all of its scopes. Ask the operator to \
                              compare the setting `scopes` with the scopes that the platform lists for the app.";

impl Dialect {
    pub(crate) fn authorization_url(
        &self,
        mut page: Url,
        client_id: &str,
        request: &AuthorizationRequest,
        scopes: &[&str],
        extra: &[(&str, &str)],
    ) -> String {
        let mut pairs = page.query_pairs_mut();
        pairs
            .append_pair("response_type", "code")
            .append_pair(self.client_id, client_id)
            .append_pair("redirect_uri", &request.urls.redirect_uri)
            .append_pair("state", request.state.expose_secret());
        if self.pkce {
            pairs.append_pair("code_challenge", &request.challenge).append_pair("code_challenge_method", "S256");
        }
        if !scopes.is_empty() {
            pairs.append_pair("scope", &scopes.join(self.scope_separator));
        }
        pairs.extend_pairs(self.page).extend_pairs(extra);
        drop(pairs);
        // A plus sign means a blank in forms. Servers that do not read the query as a form would
        // read it as a plus sign.
        let query = page.query().map(|it| it.replace('+', "%20"));
        page.set_query(query.as_deref());
        page.into()
    }

    pub(crate) fn read_code<'a>(&self, callback: &'a Callback) -> Result<&'a str, ConnectError> {
        let parameter = |name: &str| callback.query.get(name).map(String::as_str).filter(|it| !it.is_empty());
        match parameter("error") {
            None => parameter("code").ok_or_else(|| ConnectError::Refused("the response has no code".to_owned())),
            Some(error) if self.denials.contains(&error) => Err(ConnectError::Denied),
            Some(error) if self.scope_errors.contains(&error) => {
                tracing::error!(
                    error,
                    "the platform refused the scopes; compare the setting `scopes` with those of the app"
                );
                Err(ConnectError::Unsupported(SCOPES_REFUSED.to_owned()))
            }
            Some(error) => Err(ConnectError::Refused(response::shown(parameter("error_description").unwrap_or(error)))),
        }
    }
}
