//! What PHP and plugins print around the answers of real sites.

use domain::delivery::AttemptError;
use domain::media::MimeType;
use networks::wordpress::{Oddity, Wordpress};
use platforms::conformance::network::Network;
use platforms::conformance::samples::sample;
use platforms::conformance::stage::Stage;

use super::{list, options};

/// Byte-order marks, notices of PHP and comments of cache plugins around every answer.
#[tokio::test]
async fn what_php_and_plugins_print_around_an_answer_is_passed_over() {
    let stage = Stage::<Wordpress<true>>::new().await;
    stage.network.is_odd(Oddity::PrintsAroundJson);
    stage.network.is_odd(Oddity::HidesItsApi);

    let account = stage.connect().await;
    let mut post = stage.post(&account, "through the noise", vec![sample(MimeType::Png, 1)]);
    post.options = options([("tags", list(&["boats", "boats"]))]);
    stage.deliver(&mut post).await.unwrap();
    assert_eq!(stage.network.public().len(), 1);

    stage.network.revoke();
    let mut post = stage.post(&account, "after the password was deleted", Vec::new());
    let lost = stage.deliver(&mut post).await.unwrap_err();
    assert!(matches!(lost, AttemptError::Unauthorized { .. }), "{lost:?}");
}
