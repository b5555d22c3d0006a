//! Who calls. The gate looks the token up and counts the request before
//! routing. Refusals are decided here, after routing, so that an unknown path
//! is answered with 404 and a wrong method with 405 even when the limit is
//! used up.

use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use chrono::{DateTime, Utc};
use cloud::audit::{self, Event};
use domain::id::UserId;
use domain::scope::{Scope, Scopes};
use http::request::Parts;
use storage::TokenGrant;

use crate::error::ApiError;
use crate::limit::Budget;
use crate::scope_guard::Needs;

/// A caller whose token has the scope `N`. Any other request is answered with
/// 429, 401 or 403; the first of them that applies is taken.
#[derive(Clone, Debug)]
pub struct Caller<N: Needs> {
    /// The user the token belongs to.
    pub user: UserId,
    /// The address that the request came from.
    pub ip: IpAddr,
    /// What the token may do.
    pub scopes: Scopes,
    need: PhantomData<fn() -> N>,
}

impl<N: Needs> Caller<N> {
    /// Refuses what the user's plan does not allow, and says why.
    pub fn not_in_plan(&self, why: String) -> ApiError {
        audit::Entry::new(Event::PlanRefused).user(self.user).address(self.ip).why(&why).write();
        ApiError::Forbidden(why)
    }
}

/// The valid token of a request; extracted after [`Caller`], which refuses the others.
#[derive(Clone, Debug)]
pub struct HeldToken {
    /// The token's hash, by which the store knows the token.
    pub id: Arc<str>,
    /// The token as it is stored.
    pub grant: Arc<TokenGrant>,
}

/// A caller of a route that needs no token. When the limit is used up, the
/// request is answered with 429.
#[derive(Clone, Copy, Debug)]
pub struct Visitor {
    /// The address that the request came from.
    pub ip: IpAddr,
}

/// What the gate found out about a request.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) ip: IpAddr,
    pub(crate) at: DateTime<Utc>,
    pub(crate) token: Credential,
    /// `None` when the store could not count.
    pub(crate) budget: Option<Budget>,
}

/// The token of a request.
#[derive(Clone, Debug)]
pub(crate) enum Credential {
    /// The request has no token.
    Absent,
    /// The token is not one of ours, or it is revoked or expired.
    Rejected,
    /// The token is valid.
    Good(HeldToken),
    /// The store failed, or was not asked because the limit is used up.
    Unknown,
}

impl Seen {
    fn within_limit(&self) -> Result<(), ApiError> {
        match self.budget {
            None => Err(ApiError::Unavailable),
            Some(budget) if budget.over => Err(ApiError::TooMany { wait: budget.wait(self.at) }),
            Some(_) => Ok(()),
        }
    }

    fn token(&self) -> Result<&HeldToken, ApiError> {
        match &self.token {
            Credential::Good(token) => Ok(token),
            Credential::Absent | Credential::Rejected => Err(ApiError::Unauthenticated),
            Credential::Unknown => Err(ApiError::Unavailable),
        }
    }
}

fn lacks(scope: Scope) -> String {
    let name = scope.as_str();
    match scope.wider() {
        None => format!("The token lacks the scope {name}. Ask for a token that has it."),
        Some(wider) => {
            let wider = wider.as_str();
            format!("The token lacks the scope {wider}, or {name} for drafts. Ask for a token that has one of them.")
        }
    }
}

fn seen(parts: &Parts) -> Result<&Seen, ApiError> {
    parts.extensions.get().ok_or_else(|| {
        tracing::error!("a route of the API was not finished with api::finish");
        ApiError::Internal
    })
}

impl<S: Sync, N: Needs> FromRequestParts<S> for Caller<N> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let seen = seen(parts)?;
        seen.within_limit()?;
        let token = &seen.token()?.grant;
        if !token.scopes.permit(N::SCOPE) {
            return Err(ApiError::Forbidden(lacks(N::SCOPE)));
        }
        Ok(Self { user: token.owner, ip: seen.ip, scopes: token.scopes.clone(), need: PhantomData })
    }
}

impl<S: Sync> FromRequestParts<S> for HeldToken {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(seen(parts)?.token()?.clone())
    }
}

impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let seen = seen(parts)?;
        seen.within_limit()?;
        Ok(Self { ip: seen.ip })
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    fn seen(token: Credential, budget: Option<Budget>) -> Seen {
        Seen { ip: [192, 0, 2, 1].into(), at: noon(), token, budget }
    }

    #[test]
    fn a_store_that_does_not_answer_is_neither_a_limit_nor_a_wrong_token() {
        assert!(matches!(seen(Credential::Unknown, None).within_limit(), Err(ApiError::Unavailable)));
        assert!(matches!(seen(Credential::Unknown, None).token(), Err(ApiError::Unavailable)));
        for token in [Credential::Absent, Credential::Rejected] {
            assert!(matches!(seen(token, None).token(), Err(ApiError::Unauthenticated)));
        }
    }

    #[test]
    fn a_missing_scope_is_named_with_the_one_that_includes_it() {
        assert_eq!(lacks(Scope::PostsRead), "The token lacks the scope posts:read. Ask for a token that has it.");
        let draft = lacks(Scope::PostsDraft);
        assert!(draft.contains("posts:write") && draft.contains("posts:draft for drafts"), "{draft}");
    }

    #[test]
    fn what_a_plan_does_not_allow_is_forbidden_with_its_reason() {
        let caller = Caller::<crate::scope_guard::PostsRead> {
            user: domain::testing::a_user().user_id,
            ip: [192, 0, 2, 1].into(),
            scopes: Scopes::of(&[]),
            need: PhantomData,
        };
        assert!(matches!(caller.not_in_plan("no more".to_owned()), ApiError::Forbidden(why) if why == "no more"));
    }
}
