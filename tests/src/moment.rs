//! Times as the suite writes and reads them.

use std::{future::Future, time::Duration};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde_json::Value;

use crate::error::{Result, TestError};

pub fn now() -> DateTime<Utc> {
    Utc::now()
}

pub fn in_seconds(seconds: i64) -> String {
    written(now() + TimeDelta::seconds(seconds))
}

pub fn written(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// A time of a response must be UTC with milliseconds and `Z`.
pub fn read(value: &Value) -> Result<DateTime<Utc>> {
    let text = value.as_str().ok_or_else(|| TestError::new(format!("{value} is not a time")))?;
    let time: DateTime<Utc> = text.parse()?;
    if written(time) != text {
        return Err(TestError::new(format!("{text} is not written as {}", written(time))));
    }
    Ok(time)
}

pub async fn eventually<T, F>(limit: Duration, what: &str, mut poll: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let started = std::time::Instant::now();
    loop {
        if let Some(result) = poll().await? {
            return Ok(result);
        }
        if limit < started.elapsed() {
            return Err(TestError::new(format!("{what} did not happen within {limit:?}")));
        }
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
}
