use std::fmt::{self, Display, Write};

/// Validation errors by field, in the order in which they were found.
///
/// Only the first [`ValidationErrors::MAX_KEPT`] are kept, and the parts of the request that they
/// repeat are cut, so that a response is small whatever the request contains. All are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidationErrors {
    kept: Vec<(String, String)>,
    count: usize,
}

/// The most bytes of a field's name, written as JSON.
const MAX_FIELD_BYTES: usize = 256;

/// The most bytes of a message, written as JSON. With the names, fifty errors and the first of them
/// once more stay below 64 KiB.
const MAX_MESSAGE_BYTES: usize = 900;

impl ValidationErrors {
    /// More would not be read.
    pub const MAX_KEPT: usize = 50;

    pub fn new() -> Self {
        Self::default()
    }

    pub fn one(field: impl Display, message: impl Display) -> Self {
        let mut errors = Self::new();
        errors.add(field, message);
        errors
    }

    /// Adds an error. `message` continues the field's name: "may not be blank". Neither is
    /// formatted after [`ValidationErrors::MAX_KEPT`] errors.
    pub fn add(&mut self, field: impl Display, message: impl Display) {
        self.count += 1;
        if self.kept.len() < Self::MAX_KEPT {
            let field = cut(&field, MAX_FIELD_BYTES);
            let message = cut(&format_args!("{field} {message}"), MAX_MESSAGE_BYTES);
            self.kept.push((field, message));
        }
    }

    /// Adds an error whose message is a sentence of its own.
    pub fn add_sentence(&mut self, field: impl Display, message: impl Display) {
        self.count += 1;
        if self.kept.len() < Self::MAX_KEPT {
            self.kept.push((cut(&field, MAX_FIELD_BYTES), cut(&message, MAX_MESSAGE_BYTES)));
        }
    }

    pub fn extend(&mut self, other: ValidationErrors) {
        self.count += other.count;
        let free = Self::MAX_KEPT - self.kept.len();
        self.kept.extend(other.kept.into_iter().take(free));
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.kept.iter().map(|(field, message)| (field.as_str(), message.as_str()))
    }

    /// The first error, and how many more there are, kept or not.
    pub fn summary(&self) -> String {
        let first = self.kept.first().map_or("the request is invalid", |(_, message)| message);
        match self.count {
            0 | 1 => first.to_owned(),
            2 => format!("{first} (and 1 more error)"),
            more => format!("{first} (and {} more errors)", more - 1),
        }
    }

    pub fn or<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
}

/// A text of at most `max` bytes of JSON. A text that was cut ends in "…".
fn cut(text: &impl Display, max: usize) -> String {
    let mut cut = BoundedText { text: String::new(), left: max - '…'.len_utf8() };
    if write!(cut, "{text}").is_err() {
        cut.text.push('…');
    }
    cut.text
}

/// Accepts text up to its limit and then returns an error, so that the formatting stops.
struct BoundedText {
    text: String,
    left: usize,
}

impl Write for BoundedText {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        for letter in more.chars() {
            // The longest encoding: JSON escapes control characters, and most have no short escape.
            let bytes = match letter {
                '"' | '\\' => 2,
                _ if letter.is_control() => 6,
                _ => letter.len_utf8(),
            };
            self.left = self.left.checked_sub(bytes).ok_or(fmt::Error)?;
            self.text.push(letter);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn summary_has_the_first_error_and_counts_the_rest() {
        let mut errors = ValidationErrors::one("content", "is required");
        assert_eq!(errors.summary(), "content is required");
        errors.add("media", "must be a list");
        assert_eq!(errors.summary(), "content is required (and 1 more error)");
        errors.add("platforms", "must be a list");
        assert_eq!(errors.summary(), "content is required (and 2 more errors)");
    }

    #[test]
    fn all_are_counted_and_the_first_fifty_kept() {
        let mut errors = ValidationErrors::new();
        for index in 0..70_000 {
            errors.add(format_args!("scopes.{index}"), "must be a string");
        }
        let mut more = ValidationErrors::one("content", "is required");
        more.extend(errors);

        assert_eq!(more.iter().count(), 50);
        assert_eq!(more.iter().last(), Some(("scopes.48", "scopes.48 must be a string")));
        assert_eq!(more.summary(), "content is required (and 70000 more errors)");
    }

    #[test]
    fn message_is_formatted_only_if_it_is_kept() {
        struct Costly<'a>(&'a std::cell::Cell<u32>);
        impl Display for Costly<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.set(self.0.get() + 1);
                f.write_str("is wrong")
            }
        }
        let (mut errors, written) = (ValidationErrors::new(), std::cell::Cell::new(0));
        for _ in 0..1000 {
            errors.add("field", Costly(&written));
        }
        assert_eq!(written.get(), 50);
    }

    #[test]
    fn long_field_name_is_cut_at_a_character() {
        let errors = ValidationErrors::one("é".repeat(100_000), "is not a field");
        let (field, message) = errors.iter().next().unwrap();
        assert_eq!(field, format!("{}…", "é".repeat(126)));
        assert_eq!(message, format!("{field} is not a field"));
    }

    proptest! {
        #[test]
        fn fifty_errors_are_small_despite_long_values(
            letters in proptest::collection::vec(any::<char>(), 1..4),
            times in 1_usize..60_000,
        ) {
            let name: String = letters.iter().cycle().take(times).collect();
            let mut faults = ValidationErrors::new();
            for _ in 0..60 {
                faults.add(&name, &name);
            }
            let kept: Vec<_> = faults.iter().collect();
            let json = serde_json::to_string(&(faults.summary(), kept)).unwrap();
            prop_assert!(json.len() < 64 * 1024, "{} bytes", json.len());
        }
    }
}
