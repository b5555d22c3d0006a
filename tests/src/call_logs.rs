//! Logs of the store calls of the local stack's functions, which `tests/deployed` compares with roles.

/// Written by `tests/blackbox`.
pub const LOG_OF_CALLS: &str = "target/tests/calls.jsonl";

/// Like `LOG_OF_CALLS`, for `platforms --only several`: unlike on the sandbox platform, posts have
/// prices, and are found by comparing lists.
pub const LOG_OF_PLATFORMS: &str = "target/tests/platform-calls.jsonl";
