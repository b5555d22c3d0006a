//! Finds the caller of a request and counts the request for it.
//!
//! Token and count take one concurrent round trip to the store. The profile of a limited token is
//! read after the token and concurrently with the count. A request with an invalid token takes one
//! more round trip, in which it is counted for its address. From an address that sent many invalid
//! tokens, a token that the process does not know is read before anything is written. What the
//! process remembers of the minute takes no round trip.

use std::sync::Arc;

use axum::extract::Request;
use chrono::{DateTime, TimeDelta, Utc};
use cloud::audit;
use domain::access_token::AccessToken;
use domain::id::UserId;
use domain::oauth::Resource;
use domain::profile::ProfileRef;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method};
use storage::{Admitted, Counted, Stale, StorageError, TokenGrant, minute_of};

use crate::Api;
use crate::caller::{Credential, HeldToken, RequestFacts};
use crate::limit::memory::{Memory, TokenLookUp};
use crate::limit::{Budget, ClientIp};
use crate::proxy::TrustedProxy;

/// The routes whose requests also count as uploads: of the API, and of the page of a post.
const UPLOADS: [&str; 2] = ["/api/v1/media", "/account/files"];

pub(super) fn is_upload(request: &Request) -> bool {
    request.method() == Method::POST && UPLOADS.contains(&request.uri().path())
}

pub(super) struct CountedRequest {
    address: ClientIp,
    is_media: bool,
    /// Where the request arrived: the function `mcp` passes requests on to the API.
    place: Resource,
    token: SentToken,
}

enum SentToken {
    Nothing,
    Nonsense,
    Token(AccessToken),
}

/// Written concurrently with the response.
#[derive(Default)]
pub(super) struct PendingUsage(Option<TokenUsage>);

struct TokenUsage {
    owner: UserId,
    hash: String,
    /// `None` if the use of the token was recorded within the last day.
    prolonged_to: Option<DateTime<Utc>>,
    stale: Stale,
}

struct Verified {
    grant: TokenGrant,
    /// The token is limited to this profile.
    of_profile: Option<ProfileRef>,
    counted: Counted,
    note: Option<TokenUsage>,
}

impl CountedRequest {
    pub(super) fn read(request: &Request, proxies: &[TrustedProxy]) -> Self {
        let is_mcp = |it: &TrustedProxy| it.resource == Resource::Mcp && it.is_proven_by(request.headers());
        Self {
            address: ClientIp::from_extensions(request.extensions()),
            is_media: is_upload(request),
            place: if proxies.iter().any(is_mcp) { Resource::Mcp } else { Resource::Api },
            token: sent_token(request.headers()),
        }
    }
}

fn sent_token(headers: &HeaderMap) -> SentToken {
    let Some(value) = headers.get(AUTHORIZATION) else {
        return SentToken::Nothing;
    };
    let token = value
        .to_str()
        .ok()
        .and_then(|it| it.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .and_then(|(_, token)| AccessToken::parse(token.trim()));
    token.map_or(SentToken::Nonsense, SentToken::Token)
}

pub(super) struct Counting<'a> {
    pub(super) api: &'a Api,
    pub(super) memory: &'a Memory,
    pub(super) now: DateTime<Utc>,
}

impl Counting<'_> {
    /// Without a valid token, the request counts for its address and for no user.
    pub(super) async fn count(&self, info: CountedRequest) -> (RequestFacts, PendingUsage) {
        let CountedRequest { address, is_media, place: resource, token } = info;
        let context = |token, budget| RequestFacts { ip: address.0, at: self.now, token, budget };
        let token = match token {
            SentToken::Nothing => {
                let budget = self.count_address(&address.subject(), is_media).await;
                return (context(Credential::Absent, budget), PendingUsage::default());
            }
            SentToken::Nonsense => {
                let budget = self.count_address(&address.subject(), is_media).await;
                return (context(Credential::Malformed, budget), PendingUsage::default());
            }
            SentToken::Token(token) => token,
        };

        let hash = token.hash();
        if let Some(budget) = self.memory.over(&hash, is_media, self.now) {
            // The token was not checked. The rate limit comes first, for any caller.
            return (context(Credential::Unknown, Some(budget)), PendingUsage::default());
        }
        // A token that is rejected here may be valid at the other resource.
        let cache_key = format!("{hash}{}", resource.path());
        let verified = match self.memory.plan_look_up(&cache_key, &address.subject(), self.limit(), self.now) {
            TokenLookUp::Count => self.look_up(token.claimed_owner(), &hash, resource, is_media).await,
            // Another caller behind the same address may have a valid token.
            TokenLookUp::Read => match self.api.store.token(&hash).await {
                Ok(None) => {
                    self.memory.rejected(&cache_key, self.now);
                    return (context(Credential::Rejected, Some(self.used_up())), PendingUsage::default());
                }
                Ok(Some(found)) => self.admit(token.claimed_owner(), &hash, found, resource, is_media).await,
                Err(error) => Err(error),
            },
            TokenLookUp::Rejected => {
                let budget = self.count_address(&address.subject(), is_media).await;
                return (context(Credential::Rejected, budget), PendingUsage::default());
            }
        };
        match verified {
            Ok(Some(Verified { grant, of_profile, counted, note })) => {
                self.memory.record_valid(&cache_key, &address.subject(), self.now);
                let budget = self.api.limits.budget(&counted, is_media);
                self.memory.note(&hash, is_media, budget, self.now);
                let token = HeldToken { id: hash.as_str().into(), grant: Arc::new(grant), of_profile };
                (context(Credential::Good(token), Some(budget)), PendingUsage(note))
            }
            Ok(None) => {
                self.memory.rejected(&cache_key, self.now);
                let entry = audit::Entry::new(audit::Event::TokenRefused).claimed(token.claimed_owner());
                entry.token(&hash).address(address.0).write();
                let budget = self.count_address(&address.subject(), is_media).await;
                (context(Credential::Rejected, budget), PendingUsage::default())
            }
            Err(error) => {
                tracing::error!(%error, "token could not be looked up");
                (context(Credential::Unknown, None), PendingUsage::default())
            }
        }
    }

    /// `None` if the token is invalid. Token and count are read concurrently.
    async fn look_up(
        &self,
        claimed: UserId,
        hash: &str,
        resource: Resource,
        is_media: bool,
    ) -> Result<Option<Verified>, StorageError> {
        let store = &self.api.store;
        let token = async {
            match store.token(hash).await? {
                Some(token) => self.with_profile(token).await,
                None => Ok(None),
            }
        };
        let (token, admitted) = futures::try_join!(token, store.admit(claimed, hash, is_media, self.now))?;
        Ok(token
            .zip(admitted)
            .and_then(|(token, admitted)| self.verify_token(claimed, hash, token, resource, admitted)))
    }

    /// `None` if the profile to which the token is limited is deleted.
    async fn with_profile(&self, token: TokenGrant) -> Result<Option<(TokenGrant, Option<ProfileRef>)>, StorageError> {
        let Some(id) = token.profile_id else { return Ok(Some((token, None))) };
        let profile = self.api.store.profile(token.owner, id).await?;
        Ok(profile.map(|it| (token, Some(it.reference()))))
    }

    /// Like `look_up`, for a token that was read already.
    async fn admit(
        &self,
        claimed: UserId,
        hash: &str,
        token: TokenGrant,
        resource: Resource,
        is_media: bool,
    ) -> Result<Option<Verified>, StorageError> {
        let admitted = self.api.store.admit(claimed, hash, is_media, self.now);
        let (token, admitted) = futures::try_join!(self.with_profile(token), admitted)?;
        Ok(token.zip(admitted).and_then(|(token, it)| self.verify_token(claimed, hash, token, resource, it)))
    }

    fn verify_token(
        &self,
        claimed: UserId,
        hash: &str,
        (token, of_profile): (TokenGrant, Option<ProfileRef>),
        resource: Resource,
        admitted: Admitted,
    ) -> Option<Verified> {
        // Only one of the two copies may have the extended expiry.
        if token.owner != claimed || token.expires_at <= self.now || !token.resource.includes(resource) {
            return None;
        }
        let expires_at = token.ends(self.api.token_lifetime, self.now);
        let note = TokenUsage {
            owner: token.owner,
            hash: hash.to_owned(),
            prolonged_to: (TimeDelta::days(1) <= self.now - token.last_used_at).then_some(expires_at),
            stale: admitted.stale,
        };
        let is_needed = note.prolonged_to.is_some() || !note.stale.is_empty();
        Some(Verified { grant: token, of_profile, counted: admitted.counted, note: is_needed.then_some(note) })
    }

    fn limit(&self) -> u32 {
        self.api.limits.requests_per_minute
    }

    /// `None` if the store failed.
    pub(super) async fn count_address(&self, subject: &str, is_media: bool) -> Option<Budget> {
        if let Some(budget) = self.memory.over(subject, is_media, self.now) {
            return Some(budget);
        }
        match self.api.store.count(subject, is_media, self.now).await {
            Ok(counted) => {
                let budget = self.api.limits.budget(&counted, is_media);
                self.memory.note(subject, is_media, budget, self.now);
                Some(budget)
            }
            Err(error) => {
                tracing::error!(%error, "request could not be counted");
                None
            }
        }
    }

    /// The budget when the limit is reached or the store could not count.
    pub(super) fn used_up(&self) -> Budget {
        Budget { limit: self.limit(), remaining: 0, over: true, resets_at: minute_of(self.now).1 }
    }

    /// The response does not depend on the notes, so a failure is only logged.
    pub(super) async fn note(&self, note: PendingUsage) {
        let Some(TokenUsage { owner, hash, prolonged_to: new_expires_at, stale }) = note.0 else { return };
        let store = &self.api.store;
        let touch = async {
            match new_expires_at {
                Some(ends) => store.touch_token(owner, &hash, self.now, ends).await.map(drop),
                None => Ok(()),
            }
        };
        let (touched, tidied) = futures::join!(touch, store.tidy(owner, &stale));
        for error in [touched.err(), tidied.err()].into_iter().flatten() {
            tracing::warn!(%error, "use of a token could not be recorded");
        }
    }
}
