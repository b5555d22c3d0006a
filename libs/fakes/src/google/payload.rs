//! Request bodies, which have to be messages of the API in JSON.

use http::HeaderMap;
use serde_json::Value;

use super::api_error::bad_request;
use crate::fake::params::essence;

/// The fields of messages that clients may set, by message: `summary media:[MediaItem] event:Event`.
/// A field without a type is a string.
pub type Messages = &'static [(&'static str, &'static str)];

/// Parses a message. `path` is its name in errors, such as `local_post`. The error is a response body.
pub fn parse(headers: &HeaderMap, body: &[u8], messages: Messages, kind: &str, path: &str) -> Result<Value, Value> {
    let payload = serde_json::from_slice(body).ok().filter(|_| essence(headers) == "application/json");
    let payload = payload.ok_or_else(|| error(path, "Invalid JSON payload received. Unexpected token."))?;
    check(&payload, messages, kind, path)?;
    Ok(payload)
}

fn error(path: &str, message: &str) -> Value {
    bad_request(message, path, message)
}

fn check(value: &Value, messages: Messages, kind: &str, path: &str) -> Result<(), Value> {
    let wrong = || error(path, &format!("Invalid value at '{path}' ({kind}), {value}"));
    if let Some(kind) = kind.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        let mut items = value.as_array().ok_or_else(wrong)?.iter().enumerate();
        return items.try_for_each(|(index, it)| check(it, messages, kind, &format!("{path}[{index}]")));
    }
    let Some((_, fields)) = messages.iter().find(|it| it.0 == kind) else {
        let is_right = if kind == "TYPE_INT32" { value.is_u64() } else { value.is_string() };
        return if is_right { Ok(()) } else { Err(wrong()) };
    };
    for (name, value) in value.as_object().ok_or_else(wrong)? {
        let mut typed = fields.split(' ').map(|it| it.split_once(':').unwrap_or((it, "TYPE_STRING")));
        let Some((_, kind)) = typed.find(|it| it.0 == name) else {
            let message =
                format!("Invalid JSON payload received. Unknown name \"{name}\" at '{path}': Cannot find field.");
            return Err(error(path, &message));
        };
        check(value, messages, kind, &format!("{path}.{}", snake_case(name)))?;
    }
    Ok(())
}

fn snake_case(name: &str) -> String {
    let lower = |it: char| if it.is_ascii_uppercase() { format!("_{}", it.to_ascii_lowercase()) } else { it.into() };
    name.chars().map(lower).collect()
}
