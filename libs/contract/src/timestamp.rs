//! Timestamps in the API's format.

use std::fmt;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Parsed with any offset, written in UTC with milliseconds: `2026-11-21T09:30:00.000Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub DateTime<Utc>);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(at: DateTime<Utc>) -> Self {
        Self(at)
    }
}

/// When a post is published. [`PostTime::Now`] means the same whenever it is sent, so a request
/// with it can be repeated under its idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostTime {
    Now,
    At(Timestamp),
}

const NOW: &str = "now";

impl fmt::Display for PostTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => f.write_str(NOW),
            Self::At(at) => at.fmt(f),
        }
    }
}

impl Serialize for PostTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PostTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = String::deserialize(deserializer)?;
        if raw == NOW {
            return Ok(Self::Now);
        }
        let at = DateTime::parse_from_rfc3339(&raw).map_err(|_| {
            let what = "the time of a post must have an offset, as in 2026-11-21T09:30:00+01:00, or be \"now\"";
            serde::de::Error::custom(what)
        })?;
        Ok(Self::At(Timestamp(at.to_utc())))
    }
}

impl From<DateTime<Utc>> for PostTime {
    fn from(at: DateTime<Utc>) -> Self {
        Self::At(Timestamp(at))
    }
}

/// The forms of a [`PostTime`], for its schema.
#[derive(ToSchema)]
#[schema(description = "The time of a post.")]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum PostTimeForm {
    At(#[schema(inline)] AtForm),
    Now(#[schema(inline)] NowForm),
}

/// A date and a time with an offset (RFC 3339).
#[derive(ToSchema)]
#[schema(format = DateTime)]
#[expect(dead_code, reason = "only its schema is used")]
struct AtForm(String);

/// Publish now. A repeated request with the same `idempotency-key` is still the same request.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum NowForm {
    Now,
}

impl PartialSchema for PostTime {
    fn schema() -> RefOr<Schema> {
        PostTimeForm::schema()
    }
}

impl ToSchema for PostTime {}
