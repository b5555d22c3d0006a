//! WordPress 5.6, where a password cannot ask which one it is.

use domain::delivery::AttemptError;
use networks::wordpress::Oddity;

use super::stage;

#[tokio::test]
async fn a_site_of_the_oldest_version_deletes_the_right_password() {
    let (stage, first) = stage().await;
    stage.network.is_odd(Oddity::LacksIntrospection);
    let second = stage.connect().await;
    let names = stage.network.passwords();

    stage.connecting().revoke(&first.credentials, stage.clock.now()).await.unwrap();
    assert_eq!(stage.network.passwords(), [names[0].clone(), names[2].clone()]);
    stage.connecting().revoke(&second.credentials, stage.clock.now()).await.unwrap();
    assert_eq!(stage.network.passwords(), ["by hand"]);

    // Nothing tells which one a person has made: theirs are left alone.
    let by_hand = stage.connect_by_typing().await.unwrap();
    let left = stage.connecting().revoke(&by_hand.credentials, stage.clock.now()).await.unwrap_err();
    assert!(matches!(&left, AttemptError::Refused { reason } if reason.contains("dashboard")), "{left:?}");
    assert_eq!(stage.network.passwords(), ["by hand"]);
}
