//! Extractors for the caller of a request. The middleware looks up the token and counts the request
//! before routing. The request is denied here, after routing, so that an unknown path returns 404
//! and a wrong method 405 even when the rate limit is reached.

use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use chrono::{DateTime, Utc};
use cloud::audit::{self, Event};
use domain::id::UserId;
use domain::owner::Owner;
use domain::profile::ProfileRef;
use domain::scope::{Scope, Scopes};
use http::request::Parts;
use storage::TokenGrant;

use crate::error::ApiError;
use crate::limit::Budget;
use crate::scope_guard::Needs;

/// A caller whose token has the scope `N`. Any other request gets 429, 401 or 403, in this order.
#[derive(Clone, Debug)]
pub struct Caller<N: Needs> {
    pub owner: Owner,
    /// The profile of resources that the request creates.
    pub of_profile: Option<ProfileRef>,
    pub ip: IpAddr,
    pub scopes: Scopes,
    need: PhantomData<fn() -> N>,
}

impl<N: Needs> Caller<N> {
    pub fn user_id(&self) -> UserId {
        self.owner.user_id
    }

    /// Denies what concerns profiles other than that of the token. `action` completes "and cannot …".
    pub fn deny_if_limited(&self, action: &str) -> Result<(), ApiError> {
        match self.owner.limited_to {
            Some(_) => Err(ApiError::Forbidden(format!(
                "The token is limited to a profile and cannot {action}. Use a token with access to everything."
            ))),
            None => Ok(()),
        }
    }

    /// For what the user's plan does not allow. Writes `reason` to the audit log.
    pub fn plan_error(&self, reason: String) -> ApiError {
        audit::Entry::new(Event::PlanRefused).user(self.user_id()).address(self.ip).why(&reason).write();
        ApiError::Forbidden(reason)
    }
}

/// Extract it after [`Caller`], which denies requests without a token.
#[derive(Clone, Debug)]
pub struct HeldToken {
    /// The token's key in the store.
    pub id: Arc<str>,
    pub grant: Arc<TokenGrant>,
    pub of_profile: Option<ProfileRef>,
}

/// 429 when the rate limit is reached.
#[derive(Clone, Copy, Debug)]
pub struct Visitor {
    pub ip: IpAddr,
}

#[derive(Clone, Debug)]
pub(crate) struct RequestFacts {
    pub(crate) ip: IpAddr,
    pub(crate) at: DateTime<Utc>,
    pub(crate) token: Credential,
    /// `None` if the store could not count the request.
    pub(crate) budget: Option<Budget>,
}

#[derive(Clone, Debug)]
pub(crate) enum Credential {
    Absent,
    /// The header has no token of this service.
    Malformed,
    /// The token is unknown, revoked or expired, or its profile is deleted.
    Rejected,
    Good(HeldToken),
    /// The store failed, or was not asked because the rate limit is reached.
    Unknown,
}

impl RequestFacts {
    fn check_rate_limit(&self) -> Result<(), ApiError> {
        match self.budget {
            None => Err(ApiError::Unavailable),
            Some(budget) if budget.over => Err(ApiError::TooMany { wait: budget.wait(self.at) }),
            Some(_) => Ok(()),
        }
    }

    fn token(&self) -> Result<&HeldToken, ApiError> {
        match &self.token {
            Credential::Good(token) => Ok(token),
            Credential::Absent => Err(ApiError::TokenMissing),
            Credential::Malformed => Err(ApiError::TokenMalformed),
            Credential::Rejected => Err(ApiError::Unauthenticated),
            Credential::Unknown => Err(ApiError::Unavailable),
        }
    }
}

fn missing_scope_message(scope: Scope) -> String {
    let name = scope.as_str();
    match scope.wider() {
        None => format!("The token lacks the scope {name}. Ask for a token that has it."),
        Some(wider) => {
            let wider = wider.as_str();
            format!("The token lacks the scope {wider}, or {name} for drafts. Ask for a token that has one of them.")
        }
    }
}

fn seen(parts: &Parts) -> Result<&RequestFacts, ApiError> {
    parts.extensions.get().ok_or_else(|| {
        tracing::error!("a route of the API was not completed with api::finish");
        ApiError::Internal
    })
}

impl<S: Sync, N: Needs> FromRequestParts<S> for Caller<N> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let seen = seen(parts)?;
        seen.check_rate_limit()?;
        let HeldToken { grant: token, of_profile, .. } = seen.token()?;
        if !token.scopes.permit(N::SCOPE) {
            return Err(ApiError::Forbidden(missing_scope_message(N::SCOPE)));
        }
        Ok(Self {
            owner: token.acts_for(),
            of_profile: of_profile.clone(),
            ip: seen.ip,
            scopes: token.scopes.clone(),
            need: PhantomData,
        })
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
        seen.check_rate_limit()?;
        Ok(Self { ip: seen.ip })
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    fn seen(token: Credential, budget: Option<Budget>) -> RequestFacts {
        RequestFacts { ip: [192, 0, 2, 1].into(), at: noon(), token, budget }
    }

    #[test]
    fn store_failure_is_neither_rate_limit_nor_invalid_token() {
        assert!(matches!(seen(Credential::Unknown, None).check_rate_limit(), Err(ApiError::Unavailable)));
        assert!(matches!(seen(Credential::Unknown, None).token(), Err(ApiError::Unavailable)));
        assert!(matches!(seen(Credential::Absent, None).token(), Err(ApiError::TokenMissing)));
        assert!(matches!(seen(Credential::Malformed, None).token(), Err(ApiError::TokenMalformed)));
        assert!(matches!(seen(Credential::Rejected, None).token(), Err(ApiError::Unauthenticated)));
    }

    #[test]
    fn a_missing_scope_is_named_with_the_one_that_includes_it() {
        assert_eq!(
            missing_scope_message(Scope::PostsRead),
            "The token lacks the scope posts:read. Ask for a token that has it."
        );
        let draft = missing_scope_message(Scope::PostsDraft);
        assert!(draft.contains("posts:write") && draft.contains("posts:draft for drafts"), "{draft}");
    }

    #[test]
    fn plan_limit_is_403_with_its_reason() {
        let caller = Caller::<crate::scope_guard::PostsRead> {
            owner: domain::testing::a_user().user_id.into(),
            of_profile: None,
            ip: [192, 0, 2, 1].into(),
            scopes: Scopes::from_requested(&[]),
            need: PhantomData,
        };
        assert!(matches!(caller.plan_error("no more".to_owned()), ApiError::Forbidden(why) if why == "no more"));
    }
}
