use std::sync::atomic::{AtomicU32, Ordering};

use cloud::seal::{SealError, Sealer};
use domain::sealing::SealContext;

use super::*;

#[tokio::test]
async fn reconnection_during_a_refresh_is_not_overwritten() {
    let harness = harness([RefreshFault::Gone]).await;
    let record = harness.connection(0).await;
    let gate = harness.fake.hold_refresh();

    let reconnection = async {
        gate.entered().await;
        harness.reconnect(0, PublishingHarness::credentials(None), None).await;
        gate.open();
    };
    let (given, ()) = tokio::join!(given(&harness, &record), reconnection);

    assert_eq!(token(&given.unwrap()), "first", "those of the reconnection");
    let now = harness.connection(0).await.connection;
    assert!(!now.needs_reconnection, "what was refused were the old credentials");
    assert_eq!(harness.stored_credentials(0).await.expires_at, None);
    assert_eq!(harness.events.types(), [""; 0]);
}

#[tokio::test]
async fn new_credentials_are_stored_despite_a_short_store_outage() {
    let mut harness = harness([RefreshFault::Rotated]).await;
    let losses = Arc::new(AtomicU32::new(0));
    harness.publishing.credentials.store = storage::testing::store_losing_updates(&harness.store, Arc::clone(&losses));
    let record = harness.connection(0).await;
    let gate = harness.fake.hold_refresh();

    let outage = async {
        gate.entered().await;
        losses.store(4, Ordering::SeqCst);
        gate.open();
    };
    let (given, ()) = tokio::join!(given(&harness, &record), outage);

    assert_eq!(token(&given.unwrap()), "token1");
    assert_eq!(losses.load(Ordering::SeqCst), 0, "it was away");
    assert_eq!(harness.stored_credentials(0).await.refresh_token.unwrap().expose_secret(), "refresh1");
}

struct FailingSealer {
    sealer: Arc<dyn Sealer>,
    left: AtomicU32,
}

#[async_trait::async_trait]
impl Sealer for FailingSealer {
    async fn seal(&self, plain: &[u8], context: &SealContext) -> Result<Vec<u8>, SealError> {
        let less = |left: u32| left.checked_sub(1);
        match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) {
            Ok(_) => self.sealer.seal(plain, context).await,
            Err(_) => Err(SealError::Keys("away".to_owned())),
        }
    }

    async fn open(&self, sealed: &[u8], context: &SealContext) -> Result<Vec<u8>, SealError> {
        self.sealer.open(sealed, context).await
    }
}

#[tokio::test]
async fn no_refresh_token_is_used_if_sealing_fails() {
    let mut harness = harness([]).await;
    harness.publishing.credentials.sealer =
        Arc::new(FailingSealer { sealer: Arc::clone(&harness.publishing.credentials.sealer), left: AtomicU32::new(0) });
    let record = harness.connection(0).await;
    let platform = harness.refreshable.get("sandbox").unwrap();

    let ended = harness.publishing.credentials.credentials(platform, &record, noon()).await;

    assert!(matches!(ended, Err(ConnectingError::Seal(_))), "{ended:?}");
    assert_eq!(refreshes(&harness), 0);
}
