//! WordPress 5.6, where a password cannot ask which one it is.

use domain::delivery::AttemptError;
use networks::wordpress::SiteQuirk;

use super::stage;

#[tokio::test]
async fn a_site_of_the_oldest_version_deletes_the_right_password() {
    let (stage, first) = stage().await;
    stage.fake.is_odd(SiteQuirk::LacksIntrospection);
    let second = stage.connect().await;
    let names = stage.fake.passwords();

    stage.connector().revoke(&first.credentials, stage.clock.now()).await.unwrap();
    assert_eq!(stage.fake.passwords(), [names[0].clone(), names[2].clone()]);
    stage.connector().revoke(&second.credentials, stage.clock.now()).await.unwrap();
    assert_eq!(stage.fake.passwords(), ["by hand"]);

    // Nothing tells which one a person has made: theirs are left alone.
    let by_hand = stage.connect_directly().await.unwrap();
    let left = stage.connector().revoke(&by_hand.credentials, stage.clock.now()).await.unwrap_err();
    assert!(matches!(&left, AttemptError::Refused { reason } if reason.contains("dashboard")), "{left:?}");
    assert_eq!(stage.fake.passwords(), ["by hand"]);
}
