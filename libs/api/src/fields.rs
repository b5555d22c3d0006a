//! Parses the fields of a body or the parameters of a query one by one, and collects all errors for
//! one response.

use std::fmt;

use domain::suggestion::suggest;
use domain::validation_errors::ValidationErrors;
use serde_json::{Map, Value};

use crate::error::ApiError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue<T> {
    Absent,
    /// `null`, or an empty query parameter.
    Null,
    /// A value of another type. The error is recorded already.
    Invalid,
    Value(T),
}

impl<T> FieldValue<T> {
    /// Absent and `null` mean the same.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null | Self::Invalid => None,
        }
    }

    pub fn map<U>(self, map: impl FnOnce(T) -> U) -> FieldValue<U> {
        match self {
            Self::Value(value) => FieldValue::Value(map(value)),
            Self::Absent => FieldValue::Absent,
            Self::Null => FieldValue::Null,
            Self::Invalid => FieldValue::Invalid,
        }
    }

    /// The change of a field that `null` clears; `None` leaves it unchanged.
    pub fn change(self) -> Option<Option<T>> {
        match self {
            Self::Value(value) => Some(Some(value)),
            Self::Null => Some(None),
            Self::Absent | Self::Invalid => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Body,
    Query,
}

#[derive(Clone, Debug)]
pub struct Fields {
    path: String,
    source: Source,
    values: Map<String, Value>,
    faults: ValidationErrors,
}

impl Fields {
    /// For a body that a page has built.
    pub fn from_body(values: Map<String, Value>, known: &[&'static str]) -> Self {
        Self::new(values, Source::Body, known)
    }

    pub(crate) fn new(values: Map<String, Value>, source: Source, known: &[&'static str]) -> Self {
        Self::at(String::new(), values, source, known)
    }

    fn at(path: String, values: Map<String, Value>, source: Source, known: &[&'static str]) -> Self {
        let mut errors = ValidationErrors::new();
        for name in values.keys().filter(|it| !known.contains(&it.as_str())) {
            let unknown = UnknownField { name, source, known };
            if path.is_empty() { errors.add(name, unknown) } else { errors.add(format_args!("{path}.{name}"), unknown) }
        }
        Self { path, source, values, faults: errors }
    }

    /// Whether the field is present and not null, of any type.
    pub fn is_given(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|it| !it.is_null())
    }

    pub fn text(&mut self, name: &str) -> FieldValue<String> {
        self.take(name, "must be a string", |value| match value {
            Value::String(text) => Some(text),
            _ => None,
        })
    }

    pub fn parse<T, E: fmt::Display>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> FieldValue<T> {
        let raw = match self.text(name) {
            FieldValue::Value(raw) => raw,
            FieldValue::Absent => return FieldValue::Absent,
            FieldValue::Null => return FieldValue::Null,
            FieldValue::Invalid => return FieldValue::Invalid,
        };
        match parse(&raw) {
            Ok(value) => FieldValue::Value(value),
            Err(error) => {
                self.add(name, error);
                FieldValue::Invalid
            }
        }
    }

    pub fn required_text(&mut self, name: &str) -> Option<String> {
        match self.text(name) {
            FieldValue::Value(text) => Some(text),
            FieldValue::Invalid => None,
            FieldValue::Absent | FieldValue::Null => {
                self.add(name, "is required");
                None
            }
        }
    }

    /// A whole number, 0 or more.
    pub fn integer(&mut self, name: &str) -> FieldValue<u64> {
        let source = self.source;
        self.take(name, "must be a whole number", |value| whole_number(&value, source))
    }

    pub fn boolean(&mut self, name: &str) -> FieldValue<bool> {
        let source = self.source;
        self.take(name, "must be true or false", |value| match (&value, source) {
            (Value::String(text), Source::Query) => text.parse().ok(),
            _ => value.as_bool(),
        })
    }

    fn list(&mut self, name: &str) -> FieldValue<Vec<Value>> {
        self.take(name, "must be a list", |value| match value {
            Value::Array(values) => Some(values),
            _ => None,
        })
    }

    /// The entries of a longer list are not checked.
    pub fn bounded_list(&mut self, name: &str, max: usize) -> FieldValue<Vec<Value>> {
        match self.list(name) {
            FieldValue::Value(entries) if max < entries.len() => {
                self.add(name, format_args!("may have at most {max} entries; this has {}", entries.len()));
                FieldValue::Invalid
            }
            given => given,
        }
    }

    /// An object with at most `max` fields of any name.
    pub fn object(&mut self, name: &str, max: usize) -> FieldValue<Map<String, Value>> {
        let object = self.take(name, "must be an object", |value| match value {
            Value::Object(fields) => Some(fields),
            _ => None,
        });
        match object {
            FieldValue::Value(fields) if max < fields.len() => {
                self.add(name, format_args!("may have at most {max} fields; this has {}", fields.len()));
                FieldValue::Invalid
            }
            given => given,
        }
    }

    /// The fields of an object within this one, such as a list entry at the path `platforms.0`.
    /// `None` and an error if it is not an object. Call [`Fields::absorb`] afterwards to keep its
    /// errors.
    pub fn nested(&mut self, value: Value, path: &str, known: &[&'static str]) -> Option<Fields> {
        if let Value::Object(values) = value {
            return Some(Self::at(self.within(path), values, self.source, known));
        }
        self.add(path, "must be an object");
        None
    }

    /// Takes over the errors of an object within this one.
    pub fn absorb(&mut self, nested: Fields) {
        self.faults.extend(nested.faults);
    }

    /// `message` continues the name of the field: "may not be blank".
    pub fn add(&mut self, field: &str, message: impl fmt::Display) {
        let field = self.within(field);
        self.faults.add(field, message);
    }

    pub fn faults(&mut self) -> &mut ValidationErrors {
        &mut self.faults
    }

    pub fn finish<T>(self, value: T) -> Result<T, ApiError> {
        Ok(self.faults.or(value)?)
    }

    /// The path from the root of the request.
    pub fn within(&self, field: &str) -> String {
        if self.path.is_empty() { field.to_owned() } else { format!("{}.{field}", self.path) }
    }

    fn take<T>(&mut self, name: &str, message: &str, read: impl FnOnce(Value) -> Option<T>) -> FieldValue<T> {
        match self.values.remove(name) {
            None => FieldValue::Absent,
            Some(Value::Null) => FieldValue::Null,
            Some(value) => {
                if let Some(value) = read(value) {
                    return FieldValue::Value(value);
                }
                self.add(name, message);
                FieldValue::Invalid
            }
        }
    }
}

/// A whole number. JSON does not distinguish 5.0 from 5, so both are accepted. A number that is too
/// large for the type becomes the largest one, which exceeds every limit.
fn whole_number(value: &Value, source: Source) -> Option<u64> {
    const EXACT_END: f64 = 9_007_199_254_740_992.0;
    match (value, source) {
        (Value::String(digits), Source::Query) if digits.bytes().all(|it| it.is_ascii_digit()) => {
            (!digits.is_empty()).then(|| digits.parse().unwrap_or(u64::MAX))
        }
        (Value::Number(number), Source::Body) => number.as_u64().or_else(|| {
            let float = number.as_f64()?;
            let is_whole = 0.0 <= float && float.fract() == 0.0;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole; `as` keeps in range")]
            is_whole.then_some(if float < EXACT_END { float as u64 } else { u64::MAX })
        }),
        _ => None,
    }
}

/// The message for an unknown name. The nearest known name is computed only when the message is
/// written.
struct UnknownField<'a> {
    name: &'a str,
    source: Source,
    known: &'a [&'static str],
}

impl fmt::Display for UnknownField<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.source == Source::Query { "parameter" } else { "field" };
        match suggest(self.name, self.known.iter().copied()) {
            Some(nearest) => write!(f, "is not a {kind}; did you mean {nearest}?"),
            None if self.known.is_empty() => write!(f, "is not a {kind}; this operation has no {kind}s"),
            None => write!(f, "is not a {kind}; use {}", self.known.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KNOWN: &[&str] = &["content", "scheduled_at", "platforms", "media"];

    fn fields(body: Value) -> Fields {
        let Value::Object(values) = body else { panic!("not an object") };
        Fields::new(values, Source::Body, KNOWN)
    }

    fn faults(fields: Fields) -> Vec<(String, String)> {
        match fields.finish(()) {
            Err(ApiError::Invalid(faults)) => faults.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn mistyped_field_suggests_the_nearest_name() {
        let found = faults(fields(json!({"content": "x", "schedule_at": "2026-11-21T12:00:00Z"})));
        assert_eq!(
            found,
            [("schedule_at".to_owned(), "schedule_at is not a field; did you mean scheduled_at?".to_owned())]
        );
    }

    #[test]
    fn absent_null_and_wrong_type_are_distinguished() {
        let mut fields = fields(json!({"content": null, "media": "x", "platforms": []}));
        assert_eq!(fields.text("scheduled_at"), FieldValue::Absent);
        assert_eq!(fields.text("content"), FieldValue::Null);
        assert_eq!(fields.list("media"), FieldValue::Invalid);
        assert_eq!(fields.list("platforms"), FieldValue::Value(vec![]));
        assert_eq!(faults(fields), [("media".to_owned(), "media must be a list".to_owned())]);
    }

    #[test]
    fn parsed_field_keeps_the_error_of_its_parser() {
        let mut fields = fields(json!({"content": "5", "media": "x", "platforms": null}));
        let number = |raw: &str| raw.parse::<u8>();

        assert_eq!(fields.parse("content", number), FieldValue::Value(5));
        assert_eq!(fields.parse("media", number).change(), None);
        assert_eq!(fields.parse("platforms", number).change(), Some(None));
        assert_eq!(fields.parse("scheduled_at", number).change(), None);
        assert_eq!(faults(fields), [("media".to_owned(), "media invalid digit found in string".to_owned())]);
    }

    #[test]
    fn required_field_of_another_type_has_one_error() {
        let mut fields = fields(json!({"content": 5}));
        assert_eq!(fields.required_text("content"), None);
        assert_eq!(faults(fields).len(), 1);
    }

    #[test]
    fn too_long_list_is_not_checked() {
        let mut fields = fields(json!({"media": vec![7; 31], "platforms": [1, 2]}));
        assert_eq!(fields.bounded_list("media", 30), FieldValue::Invalid);
        assert_eq!(fields.bounded_list("platforms", 2), FieldValue::Value(vec![json!(1), json!(2)]));
        let message = "media may have at most 30 entries; this has 31".to_owned();
        assert_eq!(faults(fields), [("media".to_owned(), message)]);
    }

    #[test]
    fn errors_in_a_list_name_the_entry() {
        let mut fields = fields(json!({}));
        let known = &["connected_account_id", "content"];
        let mut entry = fields.nested(json!({"contnt": "x"}), "platforms.0", known).unwrap();
        entry.add("connected_account_id", "is required");
        fields.absorb(entry);
        assert!(fields.nested(json!(7), "platforms.1", known).is_none());

        let found: Vec<String> = faults(fields).into_iter().map(|it| it.1).collect();
        assert_eq!(
            found,
            [
                "platforms.0.contnt is not a field; did you mean content?",
                "platforms.0.connected_account_id is required",
                "platforms.1 must be an object",
            ]
        );
    }

    #[test]
    fn a_number_without_a_fraction_is_whole() {
        for (value, expected) in [
            (json!(5), Some(5)),
            (json!(5.0), Some(5)),
            (json!(5.5), None),
            (json!(-1), None),
            (json!(1e300), Some(u64::MAX)),
        ] {
            assert_eq!(whole_number(&value, Source::Body), expected, "{value}");
        }
        assert_eq!(whole_number(&json!("5"), Source::Body), None);
        assert_eq!(whole_number(&json!("+5"), Source::Query), None);
        assert_eq!(whole_number(&json!("9".repeat(30)), Source::Query), Some(u64::MAX));
    }
}
