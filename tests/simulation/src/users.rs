//! People: who writes posts, who owns accounts, and what they were answered.

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
use crate::scenario::{Plot, PostAct};
use crate::world::lock;

/// The endpoint of the user of a run.
pub(crate) const MINE: &str = "https://mine.example/";

/// That of another user, to whom nothing happens.
pub(crate) const THEIRS: &str = "https://theirs.example/";

/// What a writer was answered.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// When the answer came.
    pub(crate) at: DateTime<Utc>,
    pub(crate) post: PostId,
    pub(crate) act: PostAct,
    /// The words that the request gave the post, if any.
    pub(crate) text: Option<String>,
    /// The content of the answer.
    pub(crate) said: Said,
}

/// What a writer was told.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    /// The change was made, and this is the post now.
    Done(Box<Post>),
    /// The post is deleted.
    Deleted,
    /// The change was refused, and nothing changed.
    Refused,
    /// No answer came: the change may have been made or not.
    Nothing,
}

/// The people of a run, and the state that they share.
pub(crate) struct People {
    pub(crate) deployment: Arc<Deployment>,
    pub(crate) user: User,
    pub(crate) accounts: Vec<Account>,
    answers: Mutex<Vec<Answer>>,
    /// Cases in which two requests with one idempotency key made two posts.
    pub(crate) twice_created: Mutex<Vec<String>>,
}

impl People {
    /// Makes one user with connected accounts, before anything goes wrong.
    pub(crate) async fn settle(deployment: Arc<Deployment>, plot: &Plot) -> Arc<Self> {
        let user = User { user_id: deployment.publishing.ids.fresh(), ..domain::testing::a_user() };
        join(&deployment.publishing.store, &user).await;
        let account = |(place, it): (usize, &crate::scenario::AccountPlot)| Account::new(place, it.platform);
        let accounts = plot.accounts.iter().enumerate().map(account).collect();
        let people = Self { deployment, user, accounts, answers: Mutex::default(), twice_created: Mutex::default() };
        if plot.webhooks {
            let store = &people.deployment.publishing;
            let other = people.deployment.publishing.ids.fresh();
            people.deployment.webhooks.settle(store, people.user.user_id, MINE).await;
            people.deployment.webhooks.settle(store, other, THEIRS).await;
        }
        for account in &people.accounts {
            account.connect(&people).await.expect("nothing goes wrong yet");
        }
        Arc::new(people)
    }

    /// Lets all people act, and ends when all have done what they wanted.
    pub(crate) async fn live(self: &Arc<Self>, plot: &Plot) {
        let mut tasks = JoinSet::new();
        for (label, post) in plot.posts.iter().enumerate() {
            tasks.spawn(Writer::new(Arc::clone(self), label, post.clone()).live());
        }
        for (place, account) in plot.accounts.iter().enumerate() {
            tasks.spawn(Owner::new(Arc::clone(self), place, account.clone()).live());
        }
        while let Some(ended) = tasks.join_next().await {
            ended.expect("nobody panics");
        }
    }

    /// The secret of the endpoint there.
    pub(crate) fn secret(&self, url: &str) -> Option<WebhookSecret> {
        self.deployment.webhooks.secret(url)
    }

    /// What writers were answered, in order.
    pub(crate) fn answers(&self) -> Vec<Answer> {
        lock(&self.answers).clone()
    }

    /// An account as it is connected now.
    pub(crate) fn connection(&self, account: &Account) -> Option<Connection> {
        lock(&self.deployment.journal).connections().find(|it| account.is(it)).cloned()
    }
}
