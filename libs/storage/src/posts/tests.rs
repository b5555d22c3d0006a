mod interleaving;

use std::sync::atomic::{AtomicBool, Ordering};

use chrono::TimeDelta;
use domain::post::Filter;
use domain::testing::{a_connection, a_new_post, a_profile, a_user, ids, limited_to, noon};
use domain::text::{ExternalId, Label};

use super::*;
use crate::post_write::{PostWrite, PostWritten};
use crate::testing::{connect, join, store};

async fn write(store: &Store, before: Option<&Post>, after: Option<&Post>) {
    let write = PostWrite { before, after, ..PostWrite::default() };
    assert_eq!(store.write_post(&write, noon()).await.unwrap(), PostWritten::Done);
}

fn label(raw: &str) -> Label {
    Label::parse(raw).unwrap()
}

/// The expected page, according to the API contract.
fn model(posts: &[Post], listing: &Listing) -> (Vec<PostId>, u64) {
    let Filter { status, external_id, label, profile, .. } = &listing.filter;
    let fits = |it: &&Post| {
        status.is_none_or(|status| it.status == status)
            && (external_id.is_none() || it.external_id == *external_id)
            && label.iter().all(|label| it.labels.contains(label))
            && profile.is_none_or(|id| it.of_profile.as_ref().map(|it| it.profile_id) == Some(id))
    };
    let mut posts: Vec<_> = posts.iter().filter(fits).collect();
    posts.sort_by(|one, other| {
        let order = match listing.sort {
            SortField::CreatedAt => one.post_id.cmp(&other.post_id),
            SortField::ScheduledAt => (one.scheduled_at, one.post_id).cmp(&(other.scheduled_at, other.post_id)),
        };
        let order = if listing.direction == Direction::Desc { order.reverse() } else { order };
        let untimed = |it: &Post| listing.sort == SortField::ScheduledAt && it.scheduled_at.is_none();
        untimed(one).cmp(&untimed(other)).then(order)
    });
    let (skip, take) = (usize::try_from(listing.offset()).unwrap(), usize::try_from(listing.per_page).unwrap());
    (posts.iter().skip(skip).take(take).map(|it| it.post_id).collect(), posts.len() as u64)
}

#[tokio::test]
async fn every_page_matches_the_contract() {
    let (store, user, ids) = (store().await, a_user(), ids());
    let profiles = [a_profile(&user).reference(), a_profile(&user).reference()];
    let mut posts: Vec<Post> = Vec::new();
    // Not ordered like the ids, with many ties.
    let with_position = |post: Post, number: u64| {
        let status = PostStatus::ALL[usize::try_from(number * 7 % 11 % 5).unwrap()];
        let minutes = i64::try_from(number * 13 % 5).unwrap();
        let at = (status != PostStatus::Draft).then(|| noon() + TimeDelta::minutes(minutes));
        let external_id = ExternalId::parse(&(number % 4).to_string()).ok();
        let of_profile = profiles.get(usize::try_from(number % 3).unwrap()).cloned();
        let labels = vec![label("all"), label(&status.as_str()[..1])];
        Post { status, scheduled_at: at, external_id, labels, of_profile, ..post }
    };
    for number in 0..34_u64 {
        let new = a_new_post(None, &[]);
        let post = Post::create(new, &[], &user, &Accounts::new(), &ids, noon()).unwrap();
        posts.push(with_position(post, number));
        write(&store, None, posts.last()).await;
    }
    let foreign = Post { user_id: a_user().user_id, ..posts[0].clone() };
    write(&store, None, Some(&foreign)).await;
    for number in (0..30).step_by(3).rev() {
        let before = posts[number].clone();
        if number % 2 == 0 {
            let after = with_position(before.clone(), number as u64 + 3);
            write(&store, Some(&before), Some(&after)).await;
            posts[number] = Post { write_id: before.write_id + 1, ..after };
        } else {
            write(&store, Some(&before), None).await;
            posts.remove(number);
        }
    }

    let by_label = |raw| Filter { label: Some(label(raw)), ..Filter::default() };
    let by_id = Filter { external_id: ExternalId::parse("3").ok(), ..Filter::default() };
    let scheduled = Filter { status: Some(PostStatus::Scheduled), ..by_label("all") };
    let statuses = PostStatus::ALL.into_iter().map(Some).chain([None]).map(Filter::by_status);
    let of_profile = Filter { profile: Some(profiles[0].profile_id), ..Filter::default() };
    let drafts_of_profile = Filter { status: Some(PostStatus::Draft), ..of_profile.clone() };
    let others = [by_label("all"), by_label("p"), by_label("none"), by_id, scheduled, of_profile, drafts_of_profile];
    for filter in statuses.chain(others) {
        for (sort, direction, per_page) in [
            (SortField::CreatedAt, Direction::Asc, 4),
            (SortField::CreatedAt, Direction::Desc, 15),
            (SortField::CreatedAt, Direction::Desc, 1),
            (SortField::ScheduledAt, Direction::Asc, 4),
            (SortField::ScheduledAt, Direction::Desc, 4),
            (SortField::ScheduledAt, Direction::Asc, 15),
            (SortField::ScheduledAt, Direction::Desc, 100),
        ] {
            let mut listing = Listing { filter: filter.clone(), sort, direction, page: 1, per_page };
            let last = listing.last_page(model(&posts, &listing).1);
            for page in (1..=last + 1).chain([Listing::MAX_PAGE]) {
                listing.page = page;
                let found = store.posts(user.user_id, &listing).await.unwrap();
                let page: Vec<_> = found.posts.iter().map(|it| it.post_id).collect();
                assert_eq!((page, found.total), model(&posts, &listing), "{listing:?}");
                for post in found.posts {
                    assert!(posts.contains(&post), "{post:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn calendar_has_the_posts_of_a_range() {
    let (store, user) = (store().await, a_user());
    let at = |minutes| noon() + TimeDelta::minutes(minutes);
    for minutes in [30, 0, 60, -1] {
        let post = Post { scheduled_at: Some(at(minutes)), ..domain::testing::a_post(&user, None, &[]) };
        write(&store, None, Some(&post)).await;
    }
    write(&store, None, Some(&domain::testing::a_post(&user, None, &[]))).await;

    let found = store.posts_between(user.user_id, &(at(0)..at(60)), 2).await.unwrap();

    let times: Vec<_> = found.posts.iter().filter_map(|it| it.scheduled_at).collect();
    assert_eq!((times, found.has_more), (vec![at(0), at(30)], false));
    let first = store.posts_between(user.user_id, &(at(0)..at(60)), 1).await.unwrap();
    assert_eq!((first.posts.len(), first.has_more), (1, true));
    assert_eq!(store.posts_between(a_user().user_id, &(at(0)..at(60)), 2).await.unwrap(), CalendarPosts::default());
}

#[tokio::test]
async fn post_reads_back_for_its_own_user_only() {
    let (store, user) = (store().await, a_user());
    let post = domain::testing::a_post(&user, None, &[]);
    let media = vec![domain::testing::an_attachment(9)];
    let post = Post { media, ..post };
    write(&store, None, Some(&post)).await;

    assert_eq!(store.post(user.user_id, post.post_id).await.unwrap().as_ref(), Some(&post));
    assert_eq!(store.post(a_user().user_id, post.post_id).await.unwrap(), None);
}

#[tokio::test]
async fn user_without_posts_has_an_empty_first_page() {
    let (store, user) = (store().await, a_user());
    let (filter, sort, direction) = (Filter::default(), SortField::ScheduledAt, Direction::Desc);
    let listing = Listing { filter, sort, direction, page: 1, per_page: 15 };

    let page = store.posts(user.user_id, &listing).await.unwrap();

    assert_eq!((page.posts, page.total), (Vec::new(), 0));
}

#[tokio::test]
async fn post_context_has_only_resources_of_the_user() {
    let (store, user, other) = (store().await, a_user(), a_user());
    join(&store, &user).await;
    let mine = a_connection(&user);
    let foreign = domain::connection::Connection {
        connection_id: ConnectionId::new(mine.connection_id.get() + 1).unwrap(),
        ..a_connection(&other)
    };
    for connection in [&mine, &foreign] {
        connect(&store, connection, &[1], None).await;
    }
    write(&store, None, Some(&domain::testing::a_post(&user, None, &[]))).await;

    let named = [mine.connection_id, foreign.connection_id];
    let found = store.load_post_context(user.user_id, named, [], None, noon()).await.unwrap();

    assert_eq!(found.user, Some(user));
    assert_eq!(found.accounts.into_keys().collect::<Vec<_>>(), [mine.connection_id]);
    assert_eq!(found.counts, Counts { draft: 1, ..Counts::default() });
    let unknown_user = store.load_post_context(other.user_id, [], [], None, noon()).await.unwrap();
    assert_eq!((unknown_user.user, unknown_user.counts), (None, Counts::default()));
}

fn assert_consistent(page: &Page, listing: &Listing) {
    let shown = page.posts.len() as u64;
    assert!(page.posts.iter().all(|it| listing.filter.fits(it)), "{listing:?}: {page:?}");
    assert!(page.posts.is_sorted_by(|one, other| listing.order(one, other).is_lt()), "{listing:?}");
    let expected = page.total.saturating_sub(listing.offset()).min(listing.per_page);
    assert_eq!(shown, expected, "{listing:?} with a total of {}", page.total);
}

#[tokio::test]
async fn page_is_consistent_during_concurrent_writes() {
    let (store, user) = (store().await, a_user());
    let mut posts = Vec::new();
    let profile = a_profile(&user);
    for number in 0..24 {
        let post = domain::testing::a_post(&user, None, &[]);
        let of_profile = (number % 2 == 0).then(|| profile.reference());
        let post = Post { post_id: PostId::new(number + 1).unwrap(), of_profile, ..post };
        write(&store, None, Some(&post)).await;
        posts.push(post);
    }
    let is_over = AtomicBool::new(false);
    let over = || is_over.load(Ordering::SeqCst);

    // Each writer has posts of its own. It changes their status and time, and deletes and
    // restores them.
    let writers = posts.chunks(6).map(|mine| async {
        let mut mine = mine.to_vec();
        for round in 0_u64.. {
            if over() {
                break;
            }
            let at = usize::try_from(round % 6).unwrap();
            let before = mine[at].clone();
            let status = [PostStatus::Draft, PostStatus::Scheduled][usize::try_from(round / 6 % 2).unwrap()];
            let minutes = i64::try_from(round * 7 % 60).unwrap();
            let time = (status == PostStatus::Scheduled).then(|| noon() + TimeDelta::minutes(minutes));
            let labels = vec![label(["odd", "even"][usize::try_from(round / 2 % 2).unwrap()])];
            let after = Post { status, scheduled_at: time, labels, write_id: before.write_id + 1, ..before.clone() };
            if round % 5 == 0 {
                write(&store, Some(&before), None).await;
                write(&store, None, Some(&after)).await;
            } else {
                write(&store, Some(&before), Some(&after)).await;
            }
            mine[at] = after;
        }
    });
    let by_label = Filter { label: Some(label("odd")), ..Filter::default() };
    let by_status = [None, Some(PostStatus::Draft), Some(PostStatus::Scheduled)].map(Filter::by_status);
    let by_profile = Filter { profile: Some(profile.profile_id), ..Filter::default() };
    let readers = by_status.into_iter().chain([by_label, by_profile]).map(|filter| {
        let (store, is_over) = (&store, &is_over);
        async move {
            for round in 0..120_u64 {
                let listing = Listing {
                    filter: filter.clone(),
                    sort: [SortField::CreatedAt, SortField::ScheduledAt][usize::try_from(round % 2).unwrap()],
                    direction: [Direction::Asc, Direction::Desc][usize::try_from(round / 2 % 2).unwrap()],
                    page: 1 + round % 3,
                    per_page: [1, 5, 15, 100][usize::try_from(round % 4).unwrap()],
                };
                assert_consistent(&store.posts(user.user_id, &listing).await.unwrap(), &listing);
            }
            is_over.store(true, Ordering::SeqCst);
        }
    });
    futures::join!(futures::future::join_all(writers), futures::future::join_all(readers));
}

#[tokio::test]
async fn limited_owner_finds_only_posts_accounts_and_files_of_its_profile() {
    let (store, user) = (store().await, a_user());
    join(&store, &user).await;
    let (profile, other) = (a_profile(&user), a_profile(&user));
    for profile in [&profile, &other] {
        store.create_profile(profile, None).await.unwrap();
    }
    let (mut posts, mut connections, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for of_profile in [None, Some(other.reference()), Some(profile.reference())] {
        let post = Post { of_profile: of_profile.clone(), ..domain::testing::a_post(&user, None, &[]) };
        write(&store, None, Some(&post)).await;
        let connection = Connection { of_profile: of_profile.clone(), ..a_connection(&user) };
        connect(&store, &connection, &[1], None).await;
        let file = Medium::expected(user.user_id, ids().fresh(), domain::media::MimeType::Png, noon());
        let file = Medium { of_profile, ..file };
        let added =
            store.add_media_file(&file, crate::Room { bytes: 9, files: 9, bytes_of_profile: None }).await.unwrap();
        assert_eq!(added, crate::AddMediaOutcome::Added);
        posts.push(post.post_id);
        connections.push(connection.connection_id);
        files.push(file.media_id);
    }
    let listing = Listing {
        filter: Filter::default(),
        sort: SortField::CreatedAt,
        direction: Direction::Asc,
        page: 1,
        per_page: 10,
    };
    let of_other =
        Listing { filter: Filter { profile: Some(other.profile_id), ..Filter::default() }, ..listing.clone() };
    let owner = limited_to(&profile);

    let mut found = Vec::new();
    for id in &posts {
        found.extend(store.post(owner, *id).await.unwrap().map(|it| it.post_id));
    }
    assert_eq!(found, posts[2..]);
    let page = store.posts(owner, &listing).await.unwrap();
    assert_eq!((page.posts.iter().map(|it| it.post_id).collect::<Vec<_>>(), page.total), (posts[2..].to_vec(), 1));
    let page = store.posts(owner, &of_other).await.unwrap();
    assert_eq!((page.posts, page.total), (Vec::new(), 0));
    let context = store.load_post_context(owner, connections.clone(), files.clone(), None, noon()).await.unwrap();
    assert_eq!(context.accounts.into_keys().collect::<Vec<_>>(), connections[2..]);
    assert_eq!(context.media.iter().map(|it| it.media_id).collect::<Vec<_>>(), files[2..]);
    assert_eq!(store.media(owner, &files).await.unwrap().len(), 1);
    assert_eq!(store.posts(user.user_id, &listing).await.unwrap().total, 3);
    assert_eq!(store.media(user.user_id, &files).await.unwrap().len(), 3);
    crate::testing::corrupt_post(&store, &user).await;
    assert_eq!(store.posts(owner, &listing).await.unwrap().total, 1, "posts of others are not read");
}
