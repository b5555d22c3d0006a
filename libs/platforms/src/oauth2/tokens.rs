use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::account::Credentials;

/// In bytes. Platforms announce up to 2,048.
const MAX_TOKEN: usize = 8 * 1024;

/// A token with a longer lifetime counts as one that does not expire.
const MAX_LIFE: TimeDelta = TimeDelta::days(50 * 365);

/// The number of scopes, and the length of each in bytes.
const MAX_SCOPES: (usize, usize) = (100, 200);

/// `Debug` prints only the names of the response's fields.
#[derive(Clone, Deserialize)]
#[serde(try_from = "Value")]
pub struct Tokens {
    pub access_token: SecretString,
    pub refresh_token: Option<SecretString>,
    expires_in: Option<TimeDelta>,
    scopes: Option<Vec<String>>,
    answer: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the response has no token")]
pub struct NoTokens;

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Tokens").field(&self.answer.keys().collect::<Vec<_>>()).finish()
    }
}

impl Tokens {
    pub fn read(response: &[u8]) -> Result<Self, NoTokens> {
        serde_json::from_slice(response).map_err(|_| NoTokens)
    }

    /// A field of the response. It may be as secret as a token.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.answer.get(name)
    }

    /// A field as text. Numeric ids keep all digits.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.field(name)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// The granted scopes. A platform may omit them if they equal the `requested` ones (RFC 6749,
    /// section 5.1).
    pub fn granted(&self, requested: &[&str]) -> Vec<String> {
        self.scopes.clone().unwrap_or_else(|| requested.iter().map(|it| (*it).to_owned()).collect())
    }

    pub fn credentials(self, extra: Option<SecretString>, now: DateTime<Utc>) -> Credentials {
        let (expires_at, refresh_expires_at) = (self.ends_at(now), self.refresh_ends_at(now));
        let refresh_token = self.refresh_token;
        Credentials { refresh_token, expires_at, refresh_expires_at, extra, ..Credentials::new(self.access_token) }
    }

    /// The credentials of an account after a refresh. The refresh token is kept if the response has
    /// none, and so is everything that is not about tokens.
    pub fn refreshed(self, old: &Credentials, now: DateTime<Utc>) -> Credentials {
        let expires_at = self.ends_at(now);
        // A new refresh token has its own expiry, or none is known.
        let old_expiry = self.refresh_token.is_none().then_some(old.refresh_expires_at).flatten();
        let refresh_expires_at = self.refresh_ends_at(now).or(old_expiry);
        let refresh_token = self.refresh_token.or_else(|| old.refresh_token.clone());
        Credentials { access_token: self.access_token, refresh_token, expires_at, refresh_expires_at, ..old.clone() }
    }

    /// These tokens, with the fields of the earlier response that this one omits.
    pub(super) fn merged_with(mut self, before: Self) -> Self {
        for (name, value) in before.answer {
            self.answer.entry(name).or_insert(value);
        }
        self.scopes = self.scopes.or(before.scopes);
        self.refresh_token = self.refresh_token.or(before.refresh_token);
        self
    }

    fn ends_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        now.checked_add_signed(self.expires_in?)
    }

    /// When the refresh token expires. LinkedIn and Pinterest use the first name, `TikTok` the
    /// second.
    fn refresh_ends_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let lifetime = ["refresh_token_expires_in", "refresh_expires_in"].iter().find_map(|it| self.field(it));
        now.checked_add_signed(lasting(lifetime?)?)
    }
}

impl TryFrom<Value> for Tokens {
    type Error = NoTokens;

    fn try_from(response: Value) -> Result<Self, NoTokens> {
        let response = unwrap_object(response).ok_or(NoTokens)?;
        let token = |name: &str| response.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
        let access_token = token("access_token").filter(|it| is_token(it)).ok_or(NoTokens)?.into();
        let refresh_token = match token("refresh_token") {
            Some(it) if !is_token(it) => return Err(NoTokens),
            it => it.map(Into::into),
        };
        let expires_in = response.get("expires_in").and_then(lasting);
        let scopes = ["scope", "scopes", "permissions"].iter().find_map(|it| scopes(response.get(*it)?));
        Ok(Self { access_token, refresh_token, expires_in, scopes, answer: response })
    }
}

/// The object with the token, which some platforms nest in another object, or in a list in it.
fn unwrap_object(response: Value) -> Option<Map<String, Value>> {
    let Value::Object(mut object) = response else { return None };
    if object.contains_key("access_token") {
        return Some(object);
    }
    match object.remove("data")? {
        Value::Object(inner) => Some(inner),
        Value::Array(list) => list.into_iter().next().and_then(|it| match it {
            Value::Object(inner) => Some(inner),
            _ => None,
        }),
        _ => None,
    }
}

/// Whether the value may be sent in a header (RFC 6749, appendix A.12), and is short enough to be
/// stored.
fn is_token(it: &str) -> bool {
    it.len() <= MAX_TOKEN && it.bytes().all(|it| (0x20..=0x7e).contains(&it))
}

/// The lifetime of a token. Zero means that it does not expire. If it has expired in fact, the
/// platform refuses it, which is early enough.
fn lasting(value: &Value) -> Option<TimeDelta> {
    let seconds = seconds(value).filter(|it| 0 < *it)?;
    TimeDelta::try_seconds(seconds).filter(|it| *it <= MAX_LIFE)
}

/// A number of seconds, which some platforms send as text or with a fraction.
fn seconds(value: &Value) -> Option<i64> {
    match value {
        #[expect(clippy::cast_possible_truncation, reason = "it is limited to what fits, and rounded down")]
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|it| it as i64)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A list, or a text with blanks or commas between the scopes. `None` if there are none, as if the
/// field were missing.
fn scopes(value: &Value) -> Option<Vec<String>> {
    let (most, longest) = MAX_SCOPES;
    let split = |text: &str| {
        let parts = text.split(|it: char| it == ',' || it.is_whitespace());
        parts.filter(|it| !it.is_empty() && it.len() <= longest).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut scopes = match value {
        Value::String(text) => split(text),
        Value::Array(list) => list.iter().filter_map(Value::as_str).flat_map(split).collect(),
        _ => return None,
    };
    scopes.truncate(most);
    (!scopes.is_empty()).then_some(scopes)
}
