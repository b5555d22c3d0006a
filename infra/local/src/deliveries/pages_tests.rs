//! Tests of the pages with their own store and sandbox.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use chrono::TimeDelta;
use domain::clock::Clock;
use domain::delivery::{AttemptError, Delivery, Published};
use domain::post::Post;
use domain::testing::{a_connection, a_post, a_user, noon, text};
use storage::{DeliveryWrite, PostWrite, PostWritten};
use tower::ServiceExt;

use super::{Deliveries, History, Reference, router};
use crate::development::recorded_store;
use crate::fakes::Fakes;
use crate::sandbox::Sandbox;

struct PagesHarness {
    deliveries: Deliveries,
    post: Post,
}

impl PagesHarness {
    async fn new() -> Self {
        let (history, clock) = (History::default(), Clock::manual(noon()));
        let store = recorded_store(&history, &clock).await;
        let network = Sandbox::open(None, "http://sandbox.test".to_owned(), clock.clone()).unwrap();
        let user = a_user();
        let post = a_post(&user, Some(noon()), &[a_connection(&user)]);
        let post = Post { text: text("<b>Hello</b> from the harbour"), ..post };
        Self { deliveries: Deliveries { history, store, network, fakes: Fakes::default(), clock }, post }
    }

    /// Writes the planned delivery of the post.
    async fn plan(&self) -> Delivery {
        let delivery = Delivery::new(&self.post, &self.post.targets[0], None, 1, noon());
        // The account has no connection, so the post is written without targets first.
        let bare = Post { targets: Vec::new(), ..self.post.clone() };
        let put = DeliveryWrite::Put(&delivery);
        let write = PostWrite { before: None, after: Some(&bare), deliveries: vec![put], kept: None, event: None };
        assert_eq!(self.deliveries.store.write_post(&write, noon()).await.unwrap(), PostWritten::Done);
        delivery
    }

    async fn swap(&self, before: &Delivery, after: Delivery) -> Delivery {
        self.deliveries.clock.advance(TimeDelta::milliseconds(7));
        let after = after.with_write_id(before.write_id + 1);
        self.deliveries.store.replace_delivery(before, &after).await.unwrap();
        after
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = router(self.deliveries.clone()).oneshot(request).await.unwrap();
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn show_page(&self, delivery: &Delivery) -> String {
        let (status, page) = self.get(&format!("/sandbox/deliveries/{}", Reference::from_delivery(delivery))).await;
        assert_eq!(status, StatusCode::OK, "{page}");
        page
    }
}

#[tokio::test]
async fn delivery_page_shows_its_steps_in_order() {
    let harness = PagesHarness::new().await;
    assert!(harness.get("/sandbox/deliveries").await.1.contains("Nothing has been scheduled yet"));
    let planned = harness.plan().await;
    let begun = harness.swap(&planned, planned.clone().open_intent(noon())).await;
    let lost =
        AttemptError::Unknown { may_still_run: true, retry_at: None, reason: "the answer was cut off".to_owned() };
    let unknown = harness.swap(&begun, begun.clone().record_publish(Err(lost), noon(), 0)).await;

    let (_, overview) = harness.get("/sandbox/deliveries").await;
    let page = harness.show_page(&unknown).await;

    assert!(overview.contains(&format!("/sandbox/deliveries/{}\"", Reference::from_delivery(&unknown))), "{overview}");
    assert!(overview.contains("outcome unknown"), "{overview}");
    let places: Vec<_> = ["Planned for 12:00:00.000", "Attempt 1 begins", "The outcome of attempt 1 is unknown"]
        .map(|it| page.find(it).unwrap_or_else(|| panic!("{it} is not in {page}")))
        .to_vec();
    assert!(places.is_sorted(), "{page}");
    assert!(page.contains("it may still take effect"), "{page}");
    assert!(page.contains("reload.js"), "it is not over");
}

#[tokio::test]
async fn page_of_ended_delivery_does_not_refresh() {
    let harness = PagesHarness::new().await;
    let planned = harness.plan().await;
    let begun = harness.swap(&planned, planned.clone().open_intent(noon())).await;
    let published = Published::new("7".to_owned(), noon());
    let ended = harness.swap(&begun, begun.clone().record_publish(Ok(published), noon(), 0)).await;

    let page = harness.show_page(&ended).await;

    assert!(page.contains("published: post 7"), "{page}");
    // The sandbox of this test received no call, and the page shows that.
    assert!(page.contains("not public"), "{page}");
    assert!(!page.contains("reload.js"), "{page}");
}

#[tokio::test]
async fn a_replaced_delivery_shows_its_replacement() {
    let harness = PagesHarness::new().await;
    let planned = harness.plan().await;
    let newer = Delivery { revision: planned.revision + 1, ..planned.clone() };
    harness.swap(&planned, newer).await;

    let page = harness.show_page(&planned).await;

    assert!(page.contains("cancelled") && page.contains("replaced by revision 2"), "{page}");
}

#[tokio::test]
async fn an_unknown_path_is_an_error_page() {
    let harness = PagesHarness::new().await;
    for reference in ["1-2-3", "x", "1-2", "1-2-3-4"] {
        let (status, _) = harness.get(&format!("/sandbox/deliveries/{reference}")).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{reference}");
    }
}
