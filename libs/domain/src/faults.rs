//! What is wrong with a request, all of it at once.

use std::fmt::Display;

/// Faults by field, in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(Vec<(String, String)>);

impl Faults {
    /// No faults yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A single fault.
    pub fn one(field: impl Into<String>, message: impl Display) -> Self {
        let mut faults = Self::new();
        faults.add(field, message);
        faults
    }

    /// Adds a fault. `message` continues the field's name: "may not be blank".
    pub fn add(&mut self, field: impl Into<String>, message: impl Display) {
        let field = field.into();
        let message = format!("{field} {message}");
        self.0.push((field, message));
    }

    /// Adds a fault whose message stands by itself.
    pub fn add_sentence(&mut self, field: impl Into<String>, message: impl Display) {
        self.0.push((field.into(), message.to_string()));
    }

    /// Adds all of another's.
    pub fn extend(&mut self, other: Faults) {
        self.0.extend(other.0);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each fault: field, message.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(field, message)| (field.as_str(), message.as_str()))
    }

    /// The first fault, and how many more there are.
    pub fn summary(&self) -> String {
        let first = self.0.first().map_or("the request is not valid", |(_, message)| message);
        match self.0.len() {
            0 | 1 => first.to_owned(),
            2 => format!("{first} (and 1 more error)"),
            more => format!("{first} (and {} more errors)", more - 1),
        }
    }

    /// `value` when there are no faults.
    pub fn or<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_the_first_and_counts_the_rest() {
        let mut faults = Faults::one("content", "is required");
        assert_eq!(faults.summary(), "content is required");
        faults.add("media", "must be a list");
        assert_eq!(faults.summary(), "content is required (and 1 more error)");
        faults.add("platforms", "must be a list");
        assert_eq!(faults.summary(), "content is required (and 2 more errors)");
    }
}
