//! One response for each idempotency key. A fetch takes long, so the key is claimed before the work
//! begins. It is released if the request fails.

use domain::id::UserId;
use domain::idempotency::IdempotencyKey;
use domain::owner::Owner;
use storage::{ClaimedKey, KeyClaim};

use crate::App;
use crate::error::MediaError;
use crate::request::CreateMedium;
use crate::response::ReplayableResponse;

const ROUTE: &str = "POST /media";

impl App {
    pub(crate) async fn create_once(
        &self,
        owner: Owner,
        request: CreateMedium,
        key: Option<IdempotencyKey>,
    ) -> Result<ReplayableResponse, MediaError> {
        let Some(key) = key else {
            return self.respond(owner.user_id, &request).await;
        };
        let (store, now) = (&self.api.store, self.api.clock.now());
        match store.claim_idempotency(owner, ROUTE, &key, &request.hash(), now).await? {
            KeyClaim::Ours(claimed) => {
                let response = self.respond(owner.user_id, &request).await;
                self.settle(claimed, &response).await;
                response
            }
            KeyClaim::Done(stored) => Ok(ReplayableResponse::replayed(stored.response)),
            KeyClaim::Running => Err(MediaError::KeyInProgress),
            KeyClaim::OtherBody => Err(MediaError::KeyReused),
        }
    }

    async fn respond(&self, user: UserId, request: &CreateMedium) -> Result<ReplayableResponse, MediaError> {
        let view = self.create(user, request).await?;
        Ok(ReplayableResponse::new(&view)?)
    }

    /// If storing or releasing fails, the request still gets its response: the file does not change
    /// any more, and the claim expires.
    async fn settle(&self, claimed: ClaimedKey, response: &Result<ReplayableResponse, MediaError>) {
        let outcome = match response {
            Ok(response) => self.api.store.complete_idempotency(claimed, response.json().to_owned()).await,
            Err(_) => self.api.store.release_idempotency(claimed).await,
        };
        if let Err(error) = outcome {
            tracing::error!(%error, "idempotency key could not be completed or released");
        }
    }
}
