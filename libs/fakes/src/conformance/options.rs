//! Options of posts for tests.

use domain::options::Options;
use serde_json::Value;

/// Panics unless this is an object whose values are flags, whole numbers, texts or lists of texts.
pub fn options(values: Value) -> Options {
    serde_json::from_value(values).unwrap()
}
