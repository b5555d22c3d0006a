//! Declaration of a platform's options, their validation and their JSON Schema.

mod form;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

pub use self::form::{AddressForm, TextForm};
use self::form::{is_address, url_schema};
use super::{OptionValue, Options};
use crate::suggestion::suggest;
use crate::validation_errors::ValidationErrors;

#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// The name in requests. It has the same meaning on every platform.
    pub name: &'static str,
    /// A sentence for users.
    pub about: &'static str,
    pub kind: OptionKind,
    pub required: Required,
    /// An option without which this one has no effect.
    pub needs: Option<&'static str>,
    /// An option that cannot be combined with this one.
    pub not_with: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Required {
    Never,
    Always,
    When { option: &'static str, is: &'static [&'static str] },
}

/// `max` is in Unicode code points, and `most` and `least` are numbers of entries.
#[derive(Clone, Copy, Debug)]
pub enum OptionKind {
    Text {
        max: usize,
    },
    /// A text without certain words, in upper or lower case.
    TextWithout {
        max: usize,
        /// The excluded words, in lower-case ASCII.
        words: &'static [&'static str],
    },
    OneOf(&'static [&'static str]),
    Number {
        min: i64,
        max: i64,
    },
    /// A value from a list that the platform has for the account, such as a board or a channel.
    /// Only the platform knows whether the value exists.
    Choice {
        max: usize,
    },
    Texts {
        most: usize,
        max: usize,
    },
    /// Distinct texts, such as the answers of a poll.
    Ballot {
        least: usize,
        most: usize,
        max: usize,
    },
    TextOf(&'static TextForm),
    /// Distinct texts of one form.
    TextsOf {
        most: usize,
        form: &'static TextForm,
    },
    Flag,
    /// A language tag (BCP 47), such as `de` or `pt-BR`.
    Language,
    Address(&'static [&'static str]),
    AddressOf(&'static AddressForm),
}

impl OptionKind {
    /// Whether `GET /connections/{connection}/choices/{option}` lists the values.
    pub const fn is_listed(self) -> bool {
        matches!(self, Self::Choice { .. })
    }
}

impl OptionSpec {
    pub const fn new(name: &'static str, kind: OptionKind, about: &'static str) -> Self {
        Self { name, about, kind, required: Required::Never, needs: None, not_with: None }
    }

    #[must_use]
    pub const fn required(self) -> Self {
        Self { required: Required::Always, ..self }
    }

    #[must_use]
    pub const fn required_when(self, option: &'static str, is: &'static [&'static str]) -> Self {
        Self { required: Required::When { option, is }, ..self }
    }

    #[must_use]
    pub const fn needs(self, option: &'static str) -> Self {
        Self { needs: Some(option), ..self }
    }

    #[must_use]
    pub const fn not_with(self, option: &'static str) -> Self {
        Self { not_with: Some(option), ..self }
    }

    /// Continues the option's name.
    fn combination_error(&self, given: &Options) -> Option<String> {
        let is_given = |it: &&str| given.get(it).is_some();
        if let Some(other) = self.needs.filter(|it| !is_given(it)) {
            return Some(format!("has no effect without {other}; add {other} or remove this option"));
        }
        let other = self.not_with.filter(is_given)?;
        Some(format!("and {other} cannot be used in one post; remove one of them"))
    }

    /// Continues the option's name.
    fn missing(&self, platform: &str, given: &Options) -> Option<String> {
        match self.required {
            Required::Never => None,
            Required::Always => Some(format!("is required on {platform}")),
            Required::When { option, is } => {
                let value = given.text(option).filter(|it| is.contains(it))?;
                Some(format!("is required on {platform} if {option} is {value}"))
            }
        }
    }

    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            OptionKind::Text { max } | OptionKind::Choice { max } => text_schema(max),
            OptionKind::TextWithout { max, words } => {
                let mut schema = text_schema(max);
                schema["not"] = json!({"pattern": case_insensitive_pattern(words)});
                schema
            }
            OptionKind::OneOf(choices) => json!({"type": "string", "enum": choices}),
            OptionKind::Number { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
            OptionKind::Texts { most, max } => {
                let item = text_schema(max);
                json!({"type": "array", "items": item, "maxItems": most})
            }
            OptionKind::Ballot { least, most, max } => {
                let item = text_schema(max);
                json!({"type": "array", "items": item, "minItems": least, "maxItems": most, "uniqueItems": true})
            }
            OptionKind::TextOf(form) => form.schema(),
            OptionKind::TextsOf { most, form } => {
                json!({"type": "array", "items": form.schema(), "maxItems": most, "uniqueItems": true})
            }
            OptionKind::Flag => json!({"type": "boolean"}),
            OptionKind::Language => {
                json!({"type": "string", "maxLength": MAX_LANGUAGE, "pattern": LANGUAGE})
            }
            OptionKind::Address(starts) => url_schema(starts),
            OptionKind::AddressOf(form) => url_schema(form.starts),
        };
        schema["description"] = self.about.into();
        if let OptionKind::AddressOf(form) = self.kind {
            schema["examples"] = form.examples.into();
        }
        if self.kind.is_listed() {
            schema["x-choices"] = true.into();
        }
        schema
    }

    /// Continues the option's name.
    fn fault(&self, value: &OptionValue) -> Option<String> {
        match (self.kind, value) {
            (OptionKind::Text { max } | OptionKind::Choice { max }, OptionValue::Text(text)) => text_error(text, max),
            (OptionKind::TextWithout { max, words }, OptionValue::Text(text)) => text_error(text, max).or_else(|| {
                let lower = text.to_lowercase();
                let word = words.iter().find(|it| lower.contains(**it))?;
                Some(format!("may not contain \"{word}\"; remove that word"))
            }),
            (OptionKind::Texts { most, max }, OptionValue::List(texts)) => list_error(texts, most, max),
            (OptionKind::Ballot { least, most, max }, OptionValue::List(texts)) => {
                if texts.len() < least {
                    return Some(format!("needs at least {least} entries; this has {}", texts.len()));
                }
                let has_duplicates = texts.iter().map(|it| it.trim()).collect::<BTreeSet<_>>().len() < texts.len();
                let duplicate_error = || has_duplicates.then(|| "may not contain an entry twice".to_owned());
                list_error(texts, most, max).or_else(duplicate_error)
            }
            (OptionKind::TextsOf { most, form }, OptionValue::List(texts)) => formatted_list_error(texts, most, form),
            (OptionKind::TextOf(form), OptionValue::Text(text)) if form.is_of(text) => None,
            (OptionKind::OneOf(choices), OptionValue::Text(text)) if choices.contains(&text.as_str()) => None,
            (OptionKind::Number { min, max }, OptionValue::Number(number)) if (min..=max).contains(number) => None,
            (OptionKind::Flag, OptionValue::Flag(_)) => None,
            (OptionKind::Language, OptionValue::Text(text)) if is_language(text) => None,
            (OptionKind::Address(starts), OptionValue::Text(text)) if is_address(starts, text) => None,
            (OptionKind::AddressOf(form), OptionValue::Text(text)) if form.is_of(text) => None,
            (OptionKind::Text { .. } | OptionKind::TextWithout { .. } | OptionKind::Choice { .. }, _) => {
                Some("must be a string".to_owned())
            }
            (OptionKind::Texts { .. } | OptionKind::Ballot { .. } | OptionKind::TextsOf { .. }, _) => {
                Some("must be a list of strings".to_owned())
            }
            (OptionKind::TextOf(form), _) => Some(form.description()),
            (OptionKind::OneOf(choices), _) => Some(format!("must be one of {}", choices.join(", "))),
            (OptionKind::Number { min, max }, _) => Some(format!("must be a whole number from {min} to {max}")),
            (OptionKind::Flag, _) => Some("must be true or false".to_owned()),
            (OptionKind::Language, _) => Some("must be a language tag, such as en or pt-BR".to_owned()),
            (OptionKind::Address(starts), _) => Some(format!("must be a URL that starts with {}", starts.join(" or "))),
            (OptionKind::AddressOf(form), _) => Some(form.description()),
        }
    }
}

fn text_schema(max: usize) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": max, "pattern": "\\S"})
}

/// A pattern for texts that contain one of these words in any case. Patterns of JSON Schema have no
/// flags.
fn case_insensitive_pattern(words: &[&str]) -> String {
    let letter = |it: char| format!("[{}{it}]", it.to_ascii_uppercase());
    words.iter().map(|it| it.chars().map(letter).collect::<String>()).collect::<Vec<_>>().join("|")
}

fn text_error(text: &str, max: usize) -> Option<String> {
    let chars = text.chars().count();
    if text.trim().is_empty() {
        return Some("may not be blank".to_owned());
    }
    (max < chars).then(|| format!("may have at most {max} characters; this has {chars}"))
}

fn formatted_list_error(texts: &[String], most: usize, form: &TextForm) -> Option<String> {
    if most < texts.len() {
        return Some(format!("may have at most {most} entries; this has {}", texts.len()));
    }
    if let Some(wrong) = texts.iter().position(|it| !form.is_of(it)) {
        return Some(format!("{}; entry {} does not", form.description(), wrong + 1));
    }
    let has_duplicates = texts.iter().collect::<BTreeSet<_>>().len() < texts.len();
    has_duplicates.then(|| "may not contain an entry twice".to_owned())
}

fn list_error(texts: &[String], most: usize, max: usize) -> Option<String> {
    if most < texts.len() {
        return Some(format!("may have at most {most} entries; this has {}", texts.len()));
    }
    if texts.iter().any(|it| it.trim().is_empty()) {
        return Some("may not contain blank entries".to_owned());
    }
    let longest = texts.iter().map(|it| it.chars().count()).max().unwrap_or_default();
    (max < longest).then(|| format!("may have entries of at most {max} characters; the longest of these has {longest}"))
}

/// [`is_language`] as a pattern.
const LANGUAGE: &str =
    "^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?(-([A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*$";

/// The longest language tag (RFC 5646, section 4.4.1).
const MAX_LANGUAGE: usize = 35;

pub fn schema(options: &[OptionSpec]) -> Value {
    let properties: Map<_, _> = options.iter().map(|it| (it.name.to_owned(), it.schema())).collect();
    let always = options.iter().filter(|it| it.required == Required::Always);
    let required: Vec<_> = always.map(|it| it.name).collect();
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let sometimes = options.iter().filter_map(|it| match it.required {
        Required::When { option, is } => Some(json!({
            "if": {"properties": {option: {"enum": is}}, "required": [option]},
            "then": {"required": [it.name]},
        })),
        Required::Never | Required::Always => None,
    });
    let apart = options.iter().filter_map(|it| Some(json!({"not": {"required": [it.name, it.not_with?]}})));
    let sometimes: Vec<_> = sometimes.chain(apart).collect();
    let beside: Map<_, _> = options.iter().filter_map(|it| Some((it.name.to_owned(), json!([it.needs?])))).collect();
    if !beside.is_empty() {
        schema["dependentRequired"] = beside.into();
    }
    if !sometimes.is_empty() {
        schema["allOf"] = sometimes.into();
    }
    schema
}

/// Whether this is a well-formed language tag, optionally with script, region and variants (RFC
/// 5646, section 2.1). Extensions are not accepted, because no platform supports them.
fn is_language(tag: &str) -> bool {
    let letters = |it: &&str, count: usize| it.len() == count && it.bytes().all(|it| it.is_ascii_alphabetic());
    let is_region = |it: &&str| letters(it, 2) || it.len() == 3 && it.bytes().all(|it| it.is_ascii_digit());
    let is_variant = |it: &str| {
        let is_word = it.bytes().all(|it| it.is_ascii_alphanumeric());
        is_word && ((5..=8).contains(&it.len()) || it.len() == 4 && it.starts_with(|it: char| it.is_ascii_digit()))
    };
    let mut parts = tag.split('-').peekable();
    let has_language = parts.next().is_some_and(|it| letters(&it, 2) || letters(&it, 3));
    parts.next_if(|it| letters(it, 4));
    parts.next_if(is_region);
    has_language && tag.len() <= MAX_LANGUAGE && parts.all(is_variant)
}

#[derive(Clone, Debug, Default)]
pub struct PlatformOptions(Arc<[(&'static str, &'static [OptionSpec])]>);

impl PlatformOptions {
    pub fn new(platforms: impl IntoIterator<Item = (&'static str, &'static [OptionSpec])>) -> Self {
        Self(platforms.into_iter().collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &'static [OptionSpec])> {
        self.0.iter().copied()
    }

    pub fn options(&self, platform: &str) -> &'static [OptionSpec] {
        self.0.iter().find(|(it, _)| *it == platform).map_or(&[], |(_, options)| options)
    }

    /// Adds an error for each name that this platform does not have. `field` is the path of the
    /// options.
    pub fn check_names<'n>(
        &self,
        platform: &str,
        given: impl IntoIterator<Item = &'n str>,
        field: &str,
        errors: &mut ValidationErrors,
    ) {
        let known = || self.options(platform).iter().map(|it| it.name);
        for name in given.into_iter().filter(|name| known().all(|it| it != *name)) {
            let hint = match suggest(name, known()) {
                Some(nearest) => format!("did you mean {nearest}?"),
                None if known().next().is_none() => "it has no options".to_owned(),
                None => format!("use one of {}", known().collect::<Vec<_>>().join(", ")),
            };
            errors.add(format_args!("{field}.{name}"), format_args!("is not an option of {platform}; {hint}"));
        }
    }

    /// Adds an error for each value that this platform does not accept, and for each missing
    /// option.
    pub fn check_values(&self, platform: &str, given: &Options, field: &str, errors: &mut ValidationErrors) {
        for spec in self.options(platform) {
            let error = match given.get(spec.name) {
                Some(value) => spec.fault(value).or_else(|| spec.combination_error(given)),
                None => spec.missing(platform, given),
            };
            if let Some(error) = error {
                errors.add(format_args!("{field}.{}", spec.name), error);
            }
        }
    }
}

#[cfg(test)]
mod tests;
