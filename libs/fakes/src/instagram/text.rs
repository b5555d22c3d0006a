//! The limits of a caption.
//!
//! Source: `reference/ig-user/media`: "Maximum 2200 characters, 30 hashtags, and 20 @ tags."
//! The documentation does not define a character. The fake counts UTF-16 units, the strictest of
//! the usual units.

/// The error of an invalid caption.
pub(super) fn fault(caption: &str) -> Option<&'static str> {
    if 2_200 < caption.encode_utf16().count() {
        return Some("The caption was too long. Max length 2200.");
    }
    if 30 < count_words_with_prefix('#', caption) {
        return Some("The caption has more than 30 hashtags.");
    }
    (20 < count_words_with_prefix('@', caption)).then_some("The caption has more than 20 @ tags.")
}

/// How many words start with this mark. Inside a word, the mark has no meaning.
fn count_words_with_prefix(mark: char, caption: &str) -> usize {
    let is_of_word = |it: char| it.is_alphanumeric() || it == '_';
    let mut before = ' ';
    let mut letters = caption.chars().peekable();
    let mut count = 0;
    while let Some(letter) = letters.next() {
        if letter == mark && !is_of_word(before) && letters.peek().is_some_and(|it| is_of_word(*it)) {
            count += 1;
        }
        before = letter;
    }
    count
}
