//! Values of options that a platform lists for an account: boards, channels,
//! playlists.

use std::collections::BTreeSet;

use domain::connection::Connection;

use crate::account::Credentials;

/// The most values of one option that are told.
pub const MAX_CHOICES: usize = 1_000;

/// The longest value, in bytes: more than any id. A longer one is left out, because
/// a part of it would be another value.
const MAX_VALUE: usize = 500;

/// The longest label, in characters. A longer one is cut.
const MAX_LABEL: usize = 200;

/// Which values are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Choosing<'a> {
    /// The option, one of the platform's.
    pub option: &'a str,
    /// What somebody typed. An adapter may search for it at its platform, or tell
    /// all there are: what does not fit is left out afterwards.
    pub query: Option<&'a str>,
    /// The account.
    pub connection: &'a Connection,
    /// To act for it.
    pub credentials: &'a Credentials,
}

/// A value that an option may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// For the option.
    pub value: String,
    /// For people.
    pub label: String,
}

/// These as they can be passed on, whatever the platform said: each value once, in
/// its order, and not too much of anything.
pub(crate) fn bounded(choices: Vec<Choice>) -> Vec<Choice> {
    let mut seen = BTreeSet::new();
    let choices = choices.into_iter().filter_map(|Choice { value, label }| {
        let is_value = !value.trim().is_empty() && value.len() <= MAX_VALUE && !value.contains(char::is_control);
        if !is_value || !seen.insert(value.clone()) {
            return None;
        }
        let label: String = label.chars().filter(|it| !it.is_control()).take(MAX_LABEL).collect();
        let label = label.trim();
        let label = if label.is_empty() { value.clone() } else { label.to_owned() };
        Some(Choice { value, label })
    });
    choices.take(MAX_CHOICES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_platform_lists_can_be_passed_on() {
        let long = "v".repeat(MAX_VALUE + 1);
        let listed = [
            ("b1", "Notice\nboard"),
            ("b1", "Again"),
            ("", "Nothing"),
            (" ", "Blank"),
            ("b\u{0}2", "Control"),
            (&long, "Long"),
            ("b3", "\u{7} "),
            ("b4", &"ä".repeat(1000)),
        ];
        let listed = listed.map(|(value, label)| Choice { value: value.to_owned(), label: label.to_owned() });

        let told: Vec<_> = bounded(listed.into()).into_iter().map(|it| (it.value, it.label)).collect();

        let told: Vec<_> =
            told.iter().map(|(value, label)| (value.as_str(), label.chars().take(12).collect())).collect();
        let said = |it: &str| it.to_owned();
        assert_eq!(told, [("b1", said("Noticeboard")), ("b3", said("b3")), ("b4", said("ääääääääääää"))]);
        let many = (0..5_000).map(|it| Choice { value: it.to_string(), label: String::new() }).collect();
        assert_eq!(bounded(many).len(), MAX_CHOICES);
    }
}
