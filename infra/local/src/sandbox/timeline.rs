//! The pages that show posts.

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::accounts::Account;
use super::fact::Post;
use super::sandbox_state::SandboxState;
use super::{Sandbox, pages, timestamp};

/// Posts per page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "sandbox/timeline.html")]
struct TimelinePage {
    /// The account of a profile page; `None` for the timeline.
    account: Option<Account>,
    accounts: Vec<Account>,
    posts: Vec<PostView>,
    /// The start of the next page.
    older: Option<usize>,
    is_newest: bool,
}

#[derive(Template)]
#[template(path = "sandbox/post.html")]
struct PostPage {
    post: PostView,
}

/// A post on the pages.
struct PostView {
    id: usize,
    account: Account,
    text: String,
    /// The id of the post that it replies to.
    reply_to: Option<usize>,
    media: Vec<MediumView>,
    comments: Vec<CommentView>,
    at: DateTime<Utc>,
}

/// A comment under a post.
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
    fn new(state: &SandboxState, id: usize, post: &Post) -> Self {
        let media = post.media.iter().filter_map(|id| {
            let mime_type = &state.medium(id)?.mime_type;
            Some(MediumView {
                id: id.clone(),
                is_video: mime_type.starts_with("video/"),
                is_document: mime_type == "application/pdf",
                alt_text: post.alt_texts.get(id).cloned(),
            })
        });
        let comments = state.comments().iter().filter(|it| it.post == id);
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

/// The start of a page of posts.
#[derive(Deserialize)]
pub(super) struct Window {
    /// Only posts older than this one.
    before: Option<usize>,
}

/// The posts of all accounts, newest first.
pub(super) async fn show_timeline(
    State(sandbox): State<Sandbox>,
    window: Result<Query<Window>, QueryRejection>,
) -> Response {
    show_posts(&sandbox, None, window)
}

/// The posts of one account.
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
    let mut posts = newest_posts(sandbox.ledger().state(), account, before);
    let older = (PAGE < posts.len()).then(|| posts[PAGE - 1].id);
    posts.truncate(PAGE);
    let accounts = Account::all().collect();
    pages::show(&TimelinePage { account, accounts, posts, older, is_newest: before.is_none() })
}

/// One post more than a page has, which shows whether another page follows.
fn newest_posts(state: &SandboxState, account: Option<Account>, before: Option<usize>) -> Vec<PostView> {
    let end = before.map_or(usize::MAX, |it| it.saturating_sub(1)).min(state.posts().len());
    let posts = state.posts()[..end].iter().enumerate().rev();
    posts
        .filter(|(_, post)| account.is_none_or(|it| it == post.account))
        .take(PAGE + 1)
        .map(|(index, post)| PostView::new(state, index + 1, post))
        .collect()
}

pub(super) async fn show_post(State(sandbox): State<Sandbox>, Path(id): Path<String>) -> Response {
    let post = id.parse().ok().and_then(|id| {
        let ledger = sandbox.ledger();
        let state = ledger.state();
        state.post(id).map(|post| PostView::new(state, id, post))
    });
    match post {
        Some(post) => pages::show(&PostPage { post }),
        None => pages::not_found(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::SandboxHarness;

    #[tokio::test]
    async fn the_timeline_shows_the_newest_post_first_with_its_picture() {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;
        let id = harness.upload(&token, "image/png", b"png".to_vec()).await.string("id");
        harness.post(&token, json!({"text": "older"})).await;
        harness.post(&token, json!({"text": "newer\nline", "media_ids": [id]})).await;

        let page = harness.get("/sandbox").await;

        let text = page.text();
        assert!(text.find("newer\nline").unwrap() < text.find("older").unwrap(), "{text}");
        assert!(text.contains(&format!("<img src=\"/sandbox/media/{id}\"")), "{text}");
        assert!(text.contains("4 October 2024, 00:00:00 UTC"), "{text}");
    }

    #[tokio::test]
    async fn post_text_is_escaped() {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;
        harness.post(&token, json!({"text": "<script>alert(1)</script>"})).await;

        for path in ["/sandbox", "/sandbox/posts/1", "/sandbox/@meadow"] {
            let page = harness.get(path).await;
            assert_eq!(page.status, 200, "{path}");
            assert!(!page.text().contains("<script"), "{path}");
            assert!(page.text().contains("alert(1)"), "{path}");
            assert!(page.header("content-security-policy").starts_with("default-src 'none'"));
        }
    }

    #[tokio::test]
    async fn a_profile_shows_its_own_posts_alone() {
        let harness = SandboxHarness::new();
        let meadow = harness.connect("meadow").await.access;
        harness.post(&meadow, json!({"text": "from the meadow"})).await;

        let own = harness.get("/sandbox/@meadow").await;
        let other = harness.get("/sandbox/@harbour").await;

        assert!(own.text().contains("from the meadow"));
        assert!(!other.text().contains("from the meadow"));
    }

    #[tokio::test]
    async fn older_posts_are_on_further_pages() {
        let harness = SandboxHarness::new();
        let token = harness.connect("meadow").await.access;
        for number in 1..=51 {
            harness.post(&token, json!({"text": format!("number {number}.")})).await;
        }

        let first = harness.get("/sandbox").await;
        let second = harness.get("/sandbox?before=2").await;

        assert!(first.text().contains("number 51.") && first.text().contains("number 2."));
        assert!(!first.text().contains("number 1.") && first.text().contains("?before=2\""));
        assert!(second.text().contains("number 1.") && !second.text().contains("number 2."));
        assert!(!second.text().contains("http-equiv=\"refresh\""));
    }

    #[tokio::test]
    async fn an_unknown_path_is_an_error_page() {
        let harness = SandboxHarness::new();
        for path in ["posts/1", "posts/0", "posts/x", "@nobody", "media/x", "avatars/x.svg"] {
            let page = harness.get(&format!("/sandbox/{path}")).await;
            assert_eq!(page.status, 404, "{path}");
        }
    }
}
