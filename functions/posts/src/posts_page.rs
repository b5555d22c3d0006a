//! `/account/posts`: scheduled posts by day, failed posts with the reason, and the possible
//! actions.

mod row;
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use api::SignedIn;
use api::page::{AccountPage, Page, PageQuery, PageResult, day};
use askama::Template;
use axum::extract::State;
use domain::connection::Connection;
use domain::listing::{Counts, Direction, Listing, SortField};
use domain::post::{Filter, Post, PostStatus, SegmentKind};
use domain::profile::ProfileRef;
use serde::Deserialize;
use storage::StorageError;

use self::row::Row;
pub(crate) use self::row::{TargetRow, excerpt, public_link};
use self::search::Search;
use crate::App;
use crate::response::links;

const PER_PAGE: u64 = 50;

#[derive(Deserialize)]
pub(crate) struct PostsQuery {
    #[serde(default)]
    show: PostFilter,
    page: Option<NonZeroU32>,
    done: Option<Done>,
    #[serde(default)]
    q: String,
    #[serde(default)]
    account: String,
    #[serde(default)]
    profile: String,
    #[serde(default)]
    label: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PostFilter {
    /// Scheduled posts, and those that are being published.
    #[default]
    Coming,
    Failed,
    Published,
    Drafts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Done {
    Cancelled,
    Deleted,
    TriedAgain,
}

#[derive(Template)]
#[template(path = "posts.html")]
struct PostsPage<'a> {
    csrf: &'a str,
    show: PostFilter,
    search: &'a Search,
    accounts: Vec<Choice>,
    customers: Vec<Choice>,
    counts: Counts,
    done: Option<Done>,
    /// The zone's city, or UTC.
    city: String,
    days: Vec<Day>,
    before: Option<u32>,
    after: Option<u32>,
}

struct Choice {
    id: String,
    name: String,
    is_chosen: bool,
}

struct Day {
    /// Empty for drafts.
    title: String,
    posts: Vec<Row>,
}

pub(crate) async fn show_posts(
    State(app): State<App>,
    session: SignedIn,
    PageQuery(query): PageQuery<PostsQuery>,
) -> PageResult<Page> {
    let (store, now) = (&app.api.store, app.api.clock.now());
    let page = query.page.map_or(1, NonZeroU32::get);
    let search = Search { q: query.q, account: query.account, profile: query.profile, label: query.label };
    let posts = load_posts(&app, &session, query.show, &search, page);
    let ((posts, total), connections) = futures::try_join!(Box::pin(posts), store.connections(session.user))?;

    let connection_ids: BTreeSet<_> = posts.iter().flat_map(|it| &it.targets).map(|it| it.connection_id).collect();
    let context = store.load_post_context(session.user, connection_ids, [], None, now).await?;
    let links = links(&app.scheduling.bucket, posts.iter().flat_map(row::thumbnails)).await;
    let zone = session.zone();
    let rows = posts.iter().map(|it| {
        let day = it.scheduled_at.map(|at| day(at, &zone)).unwrap_or_default();
        (day, Row::new(it, &context.accounts, &links, &zone, now))
    });
    let page = PostsPage {
        csrf: session.csrf(),
        show: query.show,
        search: &search,
        accounts: accounts(&connections, &search),
        customers: customers(&connections, &search),
        counts: context.counts,
        done: query.done,
        city: zone.city(),
        days: group_by_day(rows),
        before: page.checked_sub(1).filter(|it| *it != 0),
        after: (u64::from(page) * PER_PAGE < total).then(|| page + 1),
    };
    let page = Page::render("Your posts", &page)?.signed_in(&session).with_account_navigation(AccountPage::Posts);
    Ok(page.with_images())
}

/// The posts of one page, and the number of posts on all pages.
async fn load_posts(
    app: &App,
    session: &SignedIn,
    show: PostFilter,
    search: &Search,
    page: u32,
) -> Result<(Vec<Post>, u64), StorageError> {
    let Some(searched) = search.filter() else { return Ok((Vec::new(), 0)) };
    let list = async |status| {
        let filter = Filter { status: Some(status), ..searched.clone() };
        let listing = Listing { filter, page: page.into(), ..show.listing() };
        app.api.store.posts(session.user, &listing).await
    };
    let found = match show {
        PostFilter::Failed => list(PostStatus::Failed).await?,
        PostFilter::Published => list(PostStatus::Published).await?,
        PostFilter::Drafts => list(PostStatus::Draft).await?,
        // Few posts are being published at a time. They come before the scheduled ones.
        PostFilter::Coming if page == 1 => {
            let (publishing, scheduled) =
                futures::try_join!(list(PostStatus::Publishing), list(PostStatus::Scheduled))?;
            let posts = publishing.posts.into_iter().chain(scheduled.posts).collect();
            return Ok((posts, scheduled.total));
        }
        PostFilter::Coming => list(PostStatus::Scheduled).await?,
    };
    Ok((found.posts, found.total))
}

fn accounts(connections: &[Connection], search: &Search) -> Vec<Choice> {
    let choice = |it: &Connection| {
        let id = it.connection_id.to_string();
        let is_chosen = id == search.account;
        Choice { id, name: format!("{}, {}", it.rules.title, it.profile.shown_name()), is_chosen }
    };
    let mut choices: Vec<_> = connections.iter().map(choice).collect();
    choices.sort_by(|one, other| one.name.cmp(&other.name));
    choices
}

/// By name.
fn customers(connections: &[Connection], search: &Search) -> Vec<Choice> {
    let choice = |it: &ProfileRef| {
        let (id, name) = (it.profile_id.to_string(), it.shown_name());
        (name.clone(), Choice { is_chosen: id == search.profile, id, name })
    };
    let by_name: BTreeMap<_, _> = connections.iter().filter_map(|it| it.of_profile.as_ref()).map(choice).collect();
    by_name.into_values().collect()
}

/// In the order of the rows.
fn group_by_day(rows: impl Iterator<Item = (String, Row)>) -> Vec<Day> {
    let mut days: Vec<Day> = Vec::new();
    for (title, row) in rows {
        match days.last_mut().filter(|it| it.title == title) {
            Some(day) => day.posts.push(row),
            None => days.push(Day { title, posts: vec![row] }),
        }
    }
    days
}

/// "Post", "Reply 1", "First comment".
pub(crate) fn segment_name(index: usize, kind: SegmentKind) -> String {
    match kind {
        SegmentKind::Post => "Post".to_owned(),
        SegmentKind::Reply => format!("Reply {index}"),
        SegmentKind::Comment => "First comment".to_owned(),
    }
}

impl PostFilter {
    /// Scheduled posts begin with the next one, all others with the latest.
    fn listing(self) -> Listing {
        let (sort, direction) = match self {
            Self::Coming => (SortField::ScheduledAt, Direction::Asc),
            Self::Failed | Self::Published => (SortField::ScheduledAt, Direction::Desc),
            Self::Drafts => (SortField::CreatedAt, Direction::Desc),
        };
        Listing { filter: Filter::default(), sort, direction, page: 1, per_page: PER_PAGE }
    }

    /// In URLs.
    const fn name(self) -> &'static str {
        match self {
            Self::Coming => "coming",
            Self::Failed => "failed",
            Self::Published => "published",
            Self::Drafts => "drafts",
        }
    }

    fn tab(self, counts: &Counts) -> (&'static str, u64) {
        match self {
            Self::Coming => ("Scheduled", counts.scheduled + counts.publishing),
            Self::Failed => ("Failed", counts.failed),
            Self::Published => ("Published", counts.published),
            Self::Drafts => ("Drafts", counts.draft),
        }
    }

    const ALL: [Self; 4] = [Self::Coming, Self::Failed, Self::Published, Self::Drafts];
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use domain::delivery::Published;
    use domain::post::{PublicSegment, SegmentContent, TargetStatus};
    use domain::testing::{a_connection, a_post, a_user, accounts, an_attachment, noon, text};
    use domain::text::PostText;
    use domain::time_zone::TimeZone;

    use super::*;
    use crate::response::Links;

    fn render(post: &Post, connection: &domain::connection::Connection) -> String {
        let row = Row::new(post, &accounts(std::slice::from_ref(connection)), &Links::new(), &TimeZone::utc(), noon());
        let page = PostsPage {
            csrf: "token",
            show: PostFilter::Failed,
            search: &Search::default(),
            accounts: Vec::new(),
            customers: Vec::new(),
            counts: Counts::default(),
            done: None,
            city: "UTC".to_owned(),
            days: vec![Day { title: String::new(), posts: vec![row] }],
            before: None,
            after: None,
        };
        page.render().unwrap()
    }

    #[test]
    fn thread_is_shown_with_the_state_and_link_of_each_segment() {
        let connection = a_connection(&a_user());
        let mut post = a_post(&a_user(), Some(noon()), std::slice::from_ref(&connection));
        post.thread = vec![
            SegmentContent { text: text("Reply <one>"), media: Vec::new() },
            SegmentContent { text: PostText::default(), media: vec![an_attachment(1)] },
        ];
        let published =
            Published { url: Some("https://a.example/?a=1&b='".to_owned()), ..Published::new("p1", noon()) };
        let target = &mut post.targets[0];
        target.status = TargetStatus::Failed;
        target.error_message = Some("1 of 3 is public. <b>".to_owned());
        target.public = vec![PublicSegment { published, content: None }];

        let page = render(&post, &connection);

        for shown in [
            "2 replies",
            "Reply &#60;one&#62;",
            "Reply 2, 1 image",
            "1 of 3 public",
            "Post: Published</span> <a href=\"https://a.example/?a=1&#38;b=&#39;\"",
            "View post",
            "Reply 1: Failed",
            "Reply 2: Not published",
            "<details open>",
        ] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        assert_eq!(page.matches("1 of 3 is public. &#60;b&#62;").count(), 1, "the reason is shown once: {page}");
        assert!(!page.contains("<one>") && !page.contains("<b>"), "{page}");
    }

    #[test]
    fn post_without_replies_has_no_segments() {
        let connection = a_connection(&a_user());
        let post = a_post(&a_user(), Some(noon()), std::slice::from_ref(&connection));
        let page = render(&post, &connection);
        assert!(!page.contains("<details>") && !page.contains("<details open>"), "{page}");
    }
}
