use serde_json::{Value, json};

pub(super) const MAX_ADDRESS: usize = 2048;

#[derive(Clone, Copy, Debug)]
pub struct AddressForm {
    /// One of these is the start.
    pub starts: &'static [&'static str],
    pub has: fn(&str) -> bool,
    pub examples: &'static [&'static str],
}

#[derive(Clone, Copy, Debug)]
pub struct TextForm {
    pub pattern: &'static str,
    pub has: fn(&str) -> bool,
    /// The longest text, in Unicode code points.
    pub max: usize,
    pub examples: &'static [&'static str],
}

impl AddressForm {
    pub(super) fn is_of(&self, text: &str) -> bool {
        is_address(self.starts, text) && (self.has)(text)
    }

    pub(super) fn description(&self) -> String {
        format!("must look like {}", self.examples.join(" or "))
    }
}

impl TextForm {
    pub(super) fn is_of(&self, text: &str) -> bool {
        !text.is_empty() && text.chars().count() <= self.max && (self.has)(text)
    }

    pub(super) fn description(&self) -> String {
        format!("must look like {}", self.examples.join(" or "))
    }

    pub(super) fn schema(&self) -> Value {
        json!({"type": "string", "maxLength": self.max, "pattern": self.pattern, "examples": self.examples})
    }
}

pub(super) fn url_schema(starts: &[&str]) -> Value {
    let pattern = format!("^({})\\S+$", starts.join("|"));
    json!({"type": "string", "maxLength": MAX_ADDRESS, "pattern": pattern})
}

pub(super) fn is_address(starts: &[&str], text: &str) -> bool {
    let rest = starts.iter().find_map(|it| text.strip_prefix(*it));
    rest.is_some_and(|it| !it.is_empty() && !it.contains(char::is_whitespace)) && text.chars().count() <= MAX_ADDRESS
}
