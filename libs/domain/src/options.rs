//! Options of targets, and which of them a platform has.

mod spec;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use spec::{AddressForm, OptionKind, OptionSpec, PlatformOptions, Required, TextForm, schema};

/// Of one target.
pub const MAX_OPTIONS: usize = 30;

/// Options about the post itself, which its replies do not repeat.
const FIRST_SEGMENT_ONLY: &[&str] = &[
    "document_title",
    "first_comment",
    "kind",
    "link",
    "link_attachment",
    "poll_duration_minutes",
    "poll_options",
    "quote_url",
    "reply_settings",
    "reply_to_post_url",
    "thread_name",
    "title",
    "topic_tag",
];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OptionValue {
    Flag(bool),
    Number(i64),
    /// A text, or one of several choices.
    Text(String),
    List(Vec<String>),
}

impl OptionValue {
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::List(texts) => texts.iter().map(String::len).sum(),
            Self::Flag(_) | Self::Number(_) => 0,
        }
    }
}

impl From<&str> for OptionValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<bool> for OptionValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Options(BTreeMap<String, OptionValue>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestedOptions {
    pub said: Options,
    /// Names of options that are `null`. They count as absent, but a name that the platform does
    /// not have is an error even with `null`.
    pub unsaid: BTreeSet<String>,
}

impl RequestedOptions {
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.said.iter().map(|(name, _)| name).chain(self.unsaid.iter().map(String::as_str))
    }
}

impl Options {
    pub const NONE: &'static Self = &Self(BTreeMap::new());

    #[must_use]
    pub fn of_replies(&self) -> Self {
        let applies = |(name, _): &(&str, &OptionValue)| !FIRST_SEGMENT_ONLY.contains(name);
        self.iter().filter(applies).map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &OptionValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub fn get(&self, name: &str) -> Option<&OptionValue> {
        self.0.get(name)
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            OptionValue::Text(text) => Some(text),
            OptionValue::Flag(_) | OptionValue::Number(_) | OptionValue::List(_) => None,
        }
    }

    pub fn number(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            OptionValue::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            OptionValue::Flag(flag) => Some(*flag),
            OptionValue::Text(_) | OptionValue::Number(_) | OptionValue::List(_) => None,
        }
    }

    /// Empty if the option is absent or not a list.
    pub fn list(&self, name: &str) -> &[String] {
        match self.get(name) {
            Some(OptionValue::List(texts)) => texts,
            _ => &[],
        }
    }

    /// Total length of its names and texts.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.bytes()).sum()
    }
}

impl FromIterator<(String, OptionValue)> for Options {
    fn from_iter<I: IntoIterator<Item = (String, OptionValue)>>(options: I) -> Self {
        Self(options.into_iter().collect())
    }
}
