//! The caller of the API, identified by the bearer token.

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use domain::token;

use super::Sandbox;
use super::accounts::Account;
use super::api_error::SandboxApiError;
use super::fact::Fact;
use super::fault_kind::FaultKind;
use super::record_calls::CallRecorder;

/// Scope for reading the account info.
pub(super) const PROFILE: &str = "profile";
/// Scope for uploads, posts and comments.
pub(super) const PUBLISH: &str = "publish";

/// Header with the id of the account for which a call is made, where a grant covers several
/// accounts.
const ON_BEHALF_OF: &str = "sandbox-account";

/// The account on whose behalf a call is made.
pub(super) struct Caller {
    pub(super) account: Account,
    /// The other accounts of the grant.
    pub(super) also: Vec<Account>,
    pub(super) grant: u64,
    scope: String,
}

impl Caller {
    /// Returns an error if the grant does not include `scope`.
    pub(super) fn needs(&self, scope: &'static str) -> Result<(), SandboxApiError> {
        let covered = self.scope.split(' ').any(|it| it == scope);
        if covered { Ok(()) } else { Err(SandboxApiError::InsufficientScope { needed: scope }) }
    }

    /// Ends the grant or the access token if this kind of fault does so, and then rejects the call.
    /// Other kinds have no effect.
    pub(super) fn lose_access(&self, sandbox: &Sandbox, kind: FaultKind) -> Result<(), SandboxApiError> {
        let fact = match kind {
            FaultKind::Revoke => Fact::Revoked { grant: self.grant },
            FaultKind::Expire => Fact::Expired { grants: vec![self.grant] },
            _ => return Ok(()),
        };
        sandbox.ledger().record(fact)?;
        Err(SandboxApiError::InvalidToken)
    }
}

impl FromRequestParts<Sandbox> for Caller {
    type Rejection = SandboxApiError;

    async fn from_request_parts(parts: &mut Parts, sandbox: &Sandbox) -> Result<Self, SandboxApiError> {
        let header = parts.headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
        let token = header.and_then(|it| it.strip_prefix("Bearer ")).unwrap_or_default();
        let ledger = sandbox.ledger();
        let known = ledger.state().find_by_access_token(&token::hash(token), sandbox.now());
        let (grant, granted) = known.ok_or(SandboxApiError::InvalidToken)?;
        let account = match parts.headers.get(ON_BEHALF_OF) {
            None => granted.account,
            Some(id) => {
                let named = Account::all().find(|it| it.id().as_bytes() == id.as_bytes());
                named.filter(|it| granted.covers(*it)).ok_or(SandboxApiError::OtherAccount)?
            }
        };
        if let Some(call) = parts.extensions.get::<CallRecorder>() {
            call.by(account);
        }
        Ok(Self { account, also: granted.also.clone(), grant, scope: granted.scope.clone() })
    }
}
