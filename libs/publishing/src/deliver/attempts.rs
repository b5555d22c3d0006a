//! Records what each call did, for the user of the post and for the log.

use chrono::{DateTime, Utc};
use domain::attempt::{Attempt, AttemptOutcome, AttemptStep, CallResult, ErrorKind};
use domain::delivery::{AttemptError, Resolution};

use super::AttemptContext;
use crate::Publishing;

impl AttemptContext<'_> {
    /// The messages are those for the user.
    pub(super) fn attempted<T>(
        self,
        step: AttemptStep,
        times: (DateTime<Utc>, DateTime<Utc>),
        result: &Result<T, AttemptError>,
        call: CallResult,
    ) -> Self {
        let (outcome, message) = match result {
            Ok(_) => (AttemptOutcome::Accepted, None),
            Err(error) => (step.outcome_of(error), Some(error.reason().to_owned())),
        };
        let attempt = Attempt::new(&self.delivery, self.segment_index, step, times, outcome, message, call);
        Self { attempt: Some(attempt), ..self }
    }

    pub(super) fn looked_up(
        self,
        times: (DateTime<Utc>, DateTime<Utc>),
        resolution: &Resolution,
        call: CallResult,
    ) -> Self {
        let message = resolution.reason().map(str::to_owned);
        let attempt = Attempt::new(
            &self.delivery,
            self.segment_index,
            AttemptStep::LookUp,
            times,
            resolution.into(),
            message,
            call,
        );
        Self { attempt: Some(attempt), ..self }
    }
}

impl Publishing {
    /// A failed write is only logged: the delivery does not depend on the record.
    pub(super) async fn record_attempt(&self, attempt: Option<&Attempt>) {
        let Some(attempt) = attempt else { return };
        let Attempt { step, outcome, error_kind, http_status, message, duration_ms, .. } = attempt;
        tracing::info!(
            step = step.as_str(), outcome = outcome.as_str(), class = error_kind.map(ErrorKind::as_str),
            http_status, reason = message, duration_ms, segment = attempt.segment, platform = attempt.provider,
            user_id = %attempt.user_id, post_id = %attempt.post_id, target_id = %attempt.target_id, "attempt ended"
        );
        if let Err(error) = self.store.put_attempt(attempt).await {
            tracing::warn!(%error, post_id = %attempt.post_id, "attempt could not be recorded");
        }
    }
}
