use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;

use super::Sandbox;
use super::accounts::Account;
use super::api_error::SandboxApiError;
use super::oauth::{PROFILE, PUBLISH, accounts_in};
use crate::fake::oauth::HasOAuth;

/// The id of the account for which a call is made, where a grant covers several accounts.
const ON_BEHALF_OF: &str = "sandbox-account";

pub(super) struct Caller {
    pub(super) account: Account,
    /// The other accounts of the grant.
    pub(super) also: Vec<Account>,
    pub(super) grant: usize,
    scopes: Vec<String>,
}

impl Caller {
    pub(super) fn authenticate(sandbox: &Sandbox, headers: &HeaderMap) -> Result<Self, SandboxApiError> {
        let oauth = sandbox.0.oauth();
        let invalid_token = || SandboxApiError::invalid_token();
        let granted = oauth.accept(headers, &[PROFILE, PUBLISH], sandbox.now()).map_err(|_| invalid_token())?;
        let grant = oauth.grants.iter().position(|it| it == granted).ok_or_else(invalid_token)?;
        let mut also: Vec<_> = accounts_in(&granted.account).collect();
        let mut account = also.remove(0);
        if let Some(id) = headers.get(ON_BEHALF_OF) {
            let is_named = |it: &Account| it.id().as_bytes() == id.as_bytes();
            let named = [account].into_iter().chain(also.iter().copied()).find(is_named);
            account = named.ok_or_else(SandboxApiError::other_account)?;
        }
        Ok(Self { account, also, grant, scopes: granted.scopes.clone() })
    }

    pub(super) fn needs(&self, scope: &str) -> Result<(), SandboxApiError> {
        let is_covered = self.scopes.iter().any(|it| it == scope);
        if is_covered { Ok(()) } else { Err(SandboxApiError::insufficient_scope(scope)) }
    }
}

impl FromRequestParts<Sandbox> for Caller {
    type Rejection = SandboxApiError;

    async fn from_request_parts(parts: &mut Parts, sandbox: &Sandbox) -> Result<Self, SandboxApiError> {
        Self::authenticate(sandbox, &parts.headers)
    }
}
