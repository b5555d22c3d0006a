//! Removes secrets and post texts from the messages of platforms.
//!
//! A server may repeat the request in an error: the token, and the text of the post. Its messages
//! reach posts, the log, the event bus and pages, so every adapter is called through [`Redacting`],
//! which removes both.

mod redactor;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{AttemptError, LookUpPolicy, Published, Resolution};
use domain::rules::Rules;
use secrecy::SecretString;

use self::redactor::Redactor;
use crate::account::{Account, AccountDetails, Credentials};
use crate::choices::{Choice, Choosing, bounded};
use crate::connect_flow::{
    Approval, AuthorizationRequest, AuthorizeStep, Callback, CallbackUrls, ConnectError, Field, FieldValues,
    PendingApproval, RefreshError,
};
use crate::deauthorization::{DeauthorizationCallback, InvalidCallback};
use crate::dependency_error::DependencyError;
use crate::platform::{Connect, FollowUp, Followed, Platform, Publish, Step};
use crate::publish_request::PublishRequest;
use crate::refresh_policy::RefreshPolicy;

/// An adapter whose messages are redacted.
pub(crate) struct Redacting<A>(pub(crate) A);

#[async_trait]
impl<A: Platform> Platform for Redacting<A> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn refresh_policy(&self) -> RefreshPolicy {
        self.0.refresh_policy()
    }

    fn host(&self, credentials: &Credentials) -> Option<String> {
        self.0.host(credentials)
    }

    async fn refresh(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        let redactor = || Redactor::for_credentials(credentials);
        self.0.refresh(credentials, now).await.map_err(|refusal| match refusal {
            RefreshError::Gone(words) => RefreshError::Gone(redactor().redact(&words)),
            RefreshError::Unreachable(words) => RefreshError::Unreachable(redactor().redact(&words)),
        })
    }

    async fn about(
        &self,
        profile: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let told = self.0.about(profile, credentials, now).await;
        told.map_err(|it| it.map_reason(|words| Redactor::for_credentials(credentials).redact(&words)))
    }
}

#[async_trait]
impl<A: Connect> Connect for Redacting<A> {
    fn rules(&self) -> Rules {
        self.0.rules()
    }

    fn fields(&self) -> &'static [Field] {
        self.0.fields()
    }

    fn named_host(&self, answers: &FieldValues) -> Option<String> {
        self.0.named_host(answers)
    }

    async fn client_document(&self, here: &CallbackUrls) -> Result<Option<serde_json::Value>, DependencyError> {
        self.0.client_document(here).await
    }

    async fn authorize(
        &self,
        answers: &FieldValues,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let departed = self.0.authorize(answers, request, now).await;
        departed.map_err(|it| without(it, || Redactor::for_form(answers, self.0.fields())))
    }

    async fn poll(&self, awaited: &PendingApproval, now: DateTime<Utc>) -> Result<Approval, ConnectError> {
        let polled = self.0.poll(awaited, now).await;
        polled.map_err(|it| without(it, || Redactor::for_approval(awaited)))
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        let completed = self.0.complete(callback, now).await;
        completed.map_err(|it| without(it, || Redactor::for_callback(callback)))
    }

    async fn choices(&self, asked: &Choosing<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, AttemptError> {
        match self.0.choices(asked, now).await {
            Ok(choices) => Ok(bounded(choices)),
            Err(setback) => {
                Err(setback.map_reason(|words| Redactor::for_credentials(asked.credentials).redact(&words)))
            }
        }
    }

    fn revokes_all(&self) -> bool {
        self.0.revokes_all()
    }

    async fn read_deauthorization(
        &self,
        message: &str,
        now: DateTime<Utc>,
    ) -> Result<DeauthorizationCallback, InvalidCallback> {
        self.0.read_deauthorization(message, now).await
    }

    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError> {
        let revoked = self.0.revoke(credentials, now).await;
        revoked.map_err(|it| it.map_reason(|words| Redactor::for_credentials(credentials).redact(&words)))
    }
}

#[async_trait]
impl<A: Publish> Publish for Redacting<A> {
    async fn prepare(&self, job: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        let prepared = self.0.prepare(job).await;
        prepared.map_err(|it| it.map_reason(|words| Redactor::for_request(job).redact(&words)))
    }

    async fn publish(&self, job: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        let published = self.0.publish(job).await;
        published.map_err(|it| it.map_reason(|words| Redactor::for_request(job).redact(&words)))
    }

    async fn look_up(&self, job: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        self.0.look_up(job, since).await.map_reason(|words| Redactor::for_request(job).redact(&words))
    }

    fn follow_ups(&self, job: &PublishRequest<'_>) -> Vec<&'static str> {
        self.0.follow_ups(job)
    }

    async fn follow_up(&self, job: &PublishRequest<'_>, it: &FollowUp<'_>) -> Result<Followed, AttemptError> {
        let followed = self.0.follow_up(job, it).await;
        followed.map_err(|it| it.map_reason(|words| Redactor::for_request(job).redact(&words)))
    }

    fn fetches_files(&self) -> bool {
        self.0.fetches_files()
    }

    fn recognizes_own_posts(&self) -> bool {
        self.0.recognizes_own_posts()
    }

    fn is_confirmed_later(&self, job: &PublishRequest<'_>) -> bool {
        self.0.is_confirmed_later(job)
    }

    fn settle_time(&self) -> TimeDelta {
        self.0.settle_time()
    }

    fn look_up_policy(&self) -> LookUpPolicy {
        self.0.look_up_policy()
    }
}

/// Redacts the error of a call with a new token, which only the adapter knows yet.
pub(crate) fn without_token(refusal: impl Into<ConnectError>, token: &SecretString) -> ConnectError {
    without(refusal.into(), || Redactor::for_token(token))
}

/// Redacts a message about a call with a token of the deployment, which no connection has.
pub(crate) fn words_without(words: &str, token: &SecretString) -> String {
    Redactor::for_token(token).redact(words)
}

fn without(refusal: ConnectError, redactor: impl FnOnce() -> Redactor) -> ConnectError {
    match refusal {
        ConnectError::Refused(words) => ConnectError::Refused(redactor().redact(&words)),
        ConnectError::Field { name, message } => ConnectError::Field { name, message: redactor().redact(&message) },
        other @ (ConnectError::Denied | ConnectError::Unsupported(_) | ConnectError::Unreachable) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_token_is_redacted() {
        let refused = ConnectError::Refused("token a-new-token-of-theirs may not read the account".to_owned());
        let refusal = without_token(refused, &"a-new-token-of-theirs".into());
        assert_eq!(refusal.to_string(), "the account could not be connected: token […] may not read the account");
    }

    /// A method that is missing here would return its default, whatever the adapter returns.
    #[test]
    fn every_method_is_forwarded_to_the_adapter() {
        let questions = include_str!("platform.rs").lines().filter_map(|it| {
            let declared = it.trim_start().trim_start_matches("async ").strip_prefix("fn ")?;
            declared.split(['(', '<']).next()
        });
        let here = include_str!("redaction.rs");
        for question in questions {
            assert!(here.contains(&format!("self.0.{question}(")), "{question} is not passed on");
        }
    }
}
