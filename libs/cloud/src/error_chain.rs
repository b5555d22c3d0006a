//! What failed and why, for the log.

use std::error::Error;

/// An error and what caused it. The SDK's own way of showing that prints the
/// whole answer, too, which may hold a secret or a key.
pub(crate) fn chain(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", chain(cause)),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_shown_with_its_causes() {
        let lost = std::io::Error::other(std::io::Error::other("the line is cut"));

        assert_eq!(chain(&lost), "the line is cut");

        let read = serde_json::from_reader::<_, u8>(Cut).unwrap_err();
        assert!(chain(&read).ends_with("the line is cut"), "{}", chain(&read));
    }

    struct Cut;

    impl std::io::Read for Cut {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the line is cut"))
        }
    }
}
