//! Scripted platforms.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use domain::rules::{PostRule, Rule, Rules};
use platforms::{
    Account, Approval, AuthorizationRequest, AuthorizeStep, Callback, CallbackUrls, Choice, ChoicesRequest, Connect,
    ConnectError, CreatorInfo, Credentials, DeauthorizationCallback, DependencyError, Field, FieldValues, Instructions,
    InvalidCallback, PendingApproval, Platform, RefreshError, RefreshPolicy,
};
use secrecy::ExposeSecret;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum PlatformBehavior {
    #[default]
    Willing,
    Broken,
}

#[derive(Default)]
pub(crate) struct FakePlatforms {
    behavior: Mutex<PlatformBehavior>,
    asked: AtomicUsize,
    completed: AtomicUsize,
    revoked: Mutex<Vec<String>>,
    memories: Mutex<Vec<String>>,
    arrivals: Mutex<Vec<String>>,
    /// The user's decision in the app; `None` before it is made.
    approval: Mutex<Option<Result<String, ConnectError>>>,
    looked: AtomicUsize,
}

impl FakePlatforms {
    pub(crate) fn set_behavior(&self, behavior: PlatformBehavior) {
        *self.behavior.lock().unwrap() = behavior;
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    pub(crate) fn completed(&self) -> usize {
        self.completed.load(Ordering::SeqCst)
    }

    pub(crate) fn revoked(&self) -> Vec<String> {
        self.revoked.lock().unwrap().clone()
    }

    /// In order.
    pub(crate) fn memories(&self) -> Vec<String> {
        self.memories.lock().unwrap().clone()
    }

    /// The URLs at which callbacks arrived.
    pub(crate) fn arrivals(&self) -> Vec<String> {
        self.arrivals.lock().unwrap().clone()
    }

    /// The user approves these accounts in the app, or denies.
    pub(crate) fn approve(&self, approval: Result<&str, ConnectError>) {
        *self.approval.lock().unwrap() = Some(approval.map(str::to_owned));
    }

    pub(crate) fn polls(&self) -> usize {
        self.looked.load(Ordering::SeqCst)
    }

    fn is_broken(&self) -> bool {
        *self.behavior.lock().unwrap() == PlatformBehavior::Broken
    }
}

/// A test platform. A code lists its accounts; a suffix `~…` gives an account another token.
pub(crate) struct TestPlatform {
    pub(super) name: &'static str,
    pub(super) fake: Arc<FakePlatforms>,
}

impl TestPlatform {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, fake: Arc::default() }
    }
}

const SERVER: Field = Field::new("server", "Your server", "good.example");

const PASSWORD: Field = Field {
    secret: true,
    optional: Some("Leave it empty to be asked by the platform."),
    ..Field::new("password", "Password", "abcd")
};

#[async_trait]
impl Platform for TestPlatform {
    fn name(&self) -> &'static str {
        self.name
    }

    /// Accounts whose token contains `named` have a host that the user named.
    fn host(&self, credentials: &Credentials) -> Option<String> {
        credentials.access_token.expose_secret().ends_with("~named").then(|| "named.example".to_owned())
    }

    fn refresh_policy(&self) -> RefreshPolicy {
        RefreshPolicy::Rotating
    }

    async fn refresh(&self, _: &Credentials, _: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        Err(RefreshError::Gone("it cannot be refreshed".to_owned()))
    }
}

#[async_trait]
impl Connect for TestPlatform {
    fn rules(&self) -> Rules {
        domain::testing::rules()
    }

    fn fields(&self) -> &'static [Field] {
        if self.name == "asking" { &[SERVER, PASSWORD] } else { &[] }
    }

    fn named_host(&self, values: &FieldValues) -> Option<String> {
        values.get("server").map(|it| it.expose_secret().to_owned()).filter(|it| !it.is_empty())
    }

    async fn authorize(
        &self,
        values: &FieldValues,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        self.fake.asked.fetch_add(1, Ordering::SeqCst);
        assert_eq!(request.urls, CallbackUrls::new("https://social.example", self.name));
        if self.fake.is_broken() {
            return Err(ConnectError::Unreachable);
        }
        if let Some(accounts) = values.get("password").map(ExposeSecret::expose_secret).filter(|it| !it.is_empty()) {
            return Ok(AuthorizeStep::Accounts(accounts.split(',').map(|id| account(id, now)).collect()));
        }
        let server = values.get("server").map(|it| it.expose_secret().to_owned());
        if self.name == "elsewhere" || server.as_deref() == Some("app.example") {
            let instructions = Instructions {
                text: "Send the code to our robot.".to_owned(),
                url: Some("https://elsewhere.example/robot".to_owned()),
                code: Some("WXYZ".to_owned()),
            };
            return Ok(AuthorizeStep::WaitForApproval { instructions, memory: Some("device".into()) });
        }
        if server.as_ref().is_some_and(|it| it != "good.example") {
            return Err(ConnectError::Field { name: "server", message: "there is no such server".to_owned() });
        }
        let host = server.clone().unwrap_or_else(|| "plain.example".to_owned());
        let url = format!("https://{host}/authorize?state={}", request.state.expose_secret());
        Ok(AuthorizeStep::Redirect { url, memory: server.map(Into::into) })
    }

    /// `signed:` plus the grant is signed now, `before:` an hour ago.
    async fn read_deauthorization(
        &self,
        message: &str,
        now: DateTime<Utc>,
    ) -> Result<DeauthorizationCallback, InvalidCallback> {
        if self.name != "plain" {
            return Err(InvalidCallback::NoneHere);
        }
        let (how, grant) = message.split_once(':').ok_or(InvalidCallback::Forged)?;
        let at = match how {
            "signed" => now,
            "before" => now - TimeDelta::hours(1),
            _ => return Err(InvalidCallback::Forged),
        };
        Ok(DeauthorizationCallback { grant: grant.to_owned(), at })
    }

    async fn client_document(&self, here: &CallbackUrls) -> Result<Option<serde_json::Value>, DependencyError> {
        Ok((self.name == "asking").then(|| serde_json::json!({"client_id": here.client_document})))
    }

    async fn poll(&self, pending_approval: &PendingApproval, now: DateTime<Utc>) -> Result<Approval, ConnectError> {
        assert_eq!(pending_approval.adapter_state.as_ref().map(ExposeSecret::expose_secret), Some("device"));
        self.fake.looked.fetch_add(1, Ordering::SeqCst);
        if self.fake.is_broken() {
            return Err(ConnectError::Unreachable);
        }
        match self.fake.approval.lock().unwrap().clone() {
            None => Ok(Approval::Pending),
            Some(Ok(accounts)) => Ok(Approval::Approved(accounts.split(',').map(|id| account(id, now)).collect())),
            Some(Err(error)) => Err(error),
        }
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        assert!(!callback.verifier.expose_secret().is_empty());
        self.fake.completed.fetch_add(1, Ordering::SeqCst);
        self.fake.arrivals.lock().unwrap().push(callback.arrived_at.clone());
        if let Some(memory) = &callback.adapter_state {
            self.fake.memories.lock().unwrap().push(memory.expose_secret().to_owned());
        }
        if self.fake.is_broken() {
            return Err(ConnectError::Unreachable);
        }
        let Some(code) = callback.query.get("code") else { return Err(ConnectError::Denied) };
        Ok(code.split(',').map(|id| account(id, now)).collect())
    }

    async fn creator_info(&self, _: &Credentials, _: DateTime<Utc>) -> Result<Option<CreatorInfo>, AttemptError> {
        if self.fake.is_broken() {
            return Err(AttemptError::RetryLater { retry_at: None, reason: "too many posts.".to_owned() });
        }
        let choice = |it: &str| Choice { value: it.to_owned(), label: it.to_lowercase() };
        Ok(Some(CreatorInfo {
            name: Some("Ada <Keeper>".to_owned()),
            avatar: None,
            visibilities: vec![choice("EVERYONE"), choice("SELF_ONLY")],
            turned_off: vec!["duet"],
            max_video_duration: Some(60),
        }))
    }

    async fn choices(&self, asked: &ChoicesRequest<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, AttemptError> {
        assert_eq!(asked.option, "board");
        if self.fake.is_broken() {
            return Err(AttemptError::RetryLater {
                retry_at: Some(now + TimeDelta::seconds(45)),
                reason: "broken".to_owned(),
            });
        }
        let choice = |value: &str, label: String| Choice { value: value.to_owned(), label };
        let token = asked.credentials.access_token.expose_secret();
        Ok(vec![choice("b1", format!("Tides of {token}")), choice("b2", "Weather".to_owned())])
    }

    async fn revoke(&self, credentials: &Credentials, _: DateTime<Utc>) -> Result<(), AttemptError> {
        if self.fake.is_broken() {
            return Err(AttemptError::RetryLater { retry_at: None, reason: "broken".to_owned() });
        }
        self.fake.revoked.lock().unwrap().push(credentials.access_token.expose_secret().to_owned());
        Ok(())
    }
}

/// Parses `7`, `7~anything` or, for a grant of several accounts, `7@grant`. Only an account with
/// `~refreshable` has a refresh token, and only one with `~consent` needs a consent for each post.
pub(crate) fn account(code: &str, now: DateTime<Utc>) -> Account {
    let id = code.split(['~', '@']).next().unwrap_or_default();
    let mut rules = domain::testing::rules();
    if code.ends_with("~consent") {
        rules.rules.push(Rule::OfPost(PostRule::ConsentOptions { options: vec!["visibility".to_owned()] }));
    }
    Account {
        profile: AccountInfo {
            account_id: id.to_owned(),
            username: Some(format!("user{id}")),
            display_name: Some(format!("User {id}")),
            avatar: None,
            profile_url: None,
        },
        scopes: vec!["publish".to_owned()],
        rules,
        grant: code.split_once('@').map(|(_, it)| it.to_owned()),
        credentials: Credentials {
            expires_at: Some(now + TimeDelta::hours(1)),
            refresh_token: code.ends_with("~refreshable").then(|| "refresh".into()),
            ..Credentials::new(format!("access-{code}").into())
        },
    }
}
