//! The pages that show posts.

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::accounts::Account;
use super::fact::Post;
use super::ledger::Ledger;
use super::{Sandbox, pages, timestamp};

const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "sandbox/timeline.html")]
struct TimelinePage {
    /// `None` for the timeline.
    account: Option<Account>,
    accounts: Vec<Account>,
    posts: Vec<PostView>,
    older: Option<usize>,
    is_newest: bool,
}

#[derive(Template)]
#[template(path = "sandbox/post.html")]
struct PostPage {
    post: PostView,
}

struct PostView {
    id: usize,
    account: Account,
    text: String,
    reply_to: Option<usize>,
    media: Vec<MediumView>,
    comments: Vec<CommentView>,
    at: DateTime<Utc>,
}

struct CommentView {
    account: Account,
    text: String,
}

struct MediumView {
    id: String,
    is_video: bool,
    is_document: bool,
    alt_text: Option<String>,
}

impl PostView {
    fn new(ledger: &Ledger, id: usize, post: &Post) -> Self {
        let media = post.media.iter().filter_map(|id| {
            let mime_type = &ledger.medium(id)?.mime_type;
            Some(MediumView {
                id: id.clone(),
                is_video: mime_type.starts_with("video/"),
                is_document: mime_type == "application/pdf",
                alt_text: post.alt_texts.get(id).cloned(),
            })
        });
        let comments = ledger.comments().iter().filter(|it| it.post == id);
        let comments = comments.map(|it| CommentView { account: it.account, text: it.text.clone() });
        Self {
            id,
            account: post.account,
            text: post.text.clone(),
            reply_to: post.reply_to,
            media: media.collect(),
            comments: comments.collect(),
            at: post.at,
        }
    }

    fn machine_time(&self) -> String {
        timestamp(self.at)
    }

    fn time(&self) -> String {
        self.at.format("%-d %B %Y, %H:%M:%S UTC").to_string()
    }
}

#[derive(Deserialize)]
pub(super) struct Window {
    /// Only posts older than this one.
    before: Option<usize>,
}

/// Newest first.
pub(super) async fn show_timeline(
    State(sandbox): State<Sandbox>,
    window: Result<Query<Window>, QueryRejection>,
) -> Response {
    show_posts(&sandbox, None, window)
}

pub(super) async fn show_profile(
    State(sandbox): State<Sandbox>,
    Path(handle): Path<String>,
    window: Result<Query<Window>, QueryRejection>,
) -> Response {
    match Account::find(&handle) {
        Some(account) => show_posts(&sandbox, Some(account), window),
        None => pages::not_found(),
    }
}

fn show_posts(sandbox: &Sandbox, account: Option<Account>, window: Result<Query<Window>, QueryRejection>) -> Response {
    // An invalid window shows the first page.
    let before = window.ok().and_then(|Query(it)| it.before);
    let mut posts = newest_posts(&sandbox.ledger(), account, before);
    let older = (PAGE < posts.len()).then(|| posts[PAGE - 1].id);
    posts.truncate(PAGE);
    let accounts = Account::all().collect();
    pages::show(&TimelinePage { account, accounts, posts, older, is_newest: before.is_none() })
}

/// One post more than a page has, which shows whether another page follows.
fn newest_posts(ledger: &Ledger, account: Option<Account>, before: Option<usize>) -> Vec<PostView> {
    let end = before.map_or(usize::MAX, |it| it.saturating_sub(1)).min(ledger.posts().len());
    let posts = ledger.posts()[..end].iter().enumerate().rev();
    posts
        .filter(|(_, post)| account.is_none_or(|it| it == post.account))
        .take(PAGE + 1)
        .map(|(index, post)| PostView::new(ledger, index + 1, post))
        .collect()
}

pub(super) async fn show_post(State(sandbox): State<Sandbox>, Path(id): Path<String>) -> Response {
    let post = id.parse().ok().and_then(|id| {
        let ledger = sandbox.ledger();
        ledger.post(id).map(|post| PostView::new(&ledger, id, post))
    });
    match post {
        Some(post) => pages::show(&PostPage { post }),
        None => pages::not_found(),
    }
}
