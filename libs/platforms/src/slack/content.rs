//! Writes a text for Slack.
//!
//! The format is mrkdwn, as users write it in Slack themselves: `*bold*`, `_italic_` and so on are
//! formatted, because the comment of files always is. Only the three characters that control more
//! than formatting are written as entities, so that no user is notified by accident (`<!channel>`),
//! and no link leads elsewhere than it shows. Slack detects URLs and links them.

use domain::delivery::AttemptError;

/// The most characters of a text, as it is written for Slack. From 4,001 on it may be shown as
/// several messages ("limit the number of characters to 4,000"), of which only the first would be
/// recognized as ours; from 40,001 on the rest is cut off.
pub(super) const MAX_TEXT: u32 = 4_000;

pub(super) fn written(text: &str) -> Result<String, AttemptError> {
    let written = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let length = written.chars().count();
    if length <= MAX_TEXT as usize {
        return Ok(written);
    }
    let reason = format!(
        "Slack accepts at most {MAX_TEXT} characters, this text has {length}: & counts as 5 of them, < and > as 4"
    );
    Err(AttemptError::Refused { reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_contains_no_commands() {
        for (text, expected) in [
            ("<!channel> & <@U1>", "&lt;!channel&gt; &amp; &lt;@U1&gt;"),
            ("&amp;", "&amp;amp;"),
            ("*bold* https://example.invalid/?a=1&b=2", "*bold* https://example.invalid/?a=1&amp;b=2"),
        ] {
            assert_eq!(written(text).unwrap(), expected);
        }
    }

    #[test]
    fn text_length_counts_entities() {
        assert!(written(&"x".repeat(4_000)).is_ok());
        assert!(written(&"<".repeat(1_000)).is_ok());
        for long in ["x".repeat(4_001), "<".repeat(1_001)] {
            assert!(matches!(written(&long), Err(AttemptError::Refused { reason }) if reason.contains("at most 4000")));
        }
    }
}
