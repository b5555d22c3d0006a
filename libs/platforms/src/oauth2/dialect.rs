//! What a platform's OAuth does in its own way, as data.

use reqwest::RequestBuilder;
use secrecy::{ExposeSecret, SecretString};
use url::form_urlencoded;

use crate::account::Credentials;

/// What a platform's OAuth does in its own way. An adapter writes what differs:
/// `Dialect { pkce: false, scope_separator: ",", ..Dialect::STANDARD }`.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The parameter that names our app.
    pub client_id: &'static str,
    /// What stands between two scopes when they are asked for. In answers, blanks
    /// and commas are understood everywhere.
    pub scope_separator: &'static str,
    /// Whether the platform is sent a challenge and its verifier.
    pub pkce: bool,
    /// What the page on which the person decides is told beside the usual.
    pub page: &'static [(&'static str, &'static str)],
    pub code: TokenCall,
    /// A token that lasts, for the one that a code brought.
    pub lengthening: Option<TokenCall>,
    /// A token for one that ends.
    pub renewal: TokenCall,
    /// The end of a grant.
    pub revocation: TokenCall,
    /// The values of `error` by which the page says that the person declined.
    pub denials: &'static [&'static str],
    /// The values of `error` with which the page reports that our app may not request one of the scopes. The person is
    /// asked nothing then.
    pub scope_errors: &'static [&'static str],
    /// The codes of errors that say that a grant is gone. No other failure does:
    /// they ask the person to connect the account again.
    pub gone: &'static [&'static str],
    /// The codes of errors that say that the id or secret of our app is wrong.
    pub ours: &'static [&'static str],
    /// The codes of errors that may pass, beside those of RFC 6749, whatever the
    /// status.
    pub passing: &'static [&'static str],
}

/// How a token is asked for.
#[derive(Clone, Copy, Debug)]
pub struct TokenCall {
    /// The value of `grant_type`; `None` where there is no such parameter.
    pub grant_type: Option<&'static str>,
    /// The parameter that brings what is exchanged.
    pub parameter: &'static str,
    /// Which of an account's tokens that is, where it is one.
    pub of: Of,
    /// Where parameters stand.
    pub carried: Carried,
    /// How we say who we are.
    pub client: ClientAuth,
    /// What is sent beside the usual.
    pub further: &'static [(&'static str, &'static str)],
}

/// Which of an account's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The one that is sent with calls.
    Access,
    /// The one that is exchanged for others.
    Refresh,
}

/// Where the parameters of a call stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// In the body, as a form.
    Form,
    /// In the query of a GET.
    Query,
}

/// How our app proves that it is us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// Id and secret in the `Authorization` header.
    Basic,
    /// Both among the parameters.
    Body,
    /// The secret alone.
    Secret,
    /// The id alone: our app has no secret (RFC 6749, section 2.1).
    Public,
    None,
}

/// Our app, as a platform knows it.
#[derive(Clone, Copy)]
pub(crate) struct Us<'a> {
    pub(crate) client_id: &'a str,
    pub(crate) client_secret: &'a SecretString,
}

impl Dialect {
    /// What the RFCs say, with the id and secret in the body, as most platforms
    /// have them.
    pub const STANDARD: Self = Self {
        client_id: "client_id",
        scope_separator: " ",
        pkce: true,
        page: &[],
        code: TokenCall::CODE,
        lengthening: None,
        renewal: TokenCall::REFRESH,
        revocation: TokenCall::REVOCATION,
        denials: &["access_denied"],
        scope_errors: &[],
        gone: &["invalid_grant"],
        ours: &["invalid_client", "unauthorized_client"],
        passing: &[],
    };

    /// The same with this way to say who we are in every call.
    #[must_use]
    pub const fn with_client(self, client: ClientAuth) -> Self {
        Self {
            code: TokenCall { client, ..self.code },
            renewal: TokenCall { client, ..self.renewal },
            revocation: TokenCall { client, ..self.revocation },
            ..self
        }
    }

    /// A request for a call, with everything that this dialect has in it.
    pub(crate) fn fill(
        &self,
        request: RequestBuilder,
        call: &TokenCall,
        us: Option<Us<'_>>,
        what: &str,
        further: &[(&str, &str)],
    ) -> RequestBuilder {
        let mut parameters: Vec<(&str, &str)> = call.grant_type.map(|it| ("grant_type", it)).into_iter().collect();
        parameters.push((call.parameter, what));
        parameters.extend(further);
        parameters.extend(call.further);
        let request = match us {
            Some(us) => self.authenticate(request, call.client, us, &mut parameters),
            None => request,
        };
        match call.carried {
            Carried::Form => request.form(&parameters),
            Carried::Query => request.query(&parameters),
        }
    }

    fn authenticate<'a>(
        &self,
        request: RequestBuilder,
        client: ClientAuth,
        us: Us<'a>,
        parameters: &mut Vec<(&'a str, &'a str)>,
    ) -> RequestBuilder {
        let (id, secret) = ((self.client_id, us.client_id), ("client_secret", us.client_secret.expose_secret()));
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
        of: Of::Access,
        carried: Carried::Form,
        client: ClientAuth::Body,
        further: &[],
    };

    /// RFC 6749, section 6.
    pub const REFRESH: Self =
        Self { grant_type: Some("refresh_token"), parameter: "refresh_token", of: Of::Refresh, ..Self::CODE };

    /// RFC 7009, section 2.1, of the refresh token where there is one: it lives
    /// longer, and either ends the whole grant.
    pub const REVOCATION: Self = Self { grant_type: None, parameter: "token", of: Of::Refresh, ..Self::CODE };

    /// A GET that exchanges an access token for one that lasts longer, as Meta's
    /// platforms have it.
    pub const fn longer(grant_type: &'static str, parameter: &'static str) -> Self {
        Self { grant_type: Some(grant_type), parameter, carried: Carried::Query, ..Self::CODE }
    }
}

impl Of {
    pub(crate) fn token(self, credentials: &Credentials) -> Option<&SecretString> {
        match self {
            Self::Access => Some(&credentials.access_token),
            Self::Refresh => credentials.refresh_token.as_ref(),
        }
    }
}
