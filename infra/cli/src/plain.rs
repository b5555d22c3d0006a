//! Texts of others, such that they can be printed.

/// A text on one line, without what would steer a terminal: it comes from
/// platforms and from other people.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|it| if it.is_control() || is_mark(it) { ' ' } else { it }).collect()
}

pub(crate) fn plain_lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// Whether a character changes the direction of what follows.
fn is_mark(it: char) -> bool {
    matches!(it, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_steers_no_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\nc\u{202e}d"), "a [2Jb c d");
        assert_eq!(plain_lines("a\n\u{7}b"), "a\n b");
    }
}
