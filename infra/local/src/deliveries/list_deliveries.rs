//! The list of recent deliveries.

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use domain::delivery::{Delivery, Published};
use domain::id::PostId;
use domain::post::Post;
use futures::future::join_all;
use serde::Deserialize;

use super::Deliveries;
use super::history::Record;
use super::verdict::{Color, PlatformView, Verdict};
use crate::fakes::PublicPosts;
use crate::sandbox::{self, pages};

/// Deliveries on the page.
const SHOWN: usize = 50;

/// Maximum length of a post's text in the list, in characters.
const WORDS: usize = 60;

#[derive(Template)]
#[template(path = "sandbox/deliveries.html")]
struct DeliveriesPage {
    rows: Vec<Row>,
}

struct Row {
    reference: String,
    text: String,
    account: String,
    attempts: u32,
    said: String,
    tone: Color,
    verdict: Verdict,
}

/// The deliveries to show.
#[derive(Deserialize)]
pub(super) struct ListQuery {
    /// Only those of this post.
    post: Option<PostId>,
}

/// Shows the recent deliveries, of all users or of one post.
pub(super) async fn list_deliveries(
    State(deliveries): State<Deliveries>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Response {
    // An invalid query shows the deliveries of all posts.
    let post = query.ok().and_then(|Query(it)| it.post);
    let records = deliveries.history.recent(SHOWN, post);
    let fakes = deliveries.fakes.public_posts();
    let rows = join_all(records.iter().map(|it| row(&deliveries, it, &fakes))).await;
    pages::show(&DeliveriesPage { rows })
}

async fn row(deliveries: &Deliveries, record: &Record, fakes: &PublicPosts) -> Row {
    let post = post_of(deliveries, record).await;
    let (text, account) = post_summary(post.as_ref(), record);
    let verdict = deliveries.verdict(record, fakes);
    let attempts = verdict.delivery.as_ref().filter(|it| it.is_prepared()).map_or(0, |it| it.attempts);
    let (result, tone) = verdict.text(deliveries.clock.now());
    Row { said: result, tone, reference: record.reference.to_string(), text, account, attempts, verdict }
}

/// The post of a delivery; `None` if it was deleted.
pub(super) async fn post_of(deliveries: &Deliveries, record: &Record) -> Option<Post> {
    match deliveries.store.post(record.user, record.reference.post).await {
        Ok(post) => post,
        Err(error) => {
            tracing::error!(%error, "a post could not be read for its page");
            None
        }
    }
}

/// The start of a post's text, and its account, for the list.
pub(super) fn post_summary(post: Option<&Post>, record: &Record) -> (String, String) {
    let Some(post) = post else {
        return (format!("Post {} (deleted)", record.reference.post), "–".to_owned());
    };
    let Some(target) = post.target(record.reference.target) else {
        return (shorten(post.text.as_str()), "–".to_owned());
    };
    let known = platforms::platform_infos().iter().find(|it| it.name == target.provider);
    let platform = known.map_or(target.provider.as_str(), |it| it.title);
    let account = target.username.as_ref().map_or_else(|| platform.to_owned(), |it| format!("{it} on {platform}"));
    (shorten(post.text_of(target).as_str()), account)
}

fn shorten(text: &str) -> String {
    if text.is_empty() {
        return "(files alone)".to_owned();
    }
    let mut shortened_text: String = text.chars().take(WORDS).collect();
    if shortened_text.len() < text.len() {
        shortened_text.push('…');
    }
    shortened_text
}

impl Deliveries {
    /// The result of a delivery.
    pub(super) fn verdict(&self, record: &Record, fakes: &PublicPosts) -> Verdict {
        let reference = record.reference;
        let newest = self.history.latest_revision(reference.post, reference.target);
        let delivery = record.latest().map(|it| Delivery { publish_at: record.due_at(it), ..it.clone() });
        Verdict {
            seen: match &delivery {
                Some(delivery) if delivery.provider != sandbox::PLATFORM => view_of_fake(delivery, fakes),
                _ => PlatformView::Sandbox(self.network.public_posts_of(&reference.to_string())),
            },
            delivery,
            is_void: record.removed_at.is_some() || newest.is_some_and(|it| reference.revision < it),
        }
    }
}

fn view_of_fake(delivery: &Delivery, fakes: &PublicPosts) -> PlatformView {
    let Some(posts) = fakes.get(delivery.provider.as_str()) else { return PlatformView::Unseen };
    let is_shown = |it: &Published| posts.contains(&it.platform_post_id);
    PlatformView::Fake { shows_it: delivery.published.first().is_some_and(is_shown) }
}
