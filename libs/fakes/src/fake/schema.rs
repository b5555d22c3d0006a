//! Descriptions of requests: constant tables that follow the platform's API description. What a table cannot say, such as a
//! rule between two fields, is code of the fake.

use serde_json::{Map, Value};

pub use self::Kind::{Any, AnyObject, Boolean, Digits, Integer, List, Object, OneOf, Pattern, Text, Utf16};
pub use self::Presence::{Nullable, Optional, Required};

pub type Field = (&'static str, Presence, Kind);

/// The fields of an object. An object with another field is refused.
pub type Fields = &'static [Field];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Required,
    Optional,
    /// Optional, and null means absent.
    Nullable,
}

/// The values of a field. Two numbers are the least and the greatest length, count or integer.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// In code points.
    Text(usize, usize),
    /// In UTF-16 code units.
    Utf16(usize, usize),
    /// A text of decimal digits.
    Digits(usize, usize),
    /// A text that this function accepts.
    Pattern(fn(&str) -> bool),
    OneOf(&'static [&'static str]),
    /// Not negative.
    Integer(u64, u64),
    Boolean,
    Object(Fields),
    List(usize, usize, &'static Kind),
    AnyObject,
    Any,
}

/// A text of any length.
pub const TEXT: Kind = Text(0, usize::MAX);

/// The first part of a request that does not fit its description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem:?}")]
pub struct Violation {
    /// A JSON pointer (RFC 6901); empty for a body that is no JSON object.
    pub path: String,
    pub problem: Problem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    Unknown,
    Missing,
    WrongType,
    /// Less than this length or count.
    TooShort(usize),
    /// More than this length or count.
    TooLong(usize),
    /// Has the right type, but is no permitted value.
    WrongValue,
}

/// Parses a body that is a JSON object.
pub fn parse(body: &[u8], fields: Fields) -> Result<Value, Violation> {
    let body = serde_json::from_slice(body).unwrap_or_default();
    check(&body, fields)?;
    Ok(body)
}

pub fn check(body: &Value, fields: Fields) -> Result<(), Violation> {
    Object(fields).check("", body)
}

/// The text of a field; empty if it is absent or no text.
pub fn text(object: &Value, field: &str) -> String {
    object[field].as_str().unwrap_or_default().to_owned()
}

/// The parameters of a form, which are texts, as JSON of the described types. A text that cannot be converted stays a text.
pub fn from_form(form: impl IntoIterator<Item = (String, String)>, fields: Fields) -> Value {
    let typed = |(name, text): (String, String)| {
        let kind = fields.iter().find(|it| it.0 == name).map(|it| it.2);
        let value = match kind {
            Some(Boolean) if matches!(text.as_str(), "true" | "1") => Some(true.into()),
            Some(Boolean) if matches!(text.as_str(), "false" | "0") => Some(false.into()),
            Some(Integer(..)) => text.parse::<u64>().ok().map(Value::from),
            Some(Object(_) | List(..) | AnyObject) => serde_json::from_str(&text).ok(),
            _ => None,
        };
        (name, value.unwrap_or(Value::String(text)))
    };
    form.into_iter().map(typed).collect::<Map<_, _>>().into()
}

impl Kind {
    fn check(self, path: &str, value: &Value) -> Result<(), Violation> {
        let problem = match (self, value) {
            (Any, _) | (AnyObject, Value::Object(_)) | (Boolean, Value::Bool(_)) => None,
            (Text(min, max), Value::String(text)) => wrong_length(text.chars().count(), min, max),
            (Utf16(min, max), Value::String(text)) => wrong_length(text.encode_utf16().count(), min, max),
            (Digits(min, max), Value::String(text)) if text.bytes().all(|it| it.is_ascii_digit()) => {
                wrong_length(text.len(), min, max)
            }
            (Pattern(accepts), Value::String(text)) if accepts(text) => None,
            (OneOf(values), Value::String(text)) if values.contains(&text.as_str()) => None,
            (Digits(..) | Pattern(_) | OneOf(_), Value::String(_)) => Some(Problem::WrongValue),
            (Integer(min, max), Value::Number(number)) if number.is_u64() => {
                let is_in_range = number.as_u64().is_some_and(|it| (min..=max).contains(&it));
                (!is_in_range).then_some(Problem::WrongValue)
            }
            (Object(fields), Value::Object(object)) => return check_fields(path, object, fields),
            (List(min, max, kind), Value::Array(items)) => match wrong_length(items.len(), min, max) {
                None => {
                    let mut items = items.iter().enumerate();
                    return items.try_for_each(|(index, it)| kind.check(&format!("{path}/{index}"), it));
                }
                problem => problem,
            },
            _ => Some(Problem::WrongType),
        };
        problem.map_or(Ok(()), |problem| Err(Violation { path: path.to_owned(), problem }))
    }
}

fn check_fields(path: &str, object: &Map<String, Value>, fields: Fields) -> Result<(), Violation> {
    let at = |name: &str, problem| Err(Violation { path: format!("{path}/{name}"), problem });
    for (name, presence, kind) in fields {
        match (object.get(*name), presence) {
            (None, Required) => return at(name, Problem::Missing),
            (None, _) | (Some(Value::Null), Nullable) => {}
            (Some(value), _) => kind.check(&format!("{path}/{name}"), value)?,
        }
    }
    let is_known = |name: &str| fields.iter().any(|it| it.0 == name);
    object.keys().find(|it| !is_known(it)).map_or(Ok(()), |name| at(name, Problem::Unknown))
}

fn wrong_length(length: usize, min: usize, max: usize) -> Option<Problem> {
    let too_short = (length < min).then_some(Problem::TooShort(min));
    too_short.or((max < length).then_some(Problem::TooLong(max)))
}

#[cfg(test)]
pub(crate) mod testing {
    use super::{Fields, Value, check};

    /// Replaces one value of a valid body at a time by the wrong ones, and requires that it is refused. `wrong` has lists of
    /// values by JSON pointer; a pointer that ends with a space removes the value.
    pub(crate) fn assert_refuses(fields: Fields, valid: &Value, wrong: &Value) {
        assert_eq!(check(valid, fields), Ok(()));
        let values = wrong.as_object().unwrap().iter();
        for (path, value) in
            values.flat_map(|(path, values)| values.as_array().unwrap().iter().map(move |it| (path, it)))
        {
            let (mut body, (parent, name)) = (valid.clone(), path.rsplit_once('/').unwrap());
            match body.pointer_mut(parent).unwrap() {
                Value::Object(object) if name.ends_with(' ') => drop(object.remove(name.trim_end())),
                Value::Array(items) => items[name.parse::<usize>().unwrap()] = value.clone(),
                object => object[name] = value.clone(),
            }
            let violation = check(&body, fields).expect_err(path);
            assert!(violation.path.starts_with(path.trim_end()), "{path} {value}: {violation}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const POST: Fields = &[
        ("text", Required, Text(1, 3)),
        ("caption", Nullable, Utf16(0, 3)),
        ("id", Optional, Digits(1, 2)),
        ("link", Optional, Pattern(|it| it.starts_with("https://"))),
        ("who", Optional, OneOf(&["all", "some"])),
        ("minutes", Optional, Integer(5, 10)),
        ("is_ad", Optional, Boolean),
        ("poll", Optional, Object(&[("options", Required, List(2, 3, &Text(1, 5)))])),
        ("meta", Optional, AnyObject),
    ];

    #[test]
    fn first_violation_has_its_path_and_problem() {
        use Problem::{Missing, TooLong, TooShort, Unknown, WrongType, WrongValue};
        let valid = json!({ "text": "é🦀", "caption": null, "id": "12", "link": "https://a", "who": "all", "minutes": 5,
            "is_ad": true, "poll": { "options": ["a", "b"] }, "meta": {} });
        assert_eq!(check(&valid, POST), Ok(()));
        assert_eq!(check(&json!([]), POST).unwrap_err().path, "");
        for (path, value, at, problem) in [
            ("text", json!(null), "/text", WrongType),
            ("text", json!(""), "/text", TooShort(1)),
            ("text", json!("abcd"), "/text", TooLong(3)),
            ("caption", json!("🦀🦀"), "/caption", TooLong(3)),
            ("id", json!("1a"), "/id", WrongValue),
            ("id", json!(null), "/id", WrongType),
            ("link", json!("http://a"), "/link", WrongValue),
            ("who", json!("none"), "/who", WrongValue),
            ("minutes", json!(11), "/minutes", WrongValue),
            ("minutes", json!(-1), "/minutes", WrongType),
            ("is_ad", json!("true"), "/is_ad", WrongType),
            ("poll", json!({}), "/poll/options", Missing),
            ("poll", json!({ "options": ["a"] }), "/poll/options", TooShort(2)),
            ("poll", json!({ "options": ["a", ""] }), "/poll/options/1", TooShort(1)),
            ("meta", json!([]), "/meta", WrongType),
            ("other", json!(1), "/other", Unknown),
        ] {
            let mut body = valid.clone();
            body[path] = value;
            assert_eq!(check(&body, POST), Err(Violation { path: at.to_owned(), problem }), "{body}");
        }
    }

    #[test]
    fn form_has_the_described_types() {
        let form = [("text", "1"), ("minutes", "7"), ("is_ad", "0"), ("poll", r#"{"options":["a","b"]}"#), ("id", "x")];
        let form = form.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let expected =
            json!({ "text": "1", "minutes": 7, "is_ad": false, "poll": { "options": ["a", "b"] }, "id": "x" });
        assert_eq!(from_form(form, POST), expected);
    }
}
