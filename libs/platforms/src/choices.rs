//! Values of options that a platform lists for an account: boards, channels,
//! playlists.

use std::collections::BTreeSet;

use domain::connection::Connection;

use crate::account::Credentials;

pub const MAX_CHOICES: usize = 1_000;

/// In bytes; longer than any id. A longer value is omitted, because a truncated one would be
/// another value.
const MAX_VALUE: usize = 500;

/// In characters. A longer label is truncated.
const MAX_LABEL: usize = 200;

#[derive(Clone, Copy, Debug)]
pub struct ChoicesRequest<'a> {
    pub option: &'a str,
    /// The text that the user typed. An adapter may search with it, or return all values: values
    /// that do not match are removed afterwards.
    pub query: Option<&'a str>,
    pub connection: &'a Connection,
    pub credentials: &'a Credentials,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub value: String,
    pub label: String,
}

/// Removes duplicates, and bounds the number and the lengths of the values. The platform's order is
/// kept.
pub(crate) fn bounded(choices: Vec<Choice>) -> Vec<Choice> {
    let mut seen = BTreeSet::new();
    let choices = choices.into_iter().filter_map(|Choice { value, label }| {
        let is_value = !value.trim().is_empty() && value.len() <= MAX_VALUE && !value.contains(char::is_control);
        if !is_value || !seen.insert(value.clone()) {
            return None;
        }
        let label = Some(shown(&label)).filter(|it| !it.is_empty()).unwrap_or_else(|| value.clone());
        Some(Choice { value, label })
    });
    choices.take(MAX_CHOICES).collect()
}

pub(crate) fn shown(label: &str) -> String {
    let label: String = label.chars().filter(|it| !it.is_control()).take(MAX_LABEL).collect();
    label.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_choices_are_bounded() {
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

        let limited: Vec<_> = bounded(listed.into()).into_iter().map(|it| (it.value, it.label)).collect();

        let limited: Vec<_> =
            limited.iter().map(|(value, label)| (value.as_str(), label.chars().take(12).collect())).collect();
        let text = |it: &str| it.to_owned();
        assert_eq!(limited, [("b1", text("Noticeboard")), ("b3", text("b3")), ("b4", text("ääääääääääää"))]);
        let many = (0..5_000).map(|it| Choice { value: it.to_string(), label: String::new() }).collect();
        assert_eq!(bounded(many).len(), MAX_CHOICES);
    }
}
