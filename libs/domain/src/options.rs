//! What a post can say on one platform alone: the options of a target, and which
//! of them a platform has.

mod spec;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use spec::{AddressForm, OptionKind, OptionSpec, Required, TextForm, Vocabulary, schema};

/// The most options of a target.
pub const MAX_OPTIONS: usize = 30;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OptionValue {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Number(i64),
    /// Words, or one of several choices.
    Text(String),
    /// Several words.
    List(Vec<String>),
}

impl OptionValue {
    /// How many bytes its texts have.
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

/// The options of a target, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Options(BTreeMap<String, OptionValue>);

/// The options of a target as a client names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedOptions {
    /// Those that have a value.
    pub said: Options,
    /// The names of those that are `null`. They are as if they were left out, but a
    /// name that the platform does not have is a typing error with `null` too.
    pub unsaid: BTreeSet<String>,
}

impl NamedOptions {
    /// Every name, each once.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.said.iter().map(|(name, _)| name).chain(self.unsaid.iter().map(String::as_str))
    }
}

impl Options {
    /// Nothing is said.
    pub const NONE: &'static Self = &Self(BTreeMap::new());

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &OptionValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub fn get(&self, name: &str) -> Option<&OptionValue> {
        self.0.get(name)
    }

    /// The words of one.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            OptionValue::Text(text) => Some(text),
            OptionValue::Flag(_) | OptionValue::Number(_) | OptionValue::List(_) => None,
        }
    }

    /// The whole number that is given under this name.
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            OptionValue::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Whether one is switched on or off.
    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            OptionValue::Flag(flag) => Some(*flag),
            OptionValue::Text(_) | OptionValue::Number(_) | OptionValue::List(_) => None,
        }
    }

    /// The words that are given under this name, first to last; none of anything else.
    pub fn list(&self, name: &str) -> &[String] {
        match self.get(name) {
            Some(OptionValue::List(texts)) => texts,
            _ => &[],
        }
    }

    /// How many bytes its names and texts have.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.bytes()).sum()
    }
}

impl FromIterator<(String, OptionValue)> for Options {
    fn from_iter<I: IntoIterator<Item = (String, OptionValue)>>(options: I) -> Self {
        Self(options.into_iter().collect())
    }
}
