//! What a check says when it fails.

use std::fmt;

/// Why a check failed: a sentence, usually with the request and the response.
#[derive(Debug, Clone)]
pub struct TestError(String);

/// The result of a check and of everything that can fail one.
pub type Result<T = ()> = std::result::Result<T, TestError>;

impl TestError {
    /// A fault with this explanation.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

impl fmt::Display for TestError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

// `Fault` deliberately does not implement `Error`, so that `?` turns any error
// into a fault.
impl<E: std::error::Error> From<E> for TestError {
    fn from(error: E) -> Self {
        let mut words = error.to_string();
        let mut cause = error.source();
        while let Some(it) = cause {
            words = format!("{words}: {it}");
            cause = it.source();
        }
        Self(words)
    }
}

/// Ends the check with a fault.
#[macro_export]
macro_rules! fail {
    ($($words:tt)*) => { return Err($crate::error::TestError::new(format!($($words)*))) };
}

/// Ends the check with a fault unless the condition holds.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($words:tt)*) => { if !$condition { $crate::fail!($($words)*) } };
}

/// A fault unless both are equal.
#[expect(clippy::needless_pass_by_value, reason = "a check compares what it has just made")]
pub fn same<T: PartialEq + fmt::Debug>(found: T, expected: T, what: &str) -> Result {
    ensure!(found == expected, "{what}: expected {expected:?}, found {found:?}");
    Ok(())
}
