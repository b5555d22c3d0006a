//! Users: writers of posts and owners of accounts, and the responses that they received.

mod owner;
mod writer;

use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use domain::connection::Connection;
use domain::id::PostId;
use domain::post::Post;
use domain::user::User;
use domain::webhook::WebhookSecret;
use storage::testing::join;
use tokio::task::JoinSet;

pub(crate) use self::owner::Account;
use self::owner::Owner;
use self::writer::Writer;
use crate::deployment::Deployment;
use crate::scenario::{PostAction, UserPlan};
use crate::world::lock;

pub(crate) const MINE: &str = "https://mine.example/";

/// A user without events.
pub(crate) const THEIRS: &str = "https://theirs.example/";

#[derive(Clone, Debug)]
pub(crate) struct WriterResponse {
    pub(crate) at: DateTime<Utc>,
    pub(crate) post: PostId,
    pub(crate) act: PostAction,
    /// `None` if the request gave the post no text.
    pub(crate) text: Option<String>,
    pub(crate) content: ResponseContent,
}

#[derive(Clone, Debug)]
pub(crate) enum ResponseContent {
    Done(Box<Post>),
    Deleted,
    Refused,
    /// The outcome of the change is unknown.
    Nothing,
}

pub(crate) struct People {
    pub(crate) deployment: Arc<Deployment>,
    pub(crate) user: User,
    pub(crate) accounts: Vec<Account>,
    answers: Mutex<Vec<WriterResponse>>,
    /// Cases in which two requests with one idempotency key created two posts.
    pub(crate) twice_created: Mutex<Vec<String>>,
}

impl People {
    /// Before faults begin.
    pub(crate) async fn settle(deployment: Arc<Deployment>, plan: &UserPlan) -> Arc<Self> {
        let user = User { user_id: deployment.services.scheduling.ids.fresh(), ..domain::testing::a_user() };
        join(&deployment.services.scheduling.store, &user).await;
        let account = |(index, it): (usize, &crate::scenario::AccountPlan)| Account::new(index, it.platform);
        let accounts = plan.accounts.iter().enumerate().map(account).collect();
        let users = Self { deployment, user, accounts, answers: Mutex::default(), twice_created: Mutex::default() };
        if plan.webhooks {
            let services = &users.deployment.services;
            let other = users.deployment.services.scheduling.ids.fresh();
            users.deployment.webhooks.settle(services, users.user.user_id, MINE).await;
            users.deployment.webhooks.settle(services, other, THEIRS).await;
        }
        for account in &users.accounts {
            account.connect(&users).await.expect("nothing goes wrong yet");
        }
        Arc::new(users)
    }

    pub(crate) async fn live(self: &Arc<Self>, plan: &UserPlan) {
        let mut tasks = JoinSet::new();
        for (label, post) in plan.posts.iter().enumerate() {
            tasks.spawn(Writer::new(Arc::clone(self), label, post.clone()).live());
        }
        for (index, account) in plan.accounts.iter().enumerate() {
            tasks.spawn(Owner::new(Arc::clone(self), index, account.clone()).live());
        }
        while let Some(ended) = tasks.join_next().await {
            ended.expect("no task panics");
        }
    }

    pub(crate) fn secret(&self, url: &str) -> Option<WebhookSecret> {
        self.deployment.webhooks.secret(url)
    }

    pub(crate) fn responses(&self) -> Vec<WriterResponse> {
        lock(&self.answers).clone()
    }

    pub(crate) fn connection(&self, account: &Account) -> Option<Connection> {
        lock(&self.deployment.journal).connections().find(|it| account.is(it)).cloned()
    }
}
