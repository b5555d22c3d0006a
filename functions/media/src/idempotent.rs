//! One answer for each idempotency key. A fetch takes long, so the key is
//! claimed before the work begins. It is released when the request was
//! refused.

use api::{ApiError, ApiResult};
use domain::id::UserId;
use domain::idempotency::IdempotencyKey;
use domain::validation_errors::ValidationErrors;
use storage::{ClaimedKey, KeyClaim};

use crate::App;
use crate::request::CreateMedium;
use crate::response::Answer;

const ROUTE: &str = "POST /media";

/// What a second request with the same key is told while the first one runs.
pub(crate) const RUNNING: &str = "The first request with this idempotency-key is still being answered. Try again soon.";

impl App {
    pub(crate) async fn answer_once(
        &self,
        user: UserId,
        request: CreateMedium,
        key: Option<IdempotencyKey>,
    ) -> ApiResult<Answer> {
        let Some(key) = key else {
            return self.answer(user, &request).await;
        };
        let (store, now) = (&self.api.store, self.api.clock.now());
        match store.claim_idempotency(user, ROUTE, &key, &request.hash(), now).await? {
            KeyClaim::Ours(claimed) => {
                let answer = self.answer(user, &request).await;
                self.settle(claimed, &answer).await;
                answer
            }
            KeyClaim::Done(kept) => Ok(Answer::replayed(kept.response)),
            KeyClaim::Running => Err(ApiError::Conflict(RUNNING.to_owned())),
            KeyClaim::OtherBody => {
                let faults = ValidationErrors::one("idempotency-key", "was used for another request; take a new key");
                Err(ApiError::Invalid(faults))
            }
        }
    }

    async fn answer(&self, user: UserId, request: &CreateMedium) -> ApiResult<Answer> {
        let view = self.create(user, request).await?;
        Answer::new(&view).map_err(|error| {
            tracing::error!(%error, "an answer is not JSON");
            ApiError::Internal
        })
    }

    /// Stores the answer under the key, or releases the key. When that fails,
    /// the request is answered all the same: nothing about the file changes any
    /// more, and the claim on the key expires by itself.
    async fn settle(&self, claimed: ClaimedKey, answer: &ApiResult<Answer>) {
        let settled = match answer {
            Ok(answer) => self.api.store.complete_idempotency(claimed, answer.json().to_owned()).await,
            Err(_) => self.api.store.release_idempotency(claimed).await,
        };
        if let Err(error) = settled {
            tracing::error!(%error, "an idempotency key stays claimed");
        }
    }
}
