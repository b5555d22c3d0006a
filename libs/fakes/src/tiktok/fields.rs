//! Fields of requests.

use http::HeaderMap;
use serde_json::{Map, Value};

use super::{ApiError, Params, invalid};
use crate::fake::params::essence;

/// The body of a call with these fields, see `check`. An empty body has none.
pub(super) fn body(headers: &HeaderMap, bytes: &[u8], known: &str) -> Result<Value, ApiError> {
    let body = if bytes.is_empty() { Ok(Map::new().into()) } else { serde_json::from_slice(bytes) };
    let body = body.ok().filter(|_| essence(headers) == "application/json");
    let body = body.ok_or_else(|| invalid("The body has to be JSON, with its Content-Type."))?;
    check(&body, known)?;
    Ok(body)
}

/// Accepts an object with these fields only, such as `title:string source:string!`. A field with an
/// exclamation mark is required.
pub(super) fn check(object: &Value, known: &str) -> Result<(), ApiError> {
    let mut fields = object.as_object().cloned().ok_or_else(|| invalid("An object is missing."))?;
    for (name, kind) in known.split_whitespace().filter_map(|it| it.split_once(':')) {
        let is_right = match (kind.trim_end_matches('!'), fields.remove(name)) {
            (_, None) => !kind.ends_with('!'),
            ("string", Some(value)) => value.is_string(),
            ("bool", Some(value)) => value.is_boolean(),
            ("int", Some(value)) => value.is_u64(),
            ("strings", Some(Value::Array(values))) => values.iter().all(Value::is_string),
            (expected, Some(value)) => expected == "object" && value.is_object(),
        };
        if !is_right {
            return Err(invalid(&format!("The field {name} is missing or has another type.")));
        }
    }
    fields.keys().next().map_or(Ok(()), |name| Err(invalid(&format!("The field {name} is unknown."))))
}

/// The fields of `object` that the query asks for.
pub(super) fn selected(query: &Params, object: &Value) -> Result<Value, ApiError> {
    let names = query.get("fields").ok_or_else(|| invalid("Fields is required."))?;
    let select = |name: &str| Ok((name.to_owned(), object.get(name).ok_or_else(|| invalid(name))?.clone()));
    names.split(',').map(select).collect::<Result<Map<_, _>, _>>().map(Value::Object)
}
