//! Storing new credentials when the store or the sealer fails.

use std::sync::atomic::{AtomicU32, Ordering};

use cloud::seal::{SealError, Sealer};
use domain::sealing::SealContext;

use super::*;

#[tokio::test]
async fn reconnection_during_a_refresh_is_not_overwritten() {
    let rig = rig([RefreshFault::Gone]).await;
    let record = rig.connection(0).await;
    let gate = rig.network.hold_refresh();

    let reconnection = async {
        gate.entered().await;
        rig.reconnect(0, Rig::credentials(None), None).await;
        gate.open();
    };
    let (given, ()) = tokio::join!(given(&rig, &record), reconnection);

    assert_eq!(token(&given.unwrap()), "first", "those of the reconnection");
    let now = rig.connection(0).await.connection;
    assert!(!now.needs_reconnection, "what was refused were the old credentials");
    assert_eq!(rig.stored_credentials(0).await.expires_at, None);
    assert_eq!(rig.events.types(), [""; 0]);
}

#[tokio::test]
async fn new_credentials_are_stored_despite_a_short_store_outage() {
    let mut rig = rig([RefreshFault::Rotated]).await;
    let losses = Arc::new(AtomicU32::new(0));
    rig.publishing.store = storage::testing::store_losing_updates(&rig.store, Arc::clone(&losses));
    let record = rig.connection(0).await;
    let gate = rig.network.hold_refresh();

    let outage = async {
        gate.entered().await;
        losses.store(4, Ordering::SeqCst);
        gate.open();
    };
    let (given, ()) = tokio::join!(given(&rig, &record), outage);

    assert_eq!(token(&given.unwrap()), "token1");
    assert_eq!(losses.load(Ordering::SeqCst), 0, "it was away");
    assert_eq!(rig.stored_credentials(0).await.refresh_token.unwrap().expose_secret(), "renew1");
}

/// Seals this many times, then fails.
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
    let mut rig = rig([]).await;
    rig.publishing.sealer =
        Arc::new(FailingSealer { sealer: Arc::clone(&rig.publishing.sealer), left: AtomicU32::new(0) });
    let record = rig.connection(0).await;
    let platform = rig.renewable.get("sandbox").unwrap();

    let ended = rig.publishing.credential_service().credentials(platform, &record, noon()).await;

    assert!(matches!(ended, Err(PublishingError::Seal(_))), "{ended:?}");
    assert_eq!(renewed(&rig), 0);
}
