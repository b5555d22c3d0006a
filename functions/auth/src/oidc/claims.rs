//! The claims of an ID token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::OidcError;

/// Tolerance for the issuer's clock.
const LEEWAY: TimeDelta = TimeDelta::seconds(60);

/// In characters. Longer names are cut, because they are only shown.
const MAX_NAME_CHARS: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IssuerUser {
    /// The issuer's permanent id of the user.
    pub(crate) subject: String,
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) email_verified: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    azp: Option<String>,
    exp: f64,
    nonce: Option<String>,
    email: Option<String>,
    /// A boolean, which some issuers write as a string.
    #[serde(default)]
    email_verified: Value,
    name: Option<String>,
    preferred_username: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Claims {
    /// Parses the middle part of `header.claims.signature`.
    pub(crate) fn read(id_token: &str) -> Result<Self, OidcError> {
        let mut parts = id_token.split('.');
        let (Some(_), Some(claims), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
            return Err(OidcError::Token("it does not have three parts"));
        };
        let json = URL_SAFE_NO_PAD.decode(claims).map_err(|_| OidcError::Token("its claims are not base64"))?;
        serde_json::from_slice(&json).map_err(|_| OidcError::Token("its claims are not complete"))
    }

    /// Whether the token is for this client and this sign-in.
    pub(crate) fn check(
        &self,
        issuer: &str,
        client_id: &str,
        nonce: &str,
        now: DateTime<Utc>,
    ) -> Result<(), OidcError> {
        if self.iss != issuer {
            return Err(OidcError::Token("another issuer made it"));
        }
        let (is_for_us, has_other_audiences) = match &self.aud {
            Audience::One(audience) => (audience == client_id, false),
            Audience::Many(audiences) => (audiences.iter().any(|it| it == client_id), 1 < audiences.len()),
        };
        // A token with several audiences must name the client that requested it.
        let is_authorized_party = self.azp.as_deref().map_or(!has_other_audiences, |it| it == client_id);
        if !is_for_us || !is_authorized_party {
            return Err(OidcError::Token("it is for another client"));
        }
        #[expect(clippy::cast_precision_loss, reason = "seconds are exact in 53 bits")]
        if self.exp <= (now - LEEWAY).timestamp() as f64 {
            return Err(OidcError::Token("it has expired"));
        }
        if self.nonce.as_deref() != Some(nonce) {
            return Err(OidcError::Token("it is for another sign-in"));
        }
        Ok(())
    }

    pub(crate) fn person(self) -> Result<IssuerUser, OidcError> {
        let email = self.email.filter(|it| it.contains('@') && it.len() <= 320);
        let email = email.ok_or(OidcError::Token("it has no e-mail address"))?;
        if self.sub.is_empty() || 255 < self.sub.len() {
            return Err(OidcError::Token("its subject is not one"));
        }
        let names = [self.name, self.preferred_username].into_iter().flatten();
        let name = names.map(|it| it.trim().to_owned()).find(|it| !it.is_empty());
        let name = name.unwrap_or_else(|| email.split('@').next().unwrap_or(&email).to_owned());
        Ok(IssuerUser {
            subject: self.sub,
            name: name.chars().take(MAX_NAME_CHARS).collect(),
            email_verified: self.email_verified == Value::Bool(true) || self.email_verified == "true",
            email,
        })
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn claims(changes: &Value) -> Claims {
        let mut claims = json!({
            "iss": "https://issuer.example",
            "sub": "1",
            "aud": "client",
            "exp": noon().timestamp() + 300,
            "nonce": "n",
            "email": "one@example.com",
            "email_verified": true,
            "name": "One",
        });
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let token = format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims.to_string()));
        Claims::read(&token).unwrap()
    }

    fn is_accepted(changes: &Value) -> bool {
        claims(changes).check("https://issuer.example", "client", "n", noon()).is_ok()
    }

    #[test]
    fn token_is_valid_for_one_issuer_client_and_sign_in() {
        assert!(is_accepted(&json!({})));
        assert!(is_accepted(&json!({"aud": ["client"]})));
        assert!(is_accepted(&json!({"aud": ["client", "other"], "azp": "client"})));
        for wrong in [
            json!({"iss": "https://issuer.example/"}),
            json!({"aud": "other"}),
            json!({"aud": []}),
            json!({"aud": ["client", "other"]}),
            json!({"azp": "other"}),
            json!({"nonce": "m"}),
            json!({"nonce": null}),
        ] {
            assert!(!is_accepted(&wrong), "{wrong}");
        }
    }

    #[test]
    fn token_expires_one_minute_after_its_exp() {
        assert!(is_accepted(&json!({"exp": noon().timestamp() - 59})));
        assert!(!is_accepted(&json!({"exp": noon().timestamp() - 60})));
    }

    #[test]
    fn claims_need_an_email_and_have_a_name() {
        for email in [json!(null), json!("one"), json!(format!("{}@example.com", "x".repeat(309)))] {
            assert!(claims(&json!({ "email": email })).person().is_err(), "{email}");
        }
        let longest = format!("{}@example.com", "x".repeat(308));
        assert_eq!(claims(&json!({ "email": longest })).person().unwrap().email.len(), 320);
        for subject in [String::new(), "x".repeat(256)] {
            assert!(claims(&json!({ "sub": subject })).person().is_err(), "{subject}");
        }
        assert_eq!(claims(&json!({ "sub": "x".repeat(255) })).person().unwrap().subject.len(), 255);
        assert_eq!(claims(&json!({"name": " "})).person().unwrap().name, "one");
        assert_eq!(claims(&json!({"name": null, "preferred_username": "uno"})).person().unwrap().name, "uno");
        assert!(claims(&json!({"email_verified": "true"})).person().unwrap().email_verified);
        assert!(!claims(&json!({"email_verified": null})).person().unwrap().email_verified);
    }

    proptest! {
        #[test]
        fn any_text_is_a_token_or_an_error(text in "[A-Za-z0-9._-]{0,80}") {
            let _ = Claims::read(&text);
        }
    }
}
