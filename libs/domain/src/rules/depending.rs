//! Rules that hold only where a post says something of itself.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Rule;
use super::known::known;
use crate::options::{OptionValue, Options};

/// Rules that hold where an option has one of some values. They cannot depend on
/// anything further.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Depending {
    /// Where they hold.
    pub when: When,
    /// What holds there, besides what holds always.
    #[serde(deserialize_with = "known")]
    pub rules: Vec<Rule>,
}

/// Where rules hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct When {
    /// The option's name.
    pub option: String,
    pub is: Vec<OptionValue>,
    /// Whether they hold as well where the option is left out, because what it is
    /// then is among them.
    #[serde(default)]
    pub or_absent: bool,
}

impl When {
    pub fn option<V: Into<OptionValue>>(name: impl Into<String>, is: impl IntoIterator<Item = V>) -> Self {
        Self { option: name.into(), is: is.into_iter().map(Into::into).collect(), or_absent: false }
    }

    /// And where the option is left out.
    #[must_use]
    pub fn or_absent(self) -> Self {
        Self { or_absent: true, ..self }
    }

    /// Whether it is so with these options.
    pub fn holds(&self, options: &Options) -> bool {
        options.get(&self.option).map_or(self.or_absent, |it| self.is.contains(it))
    }

    /// Where this is, with these options, in words that follow the platform's name.
    pub(super) fn told<'a>(&'a self, options: &'a Options) -> impl fmt::Display + 'a {
        fmt::from_fn(|f| match options.get(&self.option) {
            None => write!(f, ", where {} is left out,", self.option),
            Some(OptionValue::Text(text)) => write!(f, ", where {} is {text},", self.option),
            Some(OptionValue::Flag(flag)) => write!(f, ", where {} is {flag},", self.option),
            Some(OptionValue::Number(number)) => write!(f, ", where {} is {number},", self.option),
            Some(OptionValue::List(texts)) => write!(f, ", where {} is {},", self.option, texts.join(", ")),
        })
    }
}
