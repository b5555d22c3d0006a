use std::fmt;

use serde::{Deserialize, Serialize};

use super::Rule;
use super::known::known;
use crate::options::{OptionValue, Options};

/// Rules that apply where an option has one of some values. They cannot have further conditions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionalRules {
    pub when: OptionCondition,
    /// In addition to the rules that always apply.
    #[serde(deserialize_with = "known")]
    pub rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionCondition {
    pub option: String,
    pub is: Vec<OptionValue>,
    /// Whether the rules also apply where the option is absent, because its default is one of the
    /// values.
    pub or_absent: bool,
}

impl OptionCondition {
    pub fn option<V: Into<OptionValue>>(name: impl Into<String>, is: impl IntoIterator<Item = V>) -> Self {
        Self { option: name.into(), is: is.into_iter().map(Into::into).collect(), or_absent: false }
    }

    #[must_use]
    pub fn or_absent(self) -> Self {
        Self { or_absent: true, ..self }
    }

    pub fn holds(&self, options: &Options) -> bool {
        options.get(&self.option).map_or(self.or_absent, |it| self.is.contains(it))
    }

    /// The condition as a text after the platform's name.
    pub(super) fn description<'a>(&'a self, options: &'a Options) -> impl fmt::Display + 'a {
        fmt::from_fn(|f| match options.get(&self.option) {
            None => write!(f, ", if {} is left out,", self.option),
            Some(OptionValue::Text(text)) => write!(f, ", if {} is {text},", self.option),
            Some(OptionValue::Flag(flag)) => write!(f, ", if {} is {flag},", self.option),
            Some(OptionValue::Number(number)) => write!(f, ", if {} is {number},", self.option),
            Some(OptionValue::List(texts)) => write!(f, ", if {} is {},", self.option, texts.join(", ")),
        })
    }
}
