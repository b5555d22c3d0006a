//! Links to accounts and posts at fakes. Adapters build them for the real platforms, so here each adapter is wrapped:
//! what it reports of an account or a post leads to the fake's own page.

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::Profile;
use domain::delivery::{Looks, Published, Resolution, Setback};
use domain::rules::Rules;
use platforms::{
    About, Account, Answers, Approval, AuthorizationRequest, Awaited, Callback, Choice, Choosing, Connect, Credentials,
    Departure, Field, FollowUp, Followed, HandOffRefusal, Job, NoNotice, NotNow, Notice, OurAddresses, Part, Platform,
    Publish, RefreshRefusal, Renewal, Step,
};
use url::Url;

/// The page of one fake.
#[derive(Clone, Debug)]
pub(super) struct FakePage(pub(super) Url);

impl FakePage {
    fn profile(&self, profile: Profile) -> Profile {
        Profile {
            avatar: profile.avatar.map(|_| format!("{}/avatar.svg", self.0)),
            profile_url: profile.profile_url.map(|_| self.0.to_string()),
            ..profile
        }
    }

    fn accounts(&self, accounts: Vec<Account>) -> Vec<Account> {
        accounts.into_iter().map(|it| Account { profile: self.profile(it.profile), ..it }).collect()
    }

    fn published(&self, published: Published) -> Published {
        let mut url = self.0.clone();
        url.query_pairs_mut().append_pair("post", &published.platform_post_id);
        published.seen_at(Some(url.into()))
    }
}

/// A trait of adapters that can be wrapped.
pub(crate) trait AtFake: Part {
    /// The adapter, whose links lead to this page.
    fn at_fake(self: Box<Self>, page: Url) -> Box<Self>;
}

macro_rules! at_fake {
    ($($part:ty),+) => {
        $(impl AtFake for $part {
            fn at_fake(self: Box<Self>, page: Url) -> Box<Self> {
                Box::new(Linked(self, FakePage(page)))
            }
        })+
    };
}

at_fake!(dyn Connect, dyn Platform, dyn Publish);

/// An adapter whose links lead to the page of its fake.
struct Linked<P: ?Sized>(Box<P>, FakePage);

#[async_trait]
impl<P: Platform + ?Sized> Platform for Linked<P> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn renewal(&self) -> Renewal {
        self.0.renewal()
    }

    async fn refresh(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshRefusal> {
        self.0.refresh(credentials, now).await
    }

    fn host(&self, credentials: &Credentials) -> Option<String> {
        self.0.host(credentials)
    }

    async fn about(
        &self,
        profile: &Profile,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<About>, Setback> {
        let about = self.0.about(profile, credentials, now).await?;
        Ok(about.map(|it| About { profile: self.1.profile(it.profile), ..it }))
    }
}

#[async_trait]
impl<P: Connect + ?Sized> Connect for Linked<P> {
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
        Ok(match self.0.authorize(answers, request, now).await? {
            Departure::Arrived(accounts) => Departure::Arrived(self.1.accounts(accounts)),
            other @ (Departure::Page { .. } | Departure::Wait { .. }) => other,
        })
    }

    async fn poll(&self, awaited: &Awaited, now: DateTime<Utc>) -> Result<Approval, HandOffRefusal> {
        Ok(match self.0.poll(awaited, now).await? {
            Approval::Given(accounts) => Approval::Given(self.1.accounts(accounts)),
            Approval::Pending => Approval::Pending,
        })
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, HandOffRefusal> {
        Ok(self.1.accounts(self.0.complete(callback, now).await?))
    }

    async fn choices(&self, asked: &Choosing<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, Setback> {
        self.0.choices(asked, now).await
    }

    fn revokes_all(&self) -> bool {
        self.0.revokes_all()
    }

    async fn notice(&self, message: &str, now: DateTime<Utc>) -> Result<Notice, NoNotice> {
        self.0.notice(message, now).await
    }

    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), Setback> {
        self.0.revoke(credentials, now).await
    }
}

#[async_trait]
impl<P: Publish + ?Sized> Publish for Linked<P> {
    async fn prepare(&self, job: &Job<'_>) -> Result<Step, Setback> {
        self.0.prepare(job).await
    }

    async fn publish(&self, job: &Job<'_>) -> Result<Published, Setback> {
        self.0.publish(job).await.map(|it| self.1.published(it))
    }

    async fn resolve(&self, job: &Job<'_>, since: DateTime<Utc>) -> Resolution {
        match self.0.resolve(job, since).await {
            Resolution::Public(it) => Resolution::Public(self.1.published(it)),
            Resolution::Recognised(it) => Resolution::Recognised(self.1.published(it)),
            other => other,
        }
    }

    fn follow_ups(&self, job: &Job<'_>) -> Vec<&'static str> {
        self.0.follow_ups(job)
    }

    async fn follow_up(&self, job: &Job<'_>, it: &FollowUp<'_>) -> Result<Followed, Setback> {
        self.0.follow_up(job, it).await
    }

    fn recognises(&self) -> bool {
        self.0.recognises()
    }

    fn fetches_files(&self) -> bool {
        self.0.fetches_files()
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

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    /// A method that is missing here would have its default, whatever the adapter does.
    #[test]
    fn every_method_of_an_adapter_is_passed_on() {
        let methods = include_str!("../../../../libs/platforms/src/platform.rs").lines().filter_map(|line| {
            let declared = line.trim_start().trim_start_matches("async ").strip_prefix("fn ")?;
            declared.split(['(', '<']).next()
        });
        let here = include_str!("links.rs");
        for method in methods {
            assert!(here.contains(&format!("self.0.{method}(")), "{method} is not passed on");
        }
    }

    #[test]
    fn links_lead_to_the_page_of_the_fake() {
        let page = FakePage(Url::parse("http://localhost:3000/stand-ins/matrix").unwrap());
        let profile = Profile {
            account_id: "7".to_owned(),
            username: None,
            display_name: None,
            avatar: Some("https://matrix.org/avatar.png".to_owned()),
            profile_url: None,
        };

        let shown = page.profile(profile);
        let published = page.published(Published::new("$a/b?c&d", noon()));

        assert_eq!(shown.avatar.as_deref(), Some("http://localhost:3000/stand-ins/matrix/avatar.svg"));
        assert_eq!(shown.profile_url, None, "an account without a page has none here");
        assert_eq!(published.url.as_deref(), Some("http://localhost:3000/stand-ins/matrix?post=%24a%2Fb%3Fc%26d"));
    }
}
