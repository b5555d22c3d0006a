/// One line without characters that control a terminal: the text comes from platforms and other
/// users.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|it| if it.is_control() || is_mark(it) { ' ' } else { it }).collect()
}

pub(crate) fn plain_lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// Whether a character changes the direction of the text after it.
fn is_mark(it: char) -> bool {
    matches!(it, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_control_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\nc\u{202e}d"), "a [2Jb c d");
        assert_eq!(plain_lines("a\n\u{7}b"), "a\n b");
    }
}
