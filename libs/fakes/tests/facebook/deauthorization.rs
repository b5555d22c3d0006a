//! Notifications that Meta sends.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fakes::facebook::PERSON_ID;
use platforms::{DeauthorizationCallback, InvalidCallback};
use ring::hmac;
use serde_json::json;

use crate::harness;

#[tokio::test]
async fn a_person_who_removes_the_app_is_known_by_the_name_of_their_grant() {
    let (harness, account) = harness().await;
    let now = harness.clock.now();
    let payload = json!({ "algorithm": "HMAC-SHA256", "user_id": PERSON_ID, "issued_at": now.timestamp() });
    let payload = URL_SAFE_NO_PAD.encode(payload.to_string());
    let signed = |secret: &str| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        format!("{}.{payload}", URL_SAFE_NO_PAD.encode(hmac::sign(&key, payload.as_bytes())))
    };
    let asked = async |message: String| harness.connector().read_deauthorization(&message, now).await;

    let notice = asked(signed(harness.fake.app_secret())).await;

    assert_eq!(notice, Ok(DeauthorizationCallback { grant: account.grant_name().to_owned(), at: now }));
    assert_eq!(asked(signed("another")).await, Err(InvalidCallback::Forged));
    assert_eq!(asked(payload.clone()).await, Err(InvalidCallback::Forged));
}
