//! The length of a text as X counts it.
//!
//! Source: version 3 of the configuration of twitter-text, which X names as the definition. The
//! text is normalized to form C. Letters of the ranges below count 1 and all others 2; an emoji
//! counts 2, whatever it consists of.

mod address;
mod domain_name;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use icu_normalizer::ComposingNormalizerBorrowed;

use super::emoji;
pub(super) use address::find as addresses;

const HEAVY: u64 = 2;

pub(super) fn normalized(text: &str) -> Cow<'_, str> {
    ComposingNormalizerBorrowed::new_nfc().normalize(text)
}

/// The length of a normalized text without links.
pub(super) fn length(text: &str) -> u64 {
    parts(text).sum()
}

pub(super) fn has_heavy(text: &str) -> bool {
    parts(text).any(|it| it == HEAVY)
}

fn parts(text: &str) -> impl Iterator<Item = u64> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let emoji = emoji::emoji_len_at_start(rest);
        rest = &rest[emoji.unwrap_or(first.len_utf8())..];
        Some(if emoji.is_some() { HEAVY } else { weight(first) })
    })
}

/// Weight 1: Latin to Georgian, and the spaces, joiners, dashes, quotation marks and primes of the
/// general punctuation.
const fn weight(letter: char) -> u64 {
    match letter {
        '\0'..='\u{10ff}' | '\u{2000}'..='\u{200d}' | '\u{2010}'..='\u{201f}' | '\u{2032}'..='\u{2037}' => 1,
        _ => HEAVY,
    }
}
