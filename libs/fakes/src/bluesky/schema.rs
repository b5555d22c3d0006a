//! Checks that the record schemas share: types and lengths, and the server's messages
//! for invalid records.

use serde_json::Value;

/// The server's message about an error and its position.
pub(super) type Checked<T> = Result<T, String>;

pub(super) fn string<'a>(value: &'a Value, path: &str) -> Checked<&'a str> {
    value.as_str().ok_or_else(|| error_message(path, "expected a string"))
}

pub(super) fn array<'a>(value: &'a Value, longest: usize, path: &str) -> Checked<&'a [Value]> {
    match value.as_array() {
        None => fault(path, "expected an array"),
        Some(items) if longest < items.len() => fault(path, &format!("array too big (maximum {longest})")),
        Some(items) => Ok(items),
    }
}

pub(super) fn require(holds: bool, path: &str, message: &str) -> Checked<()> {
    if holds { Ok(()) } else { fault(path, message) }
}

pub(super) fn fault<T>(path: &str, what: &str) -> Checked<T> {
    Err(error_message(path, what))
}

fn error_message(path: &str, what: &str) -> String {
    format!("{what} at {path}")
}
