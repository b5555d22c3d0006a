//! Signed callbacks of Meta: a user has removed the app, or requests the deletion of their data.
//!
//! Facts: `signature.payload`, both in base64url without padding. The signature is HMAC-SHA256,
//! with the app's secret, of the second part as it is written. The payload is JSON: `algorithm`,
//! `user_id` (valid for this app only), `issued_at` in seconds. Source:
//! `facebook-login/guides/advanced/existing-system`, "Parsing the signed request";
//! `app-dashboard/data-deletion-callback`.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use ring::hmac;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;

use crate::app::AppSource;
use crate::deauthorization::{DeauthorizationCallback, InvalidCallback};

/// In bytes.
const MOST_BYTES: usize = 8 * 1024;

#[derive(Deserialize)]
struct Payload {
    algorithm: String,
    /// A string; in some callbacks a number.
    user_id: Value,
    issued_at: Option<i64>,
}

/// [`InvalidCallback::Forged`] if the signature or the form is invalid.
pub(crate) async fn read(
    app: &dyn AppSource,
    message: &str,
    now: DateTime<Utc>,
) -> Result<DeauthorizationCallback, InvalidCallback> {
    let app = app.credentials().await?;
    checked(&app.client_secret, message, now).ok_or(InvalidCallback::Forged)
}

fn checked(secret: &SecretString, message: &str, now: DateTime<Utc>) -> Option<DeauthorizationCallback> {
    let (signature, payload) = message.split_once('.').filter(|_| message.len() <= MOST_BYTES)?;
    // Some of Meta's callbacks have padding.
    let decode = |it: &str| URL_SAFE_NO_PAD.decode(it.trim_end_matches('=')).ok();
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes());
    // In constant time.
    hmac::verify(&key, payload.as_bytes(), &decode(signature)?).ok()?;
    let Payload { algorithm, user_id, issued_at } = serde_json::from_slice(&decode(payload)?).ok()?;
    let grant = match user_id {
        Value::String(id) => id,
        Value::Number(id) => id.to_string(),
        _ => return None,
    };
    let is_id = !grant.is_empty() && grant.len() <= 40 && grant.bytes().all(|it| it.is_ascii_digit());
    let at = issued_at.and_then(|it| DateTime::from_timestamp(it, 0)).unwrap_or(now).min(now);
    (is_id && algorithm.eq_ignore_ascii_case("HMAC-SHA256")).then_some(DeauthorizationCallback { grant, at })
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::testing::noon;
    use serde_json::json;

    use super::*;

    fn signed(secret: &str, payload: &Value) -> String {
        let payload = URL_SAFE_NO_PAD.encode(payload.to_string());
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, payload.as_bytes()));
        format!("{signature}.{payload}")
    }

    fn read(message: &str) -> Option<DeauthorizationCallback> {
        checked(&"app-secret".into(), message, noon())
    }

    #[test]
    fn callback_signed_with_the_app_secret_is_accepted() {
        let an_hour_ago = noon() - TimeDelta::hours(1);
        let payload = json!({ "algorithm": "HMAC-SHA256", "user_id": "218471", "issued_at": an_hour_ago.timestamp() });
        let expected = DeauthorizationCallback { grant: "218471".to_owned(), at: an_hour_ago };
        let message = signed("app-secret", &payload);
        assert_eq!(read(&message), Some(expected.clone()));
        let (signature, payload) = message.split_once('.').unwrap();
        assert_eq!(read(&format!("{signature}=.{payload}")), Some(expected), "it may be padded");
        let number = json!({ "algorithm": "HMAC-SHA256", "user_id": 218_471 });
        assert_eq!(read(&signed("app-secret", &number)).unwrap().at, noon());
        let tomorrow = (noon() + TimeDelta::days(1)).timestamp();
        let later = json!({ "algorithm": "HMAC-SHA256", "user_id": "1", "issued_at": tomorrow });
        assert_eq!(read(&signed("app-secret", &later)).unwrap().at, noon(), "nothing ends in the future");
    }

    #[test]
    fn forged_callback_is_refused() {
        let payload = json!({ "algorithm": "HMAC-SHA256", "user_id": "218471" });
        let genuine = signed("app-secret", &payload);
        let (signature, _) = genuine.split_once('.').unwrap();
        let other = URL_SAFE_NO_PAD.encode(json!({ "algorithm": "HMAC-SHA256", "user_id": "1" }).to_string());
        for forged in [
            signed("another-secret", &payload),
            signed("", &payload),
            format!("{signature}.{other}"),
            format!(".{other}"),
            format!("{}.{other}", URL_SAFE_NO_PAD.encode([0; 32])),
            signature.to_owned(),
            String::new(),
            ".".to_owned(),
            "ä.ö".to_owned(),
            signed("app-secret", &json!({ "algorithm": "none", "user_id": "218471" })),
            signed("app-secret", &json!({ "algorithm": "HMAC-SHA256", "user_id": "a/b" })),
            signed("app-secret", &json!({ "algorithm": "HMAC-SHA256", "user_id": null })),
            signed("app-secret", &json!({ "algorithm": "HMAC-SHA256" })),
            signed("app-secret", &json!({ "algorithm": "HMAC-SHA256", "user_id": "1", "x": "y".repeat(9_000) })),
        ] {
            assert_eq!(read(&forged), None, "{forged}");
        }
    }
}
