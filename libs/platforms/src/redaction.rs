//! Removes secrets and post texts from the messages of platforms.
//!
//! A server may repeat the request in an error: the token, and the text of the post. Its messages
//! reach posts, the log, the event bus and pages, so every adapter is called through [`RedactingAdapter`],
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
use crate::app::AppSource;
use crate::choices::{Choice, ChoicesRequest, bounded};
use crate::connect_flow::{
    Approval, AuthorizationRequest, AuthorizeStep, Callback, CallbackUrls, ConnectError, Field, FieldValues,
    PendingApproval, RefreshError,
};
use crate::creator_info::CreatorInfo;
use crate::deauthorization::{DeauthorizationCallback, InvalidCallback};
use crate::dependency_error::DependencyError;
use crate::platform::{Connect, FollowUp, Followed, Platform, Publish, Step};
use crate::publish_request::PublishRequest;
use crate::refresh_policy::RefreshPolicy;

pub(crate) struct RedactingAdapter<A>(pub(crate) A);

#[async_trait]
impl<A: Platform> Platform for RedactingAdapter<A> {
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
        self.0.refresh(credentials, now).await.map_err(|error| match error {
            RefreshError::Gone(message) => RefreshError::Gone(redactor().redact(&message)),
            RefreshError::Unreachable(message) => RefreshError::Unreachable(redactor().redact(&message)),
        })
    }

    async fn account_details(
        &self,
        profile: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let details = self.0.account_details(profile, credentials, now).await;
        details.map_err(|it| it.map_reason(|message| Redactor::for_credentials(credentials).redact(&message)))
    }
}

#[async_trait]
impl<A: Connect> Connect for RedactingAdapter<A> {
    fn rules(&self) -> Rules {
        self.0.rules()
    }

    fn fields(&self) -> &'static [Field] {
        self.0.fields()
    }

    fn app(&self) -> Option<&dyn AppSource> {
        self.0.app()
    }

    fn named_host(&self, values: &FieldValues) -> Option<String> {
        self.0.named_host(values)
    }

    async fn client_document(&self, urls: &CallbackUrls) -> Result<Option<serde_json::Value>, DependencyError> {
        self.0.client_document(urls).await
    }

    async fn authorize(
        &self,
        values: &FieldValues,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        let step = self.0.authorize(values, request, now).await;
        step.map_err(|it| without(it, || Redactor::for_form(values, self.0.fields())))
    }

    async fn poll(&self, pending: &PendingApproval, now: DateTime<Utc>) -> Result<Approval, ConnectError> {
        let polled = self.0.poll(pending, now).await;
        polled.map_err(|it| without(it, || Redactor::for_approval(pending)))
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        let completed = self.0.complete(callback, now).await;
        completed.map_err(|it| without(it, || Redactor::for_callback(callback)))
    }

    async fn choices(&self, request: &ChoicesRequest<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, AttemptError> {
        match self.0.choices(request, now).await {
            Ok(choices) => Ok(bounded(choices)),
            Err(error) => {
                Err(error.map_reason(|message| Redactor::for_credentials(request.credentials).redact(&message)))
            }
        }
    }

    async fn creator_info(
        &self,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<CreatorInfo>, AttemptError> {
        let info = self.0.creator_info(credentials, now).await;
        let info =
            info.map_err(|it| it.map_reason(|message| Redactor::for_credentials(credentials).redact(&message)))?;
        Ok(info.map(CreatorInfo::bounded))
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
        revoked.map_err(|it| it.map_reason(|message| Redactor::for_credentials(credentials).redact(&message)))
    }
}

#[async_trait]
impl<A: Publish> Publish for RedactingAdapter<A> {
    async fn prepare(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        let prepared = self.0.prepare(request).await;
        prepared.map_err(|it| it.map_reason(|message| Redactor::for_request(request).redact(&message)))
    }

    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        let published = self.0.publish(request).await;
        published.map_err(|it| it.map_reason(|message| Redactor::for_request(request).redact(&message)))
    }

    async fn look_up(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        self.0.look_up(request, since).await.map_reason(|message| Redactor::for_request(request).redact(&message))
    }

    fn follow_ups(&self, request: &PublishRequest<'_>) -> Vec<&'static str> {
        self.0.follow_ups(request)
    }

    async fn follow_up(
        &self,
        request: &PublishRequest<'_>,
        follow_up: &FollowUp<'_>,
    ) -> Result<Followed, AttemptError> {
        let followed = self.0.follow_up(request, follow_up).await;
        followed.map_err(|follow_up| follow_up.map_reason(|message| Redactor::for_request(request).redact(&message)))
    }

    fn fetches_files(&self) -> bool {
        self.0.fetches_files()
    }

    fn recognizes_own_posts(&self) -> bool {
        self.0.recognizes_own_posts()
    }

    fn settle_time(&self) -> TimeDelta {
        self.0.settle_time()
    }

    fn look_up_policy(&self) -> LookUpPolicy {
        self.0.look_up_policy()
    }
}

/// Redacts the error of a call with a new token, which only the adapter knows yet.
pub(crate) fn without_token(error: impl Into<ConnectError>, token: &SecretString) -> ConnectError {
    without(error.into(), || Redactor::for_token(token))
}

/// Redacts a message about a call with a token of the deployment, which no connection has.
pub(crate) fn redact_message(message: &str, token: &SecretString) -> String {
    Redactor::for_token(token).redact(message)
}

fn without(error: ConnectError, redactor: impl FnOnce() -> Redactor) -> ConnectError {
    match error {
        ConnectError::Refused(reason) => ConnectError::Refused(redactor().redact(&reason)),
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
        let error = without_token(refused, &"a-new-token-of-theirs".into());
        assert_eq!(error.to_string(), "the account could not be connected: token […] may not read the account");
    }

    /// A method that is missing here would return its default, whatever the adapter returns.
    #[test]
    fn every_method_is_forwarded_to_the_adapter() {
        let methods = include_str!("platform.rs").lines().filter_map(|it| {
            let declared = it.trim_start().trim_start_matches("async ").strip_prefix("fn ")?;
            declared.split(['(', '<']).next()
        });
        let source = include_str!("redaction.rs");
        for method in methods {
            assert!(source.contains(&format!("self.0.{method}(")), "{method} is not passed on");
        }
    }
}
