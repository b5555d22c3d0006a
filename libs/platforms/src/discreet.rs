//! What platforms say, without what they were told in confidence.
//!
//! A server may repeat the request in its refusal: the token with which we act
//! for an account, and the text of the post. Its words go on to the post, to the
//! log, to the bus and to pages, so every adapter is asked through [`Discreet`],
//! which takes both out of them.

mod unsaid;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::Profile;
use domain::delivery::{Looks, Published, Resolution, Setback};
use domain::rules::Rules;
use secrecy::SecretString;

use self::unsaid::Unsaid;
use crate::account::{About, Account, Credentials};
use crate::choices::{Choice, Choosing, bounded};
use crate::handoff::{
    Answers, Approval, AuthorizationRequest, Awaited, Callback, Departure, Field, HandOffRefusal, OurAddresses,
    RefreshRefusal,
};
use crate::job::Job;
use crate::not_now::NotNow;
use crate::notice::{NoNotice, Notice};
use crate::platform::{Connect, FollowUp, Followed, Platform, Publish, Step};
use crate::renewal::Renewal;

/// An adapter whose words can be passed on.
pub(crate) struct Discreet<A>(pub(crate) A);

#[async_trait]
impl<A: Platform> Platform for Discreet<A> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn renewal(&self) -> Renewal {
        self.0.renewal()
    }

    fn host(&self, credentials: &Credentials) -> Option<String> {
        self.0.host(credentials)
    }

    async fn refresh(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshRefusal> {
        let unsaid = || Unsaid::of(credentials);
        self.0.refresh(credentials, now).await.map_err(|refusal| match refusal {
            RefreshRefusal::Gone(words) => RefreshRefusal::Gone(unsaid().out_of(&words)),
            RefreshRefusal::Unreachable(words) => RefreshRefusal::Unreachable(unsaid().out_of(&words)),
        })
    }

    async fn about(
        &self,
        profile: &Profile,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<About>, Setback> {
        let told = self.0.about(profile, credentials, now).await;
        told.map_err(|it| it.in_words(|words| Unsaid::of(credentials).out_of(&words)))
    }
}

#[async_trait]
impl<A: Connect> Connect for Discreet<A> {
    fn rules(&self) -> Rules {
        self.0.rules()
    }

    fn fields(&self) -> &'static [Field] {
        self.0.fields()
    }

    fn named_host(&self, answers: &Answers) -> Option<String> {
        self.0.named_host(answers)
    }

    async fn client_document(&self, here: &OurAddresses) -> Result<Option<serde_json::Value>, NotNow> {
        self.0.client_document(here).await
    }

    async fn authorize(
        &self,
        answers: &Answers,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<Departure, HandOffRefusal> {
        let departed = self.0.authorize(answers, request, now).await;
        departed.map_err(|it| without(it, || Unsaid::typed(answers, self.0.fields())))
    }

    async fn poll(&self, awaited: &Awaited, now: DateTime<Utc>) -> Result<Approval, HandOffRefusal> {
        let polled = self.0.poll(awaited, now).await;
        polled.map_err(|it| without(it, || Unsaid::of_awaited(awaited)))
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, HandOffRefusal> {
        let completed = self.0.complete(callback, now).await;
        completed.map_err(|it| without(it, || Unsaid::of_callback(callback)))
    }

    async fn choices(&self, asked: &Choosing<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, Setback> {
        match self.0.choices(asked, now).await {
            Ok(choices) => Ok(bounded(choices)),
            Err(setback) => Err(setback.in_words(|words| Unsaid::of(asked.credentials).out_of(&words))),
        }
    }

    fn revokes_all(&self) -> bool {
        self.0.revokes_all()
    }

    async fn notice(&self, message: &str, now: DateTime<Utc>) -> Result<Notice, NoNotice> {
        self.0.notice(message, now).await
    }

    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), Setback> {
        let revoked = self.0.revoke(credentials, now).await;
        revoked.map_err(|it| it.in_words(|words| Unsaid::of(credentials).out_of(&words)))
    }
}

#[async_trait]
impl<A: Publish> Publish for Discreet<A> {
    async fn prepare(&self, job: &Job<'_>) -> Result<Step, Setback> {
        let prepared = self.0.prepare(job).await;
        prepared.map_err(|it| it.in_words(|words| Unsaid::of_job(job).out_of(&words)))
    }

    async fn publish(&self, job: &Job<'_>) -> Result<Published, Setback> {
        let published = self.0.publish(job).await;
        published.map_err(|it| it.in_words(|words| Unsaid::of_job(job).out_of(&words)))
    }

    async fn resolve(&self, job: &Job<'_>, since: DateTime<Utc>) -> Resolution {
        self.0.resolve(job, since).await.in_words(|words| Unsaid::of_job(job).out_of(&words))
    }

    fn follow_ups(&self, job: &Job<'_>) -> Vec<&'static str> {
        self.0.follow_ups(job)
    }

    async fn follow_up(&self, job: &Job<'_>, it: &FollowUp<'_>) -> Result<Followed, Setback> {
        let followed = self.0.follow_up(job, it).await;
        followed.map_err(|it| it.in_words(|words| Unsaid::of_job(job).out_of(&words)))
    }

    fn fetches_files(&self) -> bool {
        self.0.fetches_files()
    }

    fn recognises(&self) -> bool {
        self.0.recognises()
    }

    fn is_confirmed_later(&self, job: &Job<'_>) -> bool {
        self.0.is_confirmed_later(job)
    }

    fn settles(&self) -> TimeDelta {
        self.0.settles()
    }

    fn looks(&self) -> Looks {
        self.0.looks()
    }
}

/// A refusal of what was asked with a token that was given just now: nobody but
/// the adapter knows it yet.
pub(crate) fn without_token(refusal: impl Into<HandOffRefusal>, token: &SecretString) -> HandOffRefusal {
    without(refusal.into(), || Unsaid::token(token))
}

/// Words about a call that was made with a token of the deployment, which no
/// connection has.
pub(crate) fn words_without(words: &str, token: &SecretString) -> String {
    Unsaid::token(token).out_of(words)
}

fn without(refusal: HandOffRefusal, unsaid: impl FnOnce() -> Unsaid) -> HandOffRefusal {
    match refusal {
        HandOffRefusal::Refused(words) => HandOffRefusal::Refused(unsaid().out_of(&words)),
        HandOffRefusal::Field { name, message } => HandOffRefusal::Field { name, message: unsaid().out_of(&message) },
        other @ (HandOffRefusal::Denied | HandOffRefusal::NotFromHere(_) | HandOffRefusal::Unreachable) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_was_given_just_now_is_not_repeated() {
        let refused = HandOffRefusal::Refused("token a-new-token-of-theirs may not read the account".to_owned());
        let refusal = without_token(refused, &"a-new-token-of-theirs".into());
        assert_eq!(refusal.to_string(), "the platform refused: token […] may not read the account");
    }

    /// One that is forgotten here would be answered with its default, whatever the
    /// adapter says.
    #[test]
    fn every_question_is_passed_on_to_the_adapter() {
        let questions = include_str!("platform.rs").lines().filter_map(|it| {
            let declared = it.trim_start().trim_start_matches("async ").strip_prefix("fn ")?;
            declared.split(['(', '<']).next()
        });
        let here = include_str!("discreet.rs");
        for question in questions {
            assert!(here.contains(&format!("self.0.{question}(")), "{question} is not passed on");
        }
    }
}
