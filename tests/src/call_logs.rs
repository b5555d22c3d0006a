//! Logs of the store calls of the local stack's functions, which `tests/deployed` compares with roles.

/// The file in which `tests/blackbox` logs the store calls of the local stack's functions.
pub const LOG_OF_CALLS: &str = "target/tests/calls.jsonl";

/// Like `LOG_OF_CALLS`, for `platforms --only keyless`, where posts are found by comparing lists,
/// which the sandbox platform never needs.
pub const LOG_OF_RECOGNITION: &str = "target/tests/recognition.jsonl";

/// Like `LOG_OF_CALLS`, for `platforms --only several`, where posts have prices, unlike on the
/// sandbox platform.
pub const LOG_OF_PRICES: &str = "target/tests/prices.jsonl";
