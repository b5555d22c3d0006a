//! Options of posts for tests.

use domain::options::{OptionValue, Options};

pub fn options(pairs: &[(&str, OptionValue)]) -> Options {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

pub fn text(value: &str) -> OptionValue {
    OptionValue::Text(value.to_owned())
}

pub fn list(values: &[&str]) -> OptionValue {
    OptionValue::List(values.iter().map(|it| (*it).to_owned()).collect())
}
