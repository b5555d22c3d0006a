use std::fmt;

/// A sentence, usually with the request and the response.
#[derive(Debug, Clone)]
pub struct TestError(String);

pub type Result<T = ()> = std::result::Result<T, TestError>;

impl TestError {
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for TestError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

// `TestError` deliberately does not implement `Error`, so that `?` converts any error into it.
impl<E: std::error::Error> From<E> for TestError {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(it) = cause {
            message = format!("{message}: {it}");
            cause = it.source();
        }
        Self(message)
    }
}

#[macro_export]
macro_rules! fail {
    ($($words:tt)*) => { return Err($crate::error::TestError::new(format!($($words)*))) };
}

#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($words:tt)*) => { if !$condition { $crate::fail!($($words)*) } };
}

#[expect(clippy::needless_pass_by_value, reason = "a check compares what it has just made")]
pub fn same<T: PartialEq + fmt::Debug>(found: T, expected: T, what: &str) -> Result {
    ensure!(found == expected, "{what}: expected {expected:?}, found {found:?}");
    Ok(())
}
