//! Parses a JSON object, with two checks that `serde_json` lacks: duplicate fields, and accurate
//! error messages.

use std::collections::BTreeSet;
use std::fmt;
use std::iter::repeat_n;

use domain::validation_errors::ValidationErrors;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::error::ApiError;

/// The limit of nesting. No body of the API needs more than four levels.
const MAX_DEPTH: usize = 32;

/// A double that exceeds every limit of the API.
const VERY_LARGE: f64 = 1e308;

/// Parses an object. A duplicate field is an error, and its first value counts. A number that is
/// too large for a double becomes [`VERY_LARGE`], which no field accepts.
pub(crate) fn object(bytes: &[u8]) -> Result<(Map<String, Value>, ValidationErrors), ApiError> {
    if bytes.trim_ascii().is_empty() {
        return Err(ApiError::Malformed("The body is empty. Send a JSON object".to_owned()));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(ApiError::Malformed("The body is not UTF-8. Encode it as UTF-8".to_owned()));
    };
    let (mut result, mut state) = self::read(text);
    if result.is_err()
        && let Some(text) = with_bounded_numbers(text)
    {
        (result, state) = self::read(&text);
    }
    match result {
        Ok(Value::Object(values)) => Ok((values, state.faults)),
        Ok(_) => {
            let mut errors = ValidationErrors::new();
            errors.add_sentence("body", "the body must be a JSON object, such as {}");
            Err(errors.into())
        }
        Err(_) if state.is_too_deep => {
            let message = format!("The body is nested too deeply: at most {MAX_DEPTH} levels deep");
            Err(ApiError::Malformed(message))
        }
        Err(error) => Err(ApiError::Malformed(format!(
            "The body is not valid JSON: correct it at line {}, column {}",
            error.line(),
            error.column()
        ))),
    }
}

fn read(text: &str) -> (Result<Value, serde_json::Error>, ParseState) {
    let mut state = ParseState::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let node = Node { reading: &mut state, place: FieldPath::Body };
    let result = node.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    (result, state)
}

/// The text with [`VERY_LARGE`] in place of every larger number; `None` if there is none. JSON
/// permits such numbers, but `serde_json` reports them as malformed. The length stays, so that the
/// position of a later error is right.
fn with_bounded_numbers(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut bounded = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at = match byte {
            b'"' => end_of_string(bytes, start),
            it if is_part_of_number(*it) => {
                start + bytes[start..].iter().take_while(|it| is_part_of_number(**it)).count()
            }
            _ => start + 1,
        };
        let token = text.get(start..at).unwrap_or_default();
        if let Some(number) = json_number(token).filter(|it| VERY_LARGE <= it.abs()) {
            // Never longer than the token: a number this large has at least as many characters.
            let replacement = if number < 0.0 { "-1e308" } else { "1e308" };
            bounded.push_str(&text[copied..start]);
            bounded.push_str(replacement);
            bounded.extend(repeat_n(' ', token.len().saturating_sub(replacement.len())));
            copied = at;
        }
    }
    if copied == 0 {
        return None;
    }
    bounded.push_str(&text[copied..]);
    Some(bounded)
}

/// The end of the string that begins here, or of the text if the string does not end.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    loop {
        match bytes.get(at) {
            None => return bytes.len(),
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

fn is_part_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || b"+-.eE".contains(&byte)
}

/// A JSON number (RFC 8259, section 6); infinite if a double cannot hold it.
fn json_number(token: &str) -> Option<f64> {
    let digits = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    let (number, exponent) = token.split_once(['e', 'E']).map_or((token, None), |it| (it.0, Some(it.1)));
    let (whole, fraction) = number.split_once('.').map_or((number, None), |it| (it.0, Some(it.1)));
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    let is_number = digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|it| digits(it.strip_prefix(['+', '-']).unwrap_or(it)));
    if is_number { token.parse().ok() } else { None }
}

#[derive(Default)]
struct ParseState {
    faults: ValidationErrors,
    is_too_deep: bool,
}

struct Node<'a> {
    reading: &'a mut ParseState,
    place: FieldPath<'a>,
}

/// Formatted only for an error.
#[derive(Clone, Copy)]
enum FieldPath<'a> {
    Body,
    Field(&'a FieldPath<'a>, &'a str),
    Entry(&'a FieldPath<'a>, usize),
}

impl FieldPath<'_> {
    fn depth(&self) -> usize {
        match self {
            Self::Body => 0,
            Self::Field(outer, _) | Self::Entry(outer, _) => outer.depth() + 1,
        }
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body => f.write_str("body"),
            Self::Field(FieldPath::Body, name) => f.write_str(name),
            Self::Entry(FieldPath::Body, index) => write!(f, "{index}"),
            Self::Field(outer, name) => write!(f, "{outer}.{name}"),
            Self::Entry(outer, index) => write!(f, "{outer}.{index}"),
        }
    }
}

impl Node<'_> {
    fn check_depth<E: Error>(&mut self) -> Result<(), E> {
        if MAX_DEPTH <= self.place.depth() {
            self.reading.is_too_deep = true;
            return Err(E::custom("too deep"));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        self.check_depth()?;
        let mut values = Vec::new();
        loop {
            let path = FieldPath::Entry(&self.place, values.len());
            match entries.next_element_seed(Node { reading: &mut *self.reading, place: path })? {
                Some(value) => values.push(value),
                None => return Ok(Value::Array(values)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<Value, A::Error> {
        self.check_depth()?;
        let (mut values, mut repeated) = (Map::new(), BTreeSet::new());
        while let Some(name) = fields.next_key::<String>()? {
            let path = FieldPath::Field(&self.place, &name);
            let value = fields.next_value_seed(Node { reading: &mut *self.reading, place: path })?;
            if !values.contains_key(&name) {
                values.insert(name, value);
            } else if !repeated.contains(&name) {
                self.reading.faults.add(path, "is given more than once");
                repeated.insert(name);
            }
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn repeated(json: &str) -> Vec<String> {
        let (_, faults) = object(json.as_bytes()).unwrap();
        assert!(faults.iter().all(|(field, message)| message == format!("{field} is given more than once")));
        faults.iter().map(|it| it.0.to_owned()).collect()
    }

    fn refusal(json: &str) -> ApiError {
        object(json.as_bytes()).unwrap_err()
    }

    #[test]
    fn duplicate_field_is_named_at_any_depth() {
        assert_eq!(repeated(r#"{"content":"a","content":"b","content":"c"}"#), ["content"]);
        assert_eq!(repeated(r#"{"a":[{"b":1},{"b":{"c":1,"c":1},"b":2}]}"#), ["a.1.b.c", "a.1.b"]);
        assert_eq!(repeated(r#"{"a":{"b":1},"b":{"a":1},"A":1}"#), [""; 0]);
        assert_eq!(repeated(r#"{"content":"a","cont\u0065nt":"b"}"#), ["content"]);
    }

    #[test]
    fn first_duplicate_value_is_used() {
        let (values, _) = object(br#"{"a":1,"a":2}"#).unwrap();
        assert_eq!(values["a"], 1);
    }

    #[test]
    fn number_too_large_for_a_double_is_read_as_a_very_large_one() {
        for (json, expected) in [
            (r#"{"a":1e400}"#, json!({"a": 1e308})),
            (
                r#"{"a":[0,{"b": -1.5E+999 }],"c":"1e400 \" 1e400","1e400":1}"#,
                json!({"a": [0, {"b": -1e308}], "c": "1e400 \" 1e400", "1e400": 1}),
            ),
            ("{\n\"é\":\n\t1e9999999999999999999,\"c\":1}", json!({"é": 1e308, "c": 1})),
            (&format!(r#"{{"a":{}}}"#, "9".repeat(400)), json!({"a": 1e308})),
            (&format!(r#"{{"a":0.{}1e999}}"#, "0".repeat(400)), json!({"a": 1e308})),
            (r#"{"a":1.7976931348623157e308,"b":1e400}"#, json!({"a": 1e308, "b": 1e308})),
            (r#"{"a":1e-400,"b":1e308,"c":0e999999999999}"#, json!({"a": 0.0, "b": 1e308, "c": 0.0})),
        ] {
            let (values, faults) = object(json.as_bytes()).unwrap();
            assert!(faults.is_empty());
            assert_eq!(Value::Object(values), expected, "{json}");
        }
        assert_eq!(repeated(r#"{"a":1e400,"a":2}"#), ["a"]);
    }

    #[test]
    fn malformed_json_after_a_too_large_number_is_reported() {
        for (json, place) in [
            (r#"{"a":1e400"#, "line 1, column 10"),
            ("{\"a\":1e400,\n\"b\":01}", "line 2, column 6"),
            (r#"{"a":1e400,"b":1e}"#, "line 1, column 18"),
            (r#"{"a":01e400}"#, "line 1, column 7"),
            (r#"{"a":+1e400}"#, "line 1, column 6"),
            (r#"{"a":1.e400}"#, "line 1, column 8"),
            (r#"{"a":.1e400}"#, "line 1, column 6"),
            (r#"{"a":1e400.5}"#, "line 1, column 10"),
        ] {
            let ApiError::Malformed(text) = refusal(json) else { panic!("{json}") };
            assert_eq!(text, format!("The body is not valid JSON: correct it at {place}"), "{json}");
        }
        let nested = format!(r#"{{"a":1e400,"b":{}{}}}"#, "[".repeat(40), "]".repeat(40));
        assert!(matches!(refusal(&nested), ApiError::Malformed(text) if text.contains("32 levels deep")));
    }

    #[test]
    fn malformed_json_is_not_mistaken_for_a_large_number() {
        for json in [r#"{"a":1e}"#, r#"{"a":01}"#, r#"{"a":"\ud800"}"#, r#"{"a":"1e400\x"}"#, r#"{"1e400":}"#, "{"] {
            assert!(matches!(refusal(json), ApiError::Malformed(text) if text.contains("not valid JSON")), "{json}");
        }
    }

    #[test]
    fn too_deep_nesting_is_reported() {
        let nested = |levels: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
        assert!(object(nested(MAX_DEPTH - 1).as_bytes()).is_ok());
        for levels in [MAX_DEPTH, 1000, 100_000] {
            assert!(matches!(refusal(&nested(levels)), ApiError::Malformed(text) if text.contains("32 levels deep")));
        }
    }

    #[test]
    fn body_that_is_not_utf_8_is_reported() {
        assert_eq!(
            object(b"{\"a\":\"\xff\"}").unwrap_err(),
            ApiError::Malformed("The body is not UTF-8. Encode it as UTF-8".to_owned())
        );
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_object_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = object(&bytes);
        }

        #[test]
        fn malformed_json_never_panics(text in r#"[{}\[\]:,"ae0-9.+\-\\ud \n]{0,40}"#) {
            let read = object(text.as_bytes());
            if let Ok(Value::Object(expected)) = serde_json::from_str(&text) {
                let (values, faults) = read.unwrap();
                prop_assert_eq!(values.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
                prop_assert!(!faults.is_empty() || values == expected);
            } else if with_bounded_numbers(&text).is_none() {
                prop_assert!(read.is_err());
            }
        }
    }
}
