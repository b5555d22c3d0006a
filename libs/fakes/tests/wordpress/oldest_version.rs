//! WordPress 5.6, where a password cannot be used to read its own id.

use domain::delivery::AttemptError;
use fakes::wordpress::SiteQuirk;

use super::harness;

#[tokio::test]
async fn a_site_of_the_oldest_version_deletes_the_right_password() {
    let (harness, first) = harness().await;
    harness.fake.is_odd(SiteQuirk::LacksIntrospection);
    let second = harness.connect().await;
    let names = harness.fake.passwords();

    harness.connector().revoke(&first.credentials, harness.clock.now()).await.unwrap();
    assert_eq!(harness.fake.passwords(), [names[0].clone(), names[2].clone()]);
    harness.connector().revoke(&second.credentials, harness.clock.now()).await.unwrap();
    assert_eq!(harness.fake.passwords(), ["by hand"]);

    // The id of a password that the user created is unknown, so the adapter does not revoke it.
    let by_hand = harness.connect_directly().await.unwrap();
    let left = harness.connector().revoke(&by_hand.credentials, harness.clock.now()).await.unwrap_err();
    assert!(matches!(&left, AttemptError::Refused { reason } if reason.contains("dashboard")), "{left:?}");
    assert_eq!(harness.fake.passwords(), ["by hand"]);
}
