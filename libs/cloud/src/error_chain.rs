use std::error::Error;

/// An error and its causes, separated by colons. The SDK's own `DisplayErrorContext` also prints the
/// whole response, which may contain a secret or a key.
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
    fn error_is_shown_with_its_causes() {
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
