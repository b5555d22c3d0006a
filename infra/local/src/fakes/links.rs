//! Links to accounts and posts at fakes. Adapters build links for the real platforms, so each
//! adapter is wrapped: the links that it returns lead to the fake's own page.

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{AttemptError, LookUpPolicy, Published, Resolution};
use domain::rules::Rules;
use platforms::{
    Account, AccountDetails, AppSource, Approval, AuthorizationRequest, AuthorizeStep, Callback, CallbackUrls,
    Capability, Choice, ChoicesRequest, Connect, ConnectError, CreatorInfo, Credentials, DeauthorizationCallback,
    DependencyError, Field, FieldValues, FollowUp, Followed, InvalidCallback, PendingApproval, Platform, Publish,
    PublishRequest, RefreshError, RefreshPolicy, Step,
};
use url::Url;

#[derive(Clone, Debug)]
pub(super) struct FakePage(pub(super) Url);

impl FakePage {
    fn avatar(&self) -> String {
        format!("{}/avatar.svg", self.0)
    }

    fn profile(&self, profile: AccountInfo) -> AccountInfo {
        AccountInfo {
            avatar: profile.avatar.map(|_| self.avatar()),
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
        published.with_url(Some(url.into()))
    }
}

pub(crate) trait LinksToFake: Capability {
    fn at_fake(self: Box<Self>, page: Url) -> Box<Self>;
}

macro_rules! at_fake {
    ($($part:ty),+) => {
        $(impl LinksToFake for $part {
            fn at_fake(self: Box<Self>, page: Url) -> Box<Self> {
                Box::new(WithFakeLinks(self, FakePage(page)))
            }
        })+
    };
}

at_fake!(dyn Connect, dyn Platform, dyn Publish);

struct WithFakeLinks<P: ?Sized>(Box<P>, FakePage);

#[async_trait]
impl<P: Platform + ?Sized> Platform for WithFakeLinks<P> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn refresh_policy(&self) -> RefreshPolicy {
        self.0.refresh_policy()
    }

    async fn refresh(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        self.0.refresh(credentials, now).await
    }

    fn host(&self, credentials: &Credentials) -> Option<String> {
        self.0.host(credentials)
    }

    async fn account_details(
        &self,
        profile: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let about = self.0.account_details(profile, credentials, now).await?;
        Ok(about.map(|it| AccountDetails { profile: self.1.profile(it.profile), ..it }))
    }
}

#[async_trait]
impl<P: Connect + ?Sized> Connect for WithFakeLinks<P> {
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

    async fn client_document(&self, here: &CallbackUrls) -> Result<Option<serde_json::Value>, DependencyError> {
        self.0.client_document(here).await
    }

    async fn authorize(
        &self,
        values: &FieldValues,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        Ok(match self.0.authorize(values, request, now).await? {
            AuthorizeStep::Accounts(accounts) => AuthorizeStep::Accounts(self.1.accounts(accounts)),
            other @ (AuthorizeStep::Redirect { .. } | AuthorizeStep::WaitForApproval { .. }) => other,
        })
    }

    async fn poll(&self, awaited: &PendingApproval, now: DateTime<Utc>) -> Result<Approval, ConnectError> {
        Ok(match self.0.poll(awaited, now).await? {
            Approval::Approved(accounts) => Approval::Approved(self.1.accounts(accounts)),
            Approval::Pending => Approval::Pending,
        })
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        Ok(self.1.accounts(self.0.complete(callback, now).await?))
    }

    async fn choices(&self, asked: &ChoicesRequest<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, AttemptError> {
        self.0.choices(asked, now).await
    }

    async fn creator_info(
        &self,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<CreatorInfo>, AttemptError> {
        let info = self.0.creator_info(credentials, now).await?;
        Ok(info.map(|it| CreatorInfo { avatar: it.avatar.map(|_| self.1.avatar()), ..it }))
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
        self.0.revoke(credentials, now).await
    }
}

#[async_trait]
impl<P: Publish + ?Sized> Publish for WithFakeLinks<P> {
    async fn prepare(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        self.0.prepare(request).await
    }

    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        self.0.publish(request).await.map(|it| self.1.published(it))
    }

    async fn look_up(&self, request: &PublishRequest<'_>, since: DateTime<Utc>) -> Resolution {
        match self.0.look_up(request, since).await {
            Resolution::Found(it) => Resolution::Found(self.1.published(it)),
            Resolution::Candidate(it) => Resolution::Candidate(self.1.published(it)),
            other => other,
        }
    }

    fn follow_ups(&self, request: &PublishRequest<'_>) -> Vec<&'static str> {
        self.0.follow_ups(request)
    }

    async fn follow_up(&self, request: &PublishRequest<'_>, it: &FollowUp<'_>) -> Result<Followed, AttemptError> {
        self.0.follow_up(request, it).await
    }

    fn recognizes_own_posts(&self) -> bool {
        self.0.recognizes_own_posts()
    }

    fn fetches_files(&self) -> bool {
        self.0.fetches_files()
    }

    fn settle_time(&self) -> TimeDelta {
        self.0.settle_time()
    }

    fn look_up_policy(&self) -> LookUpPolicy {
        self.0.look_up_policy()
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;

    use super::*;

    /// A missing method would have its default, whatever the adapter does.
    #[test]
    fn every_adapter_method_is_forwarded() {
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
        let page = FakePage(Url::parse("http://localhost:3000/fakes/matrix").unwrap());
        let profile = AccountInfo {
            account_id: "7".to_owned(),
            username: None,
            display_name: None,
            avatar: Some("https://matrix.org/avatar.png".to_owned()),
            profile_url: None,
        };

        let shown = page.profile(profile);
        let published = page.published(Published::new("$a/b?c&d", noon()));

        assert_eq!(shown.avatar.as_deref(), Some("http://localhost:3000/fakes/matrix/avatar.svg"));
        assert_eq!(shown.profile_url, None, "an account without a page has none here");
        assert_eq!(published.url.as_deref(), Some("http://localhost:3000/fakes/matrix?post=%24a%2Fb%3Fc%26d"));
    }
}
