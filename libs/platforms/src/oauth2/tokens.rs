//! The answer of a call for tokens.

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::account::Credentials;

/// The longest token that is taken, in bytes. Platforms announce up to 2,048.
const MAX_TOKEN: usize = 8 * 1024;

/// The longest life that is believed; a longer one does not end.
const MAX_LIFE: TimeDelta = TimeDelta::days(50 * 365);

/// The most scopes that are kept, and their longest name in bytes.
const MAX_SCOPES: (usize, usize) = (100, 200);

/// Tokens. Printing them shows only the names of what came along.
#[derive(Clone, Deserialize)]
#[serde(try_from = "Value")]
pub struct Tokens {
    /// Sent with every call.
    pub access_token: SecretString,
    /// Exchanged for others, where one came.
    pub refresh_token: Option<SecretString>,
    expires_in: Option<TimeDelta>,
    scopes: Option<Vec<String>>,
    /// The whole answer.
    answer: Map<String, Value>,
}

/// There is no token in an answer that has to have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the response has no token")]
pub struct NoTokens;

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Tokens").field(&self.answer.keys().collect::<Vec<_>>()).finish()
    }
}

impl Tokens {
    pub fn read(answer: &[u8]) -> Result<Self, NoTokens> {
        serde_json::from_slice(answer).map_err(|_| NoTokens)
    }

    /// What came along under this name. It may be as secret as a token.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.answer.get(name)
    }

    /// The same as text. Ids that are numbers keep all their digits.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.field(name)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// What was granted. A platform may leave that out when it is all that was
    /// `asked` for (RFC 6749, section 5.1).
    pub fn granted(&self, asked: &[&str]) -> Vec<String> {
        self.scopes.clone().unwrap_or_else(|| asked.iter().map(|it| (*it).to_owned()).collect())
    }

    /// The credentials of an account that was connected just now. `extra` is the
    /// adapter's own.
    pub fn credentials(self, extra: Option<SecretString>, now: DateTime<Utc>) -> Credentials {
        let (expires_at, refresh_expires_at) = (self.ends_at(now), self.refresh_ends_at(now));
        let refresh_token = self.refresh_token;
        Credentials { refresh_token, expires_at, refresh_expires_at, extra, ..Credentials::new(self.access_token) }
    }

    /// The credentials of an account after a renewal. The refresh token is kept when
    /// none came, and so is everything that is not about tokens.
    pub fn renewed(self, old: &Credentials, now: DateTime<Utc>) -> Credentials {
        let expires_at = self.ends_at(now);
        // A refresh token that came ends when it says so, or nobody says.
        let kept = self.refresh_token.is_none().then_some(old.refresh_expires_at).flatten();
        let refresh_expires_at = self.refresh_ends_at(now).or(kept);
        let refresh_token = self.refresh_token.or_else(|| old.refresh_token.clone());
        Credentials { access_token: self.access_token, refresh_token, expires_at, refresh_expires_at, ..old.clone() }
    }

    /// These, with what came along with those before that are not given any more.
    pub(super) fn beside(mut self, before: Self) -> Self {
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

    /// When the refresh token ends, under the names that platforms have for it
    /// (LinkedIn and Pinterest the first, `TikTok` the second).
    fn refresh_ends_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let said = ["refresh_token_expires_in", "refresh_expires_in"].iter().find_map(|it| self.field(it));
        now.checked_add_signed(lasting(said?)?)
    }
}

impl TryFrom<Value> for Tokens {
    type Error = NoTokens;

    fn try_from(answer: Value) -> Result<Self, NoTokens> {
        let answer = unwrapped(answer).ok_or(NoTokens)?;
        let token = |name: &str| answer.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
        let access_token = token("access_token").filter(|it| is_token(it)).ok_or(NoTokens)?.into();
        let refresh_token = match token("refresh_token") {
            Some(it) if !is_token(it) => return Err(NoTokens),
            it => it.map(Into::into),
        };
        let expires_in = answer.get("expires_in").and_then(lasting);
        let scopes = ["scope", "scopes", "permissions"].iter().find_map(|it| scopes(answer.get(*it)?));
        Ok(Self { access_token, refresh_token, expires_in, scopes, answer })
    }
}

/// The object with the token, which some platforms put into another one, or into a
/// list in it.
fn unwrapped(answer: Value) -> Option<Map<String, Value>> {
    let Value::Object(mut object) = answer else { return None };
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

/// Whether this can stand in a header (RFC 6749, appendix A.12), and be kept.
fn is_token(it: &str) -> bool {
    it.len() <= MAX_TOKEN && it.bytes().all(|it| (0x20..=0x7e).contains(&it))
}

/// How long a token lasts. Zero is said of tokens that do not end. One that has
/// ended is refused by the platform, which is soon enough.
fn lasting(value: &Value) -> Option<TimeDelta> {
    let seconds = seconds(value).filter(|it| 0 < *it)?;
    TimeDelta::try_seconds(seconds).filter(|it| *it <= MAX_LIFE)
}

/// A number of seconds, which some platforms write as text, or with a fraction.
fn seconds(value: &Value) -> Option<i64> {
    match value {
        #[expect(clippy::cast_possible_truncation, reason = "it is limited to what fits, and rounded down")]
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|it| it as i64)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Scopes, in a list, or with blanks or commas between them. `None` when there are
/// none, as if they had been left out.
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
