//! Pages that are read while posts are written between the calls.

use std::fmt;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use futures::future::BoxFuture;
use tokio::sync::Mutex;

use super::*;

type BeforeCall = Arc<dyn Fn(String) -> BoxFuture<'static, ()> + Send + Sync>;

/// Sends one call at a time, in order, each after `before` has received its body.
#[derive(Clone)]
struct SequentialClient {
    inner: SharedHttpConnector,
    before: BeforeCall,
    lock: Arc<Mutex<()>>,
}

impl fmt::Debug for SequentialClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OneByOne")
    }
}

impl HttpConnector for SequentialClient {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let Self { inner, before, lock } = self.clone();
        HttpConnectorFuture::new(async move {
            let _guard = lock.lock().await;
            let body = request.body().bytes().map(String::from_utf8_lossy).unwrap_or_default().into_owned();
            before(body).await;
            inner.call(request).await
        })
    }
}

impl HttpClient for SequentialClient {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

fn interleaved(store: &Store, before: impl Fn(String) -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Store {
    let inner = aws_smithy_http_client::Connector::builder().build_http();
    let client =
        SequentialClient { inner: SharedHttpConnector::new(inner), before: Arc::new(before), lock: Arc::default() };
    let config = store.client.config().to_builder().http_client(client);
    Store { client: Client::from_conf(config.build()), ..store.clone() }
}

#[derive(Clone)]
struct MovingPost {
    store: Store,
    post: Arc<Mutex<Post>>,
}

impl MovingPost {
    async fn to(&self, status: PostStatus) {
        let mut post = self.post.lock().await;
        let scheduled_at = (status == PostStatus::Scheduled).then(noon);
        let after = Post { status, scheduled_at, write_id: post.write_id + 1, ..post.clone() };
        write(&self.store, Some(&post), Some(&after)).await;
        *post = after;
    }
}

/// The test moves the second one.
async fn four_drafts() -> (Store, domain::user::User, MovingPost) {
    let (store, user) = (store().await, a_user());
    for number in 1..=4 {
        let post = Post { post_id: PostId::new(number).unwrap(), ..domain::testing::a_post(&user, None, &[]) };
        write(&store, None, Some(&post)).await;
    }
    let post = store.post(user.user_id, PostId::new(2).unwrap()).await.unwrap().unwrap();
    let moved = MovingPost { store: store.clone(), post: Arc::new(Mutex::new(post)) };
    (store, user, moved)
}

fn by_time(status: Option<PostStatus>) -> Listing {
    let filter = Filter::by_status(status);
    Listing { filter, sort: SortField::ScheduledAt, direction: Direction::Asc, page: 1, per_page: 15 }
}

/// The third and the fourth post, wherever the moved one is listed.
fn second_page() -> Listing {
    Listing { page: 2, per_page: 2, ..by_time(None) }
}

fn post_ids(page: &Page) -> Vec<u64> {
    page.posts.iter().map(|it| it.post_id.get()).collect()
}

#[tokio::test]
async fn post_that_moves_between_two_indexes_is_counted() {
    let (store, user, moved) = four_drafts().await;
    // A draft while the index by time is read, scheduled while the drafts are read.
    let between = interleaved(&store, move |body| {
        let moved = moved.clone();
        Box::pin(async move {
            if body.contains("\"by_status\"") {
                moved.to(PostStatus::Scheduled).await;
            }
        })
    });

    let page = between.posts(user.user_id, &second_page()).await.unwrap();

    assert_eq!((post_ids(&page), page.total), (vec![3, 4], 4));
}

#[tokio::test]
async fn post_that_every_index_read_misses_is_counted() {
    let (store, user, moved) = four_drafts().await;
    let between = interleaved(&store, move |body| {
        let moved = moved.clone();
        Box::pin(async move {
            if body.contains("\"by_time\"") {
                moved.to(PostStatus::Draft).await;
            } else if body.contains("\"by_status\"") {
                moved.to(PostStatus::Scheduled).await;
            }
        })
    });

    let page = between.posts(user.user_id, &second_page()).await.unwrap();

    assert_eq!((post_ids(&page), page.total), (vec![3, 4], 4));
}

#[tokio::test]
async fn new_post_does_not_hide_a_missing_one() {
    let (store, user, moved) = four_drafts().await;
    let newest = Post { post_id: PostId::new(9).unwrap(), ..domain::testing::a_post(&user, None, &[]) };
    let (again, newest) = (store.clone(), Arc::new(Mutex::new(Some(newest))));
    // The page has the counted number of posts: the new one instead of the moved one.
    let between = interleaved(&store, move |body| {
        let (moved, store, newest) = (moved.clone(), again.clone(), Arc::clone(&newest));
        Box::pin(async move {
            if body.contains("\"by_status\"")
                && let Some(newest) = newest.lock().await.take()
            {
                moved.to(PostStatus::Scheduled).await;
                write(&store, None, Some(&newest)).await;
            }
        })
    });

    let page = between.posts(user.user_id, &by_time(None)).await.unwrap();

    assert_eq!((post_ids(&page), page.total), (vec![2, 1, 3, 4, 9], 5));
}

#[tokio::test]
async fn post_that_leaves_during_the_read_is_not_listed_or_counted() {
    let (store, user, moved) = four_drafts().await;
    let between = interleaved(&store, move |body| {
        let moved = moved.clone();
        Box::pin(async move {
            if body.contains("\"RequestItems\"") {
                moved.to(PostStatus::Scheduled).await;
            }
        })
    });

    let page = between.posts(user.user_id, &by_time(Some(PostStatus::Draft))).await.unwrap();

    assert_eq!((post_ids(&page), page.total), (vec![1, 3, 4], 3));
}
