use reqwest::RequestBuilder;
use secrecy::{ExposeSecret, SecretString};
use url::form_urlencoded;

use crate::account::Credentials;

/// How a platform's OAuth differs from the RFCs. An adapter states only the differences: `Dialect {
/// pkce: false, scope_separator: ",", ..Dialect::STANDARD }`.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    pub client_id: &'static str,
    /// Between scopes in requests. In responses, blanks and commas are accepted on every platform.
    pub scope_separator: &'static str,
    pub pkce: bool,
    /// Additional parameters of the authorization page.
    pub page: &'static [(&'static str, &'static str)],
    pub code: TokenCall,
    /// Exchanges the token of a code for a long-lived one.
    pub lengthening: Option<TokenCall>,
    pub refresh: TokenCall,
    pub revocation: TokenCall,
    /// The values of `error` in the callback which mean that the user denied access.
    pub denials: &'static [&'static str],
    /// The values of `error` in the callback which mean that our app may not request one of the
    /// scopes. The user is not asked then.
    pub scope_errors: &'static [&'static str],
    /// The error codes which mean that a grant has ended, so that the user has to reconnect the
    /// account. No other error has this effect.
    pub gone: &'static [&'static str],
    /// The error codes which mean that the id or secret of our app is wrong.
    pub ours: &'static [&'static str],
    /// The codes of temporary errors in addition to those of RFC 6749, with any status.
    pub passing: &'static [&'static str],
}

#[derive(Clone, Copy, Debug)]
pub struct TokenCall {
    /// The value of `grant_type`; `None` if the platform has no such parameter.
    pub grant_type: Option<&'static str>,
    pub parameter: &'static str,
    /// Which token of the account `parameter` has, if it has one.
    pub token: TokenKind,
    pub carried: ParameterLocation,
    pub client: ClientAuth,
    pub further: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// The token that calls send.
    Access,
    /// The token that is exchanged for new ones.
    Refresh,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterLocation {
    Form,
    /// In the query of a GET request.
    Query,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// Id and secret in the `Authorization` header.
    Basic,
    /// Id and secret as parameters.
    Body,
    /// The secret only.
    Secret,
    /// The id only: our app has no secret (RFC 6749, section 2.1).
    Public,
    None,
}

#[derive(Clone, Copy)]
pub(crate) struct ClientCredentials<'a> {
    pub(crate) client_id: &'a str,
    pub(crate) client_secret: &'a SecretString,
}

impl Dialect {
    /// As in the RFCs, with id and secret in the body, which most platforms accept.
    pub const STANDARD: Self = Self {
        client_id: "client_id",
        scope_separator: " ",
        pkce: true,
        page: &[],
        code: TokenCall::CODE,
        lengthening: None,
        refresh: TokenCall::REFRESH,
        revocation: TokenCall::REVOCATION,
        denials: &["access_denied"],
        scope_errors: &[],
        gone: &["invalid_grant"],
        ours: &["invalid_client", "unauthorized_client"],
        passing: &[],
    };

    #[must_use]
    pub const fn with_client(self, client: ClientAuth) -> Self {
        Self {
            code: TokenCall { client, ..self.code },
            refresh: TokenCall { client, ..self.refresh },
            revocation: TokenCall { client, ..self.revocation },
            ..self
        }
    }

    pub(crate) fn fill(
        &self,
        request: RequestBuilder,
        call: &TokenCall,
        client: Option<ClientCredentials<'_>>,
        token: &str,
        extra: &[(&str, &str)],
    ) -> RequestBuilder {
        let mut parameters: Vec<(&str, &str)> = call.grant_type.map(|it| ("grant_type", it)).into_iter().collect();
        parameters.push((call.parameter, token));
        parameters.extend(extra);
        parameters.extend(call.further);
        let request = match client {
            Some(client) => self.authenticate(request, call.client, client, &mut parameters),
            None => request,
        };
        match call.carried {
            ParameterLocation::Form => request.form(&parameters),
            ParameterLocation::Query => request.query(&parameters),
        }
    }

    fn authenticate<'a>(
        &self,
        request: RequestBuilder,
        client: ClientAuth,
        credentials: ClientCredentials<'a>,
        parameters: &mut Vec<(&'a str, &'a str)>,
    ) -> RequestBuilder {
        let (id, secret) =
            ((self.client_id, credentials.client_id), ("client_secret", credentials.client_secret.expose_secret()));
        match client {
            ClientAuth::Basic => {
                // Encoded before they are joined (RFC 6749, section 2.3.1).
                let encoded = |it: &str| form_urlencoded::byte_serialize(it.as_bytes()).collect::<String>();
                return request.basic_auth(encoded(id.1), Some(encoded(secret.1)));
            }
            ClientAuth::Body => parameters.extend([id, secret]),
            ClientAuth::Secret => parameters.push(secret),
            ClientAuth::Public => parameters.push(id),
            ClientAuth::None => {}
        }
        request
    }
}

impl TokenCall {
    /// RFC 6749, section 4.1.3.
    pub const CODE: Self = Self {
        grant_type: Some("authorization_code"),
        parameter: "code",
        token: TokenKind::Access,
        carried: ParameterLocation::Form,
        client: ClientAuth::Body,
        further: &[],
    };

    /// RFC 6749, section 6.
    pub const REFRESH: Self =
        Self { grant_type: Some("refresh_token"), parameter: "refresh_token", token: TokenKind::Refresh, ..Self::CODE };

    /// RFC 7009, section 2.1. Sends the refresh token if there is one: it lives longer, and either
    /// token ends the whole grant.
    pub const REVOCATION: Self = Self { grant_type: None, parameter: "token", token: TokenKind::Refresh, ..Self::CODE };

    /// A GET request that exchanges an access token for one that lasts longer, as on Meta's
    /// platforms.
    pub const fn longer(grant_type: &'static str, parameter: &'static str) -> Self {
        Self { grant_type: Some(grant_type), parameter, carried: ParameterLocation::Query, ..Self::CODE }
    }
}

impl TokenKind {
    pub(crate) fn token(self, credentials: &Credentials) -> Option<&SecretString> {
        match self {
            Self::Access => Some(&credentials.access_token),
            Self::Refresh => credentials.refresh_token.as_ref(),
        }
    }
}
