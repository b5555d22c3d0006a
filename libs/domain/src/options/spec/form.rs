//! Values that have to have a form.

use serde_json::{Value, json};

/// The longest address.
pub(super) const MAX_ADDRESS: usize = 2048;

#[derive(Clone, Copy, Debug)]
pub struct AddressForm {
    /// What it begins with: one of these.
    pub starts: &'static [&'static str],
    /// Whether an address that begins so has the form.
    pub has: fn(&str) -> bool,
    /// What it looks like.
    pub examples: &'static [&'static str],
}

/// The form of words, such as a name or an id.
#[derive(Clone, Copy, Debug)]
pub struct TextForm {
    /// A pattern that all of them match, in JSON Schema.
    pub pattern: &'static str,
    /// Whether this is one.
    pub has: fn(&str) -> bool,
    /// The longest, in Unicode code points.
    pub max: usize,
    /// What it looks like.
    pub examples: &'static [&'static str],
}

impl AddressForm {
    pub(super) fn is_of(&self, text: &str) -> bool {
        is_address(self.starts, text) && (self.has)(text)
    }

    pub(super) fn told(&self) -> String {
        format!("must look like {}", self.examples.join(" or "))
    }
}

impl TextForm {
    pub(super) fn is_of(&self, text: &str) -> bool {
        !text.is_empty() && text.chars().count() <= self.max && (self.has)(text)
    }

    pub(super) fn told(&self) -> String {
        format!("must look like {}", self.examples.join(" or "))
    }

    pub(super) fn schema(&self) -> Value {
        json!({"type": "string", "maxLength": self.max, "pattern": self.pattern, "examples": self.examples})
    }
}

/// What any address with one of these starts may be, in JSON Schema.
pub(super) fn address_schema(starts: &[&str]) -> Value {
    let pattern = format!("^({})\\S+$", starts.join("|"));
    json!({"type": "string", "maxLength": MAX_ADDRESS, "pattern": pattern})
}

/// Whether this begins with one of the starts, and goes on without white space.
pub(super) fn is_address(starts: &[&str], text: &str) -> bool {
    let rest = starts.iter().find_map(|it| text.strip_prefix(*it));
    rest.is_some_and(|it| !it.is_empty() && !it.contains(char::is_whitespace)) && text.chars().count() <= MAX_ADDRESS
}
