//! Arguments that are the fields of a request of the API. Their schema comes from the type of the
//! request, so a new field of the API is an argument of its tool, too.

use std::any::Any;

use client::CreateMedium;
use rmcp::handler::server::tool::schema_for_type;
use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::result::ToolError;

/// Descriptions that assistants read instead of those of the API: the name of the type, the part of
/// its schema, and the text.
const TEXTS: &[(&str, &str, &str)] = &[
    ("NewPost", "", "The text, accounts, time and files of a post."),
    ("NewPost", "/properties/content", "The text of the post. Required without files."),
    ("NewPost", "/properties/media", "The files, each once."),
    (
        "NewPost",
        "/properties/scheduled_at",
        "When to publish: a time with an offset, such as 2026-11-21T09:30:00+01:00, or \"now\". Default: a draft.",
    ),
    ("NewPostPlatform", "", "An account to publish to."),
    ("NewPostPlatform", "/properties/connected_account_id", "The id of the account, from `list_connections`."),
    ("NewPostPlatform", "/properties/content", "A different text for this account; \"\" publishes the files alone."),
    ("NewPostPlatform", "/properties/media", "Different files for this account."),
    ("NewPostPlatform", "/properties/options", "Options of the platform; `list_platforms` lists them."),
    ("NewPostMedia", "", "A file of the post: with an alt text, or its path alone."),
    ("NewPostMedia", "/anyOf/0", "The path that a tool for uploads returned."),
    ("DescribedMedia", "/properties/path", "The path that a tool for uploads returned."),
    ("DescribedMedia", "/properties/alt_text", "Alt text: what the image or video shows."),
    ("PostTime", "/anyOf/1", "Publish now."),
    (
        "PostChanges",
        "/properties/content",
        "A new text; \"\" removes it from a post with files. Default: the text stays unchanged.",
    ),
    ("PostChanges", "/properties/platforms", "All accounts to publish to; replaces the current ones."),
    (
        "PostChanges",
        "/properties/scheduled_at",
        "A new time, as in `create_post`. A draft that gets a time is scheduled. `cancel_post` removes the time.",
    ),
    ("PostChanges", "/properties/media", "All files; replaces the current ones."),
    ("CreateMedium", "", "The file to upload."),
    ("CreateMedium", "/properties/source_url", "The public URL of the file."),
];

/// With the types that the schema refers to in `$defs`.
pub(crate) fn schema<R: ToSchema>() -> JsonObject {
    let mut referenced = Vec::new();
    R::schemas(&mut referenced);
    let definitions: JsonObject = referenced
        .into_iter()
        .map(|(name, schema)| {
            let described = Value::Object(described(&name, &schema));
            (name, described)
        })
        .collect();
    let mut schema = described(&R::name(), &R::schema());
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    schema
}

pub(crate) fn schema_with<T: JsonSchema + Any, R: ToSchema>() -> JsonObject {
    let mut schema = JsonObject::clone(&schema_for_type::<T>());
    for (keyword, added) in self::schema::<R>() {
        match (schema.get_mut(&keyword), added) {
            (Some(Value::Object(own)), Value::Object(added)) => own.extend(added),
            (Some(Value::Array(own)), Value::Array(added)) => own.extend(added),
            (Some(_), _) => {}
            (None, added) => drop(schema.insert(keyword, added)),
        }
    }
    schema
}

/// `source_url` is required, and `size` is not allowed.
pub(crate) fn schema_of_fetched_file() -> JsonObject {
    let mut schema = schema::<CreateMedium>();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.remove("size");
        if let Some(Value::Object(source)) = properties.get_mut("source_url") {
            source.insert("type".to_owned(), "string".into());
        }
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.push("source_url".into());
    }
    schema
}

/// An unknown field is an error, because a misspelled field must never turn a scheduled post into a
/// draft.
pub(crate) fn parse<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| ToolError::Input(plain_words(&error.to_string())))
}

/// An error of `serde` without terms of Rust. `serde` names what was given, then what it expected.
fn plain_words(error: &str) -> String {
    let Some((given, expected)) = error.rsplit_once(", expected ") else { return error.to_owned() };
    let given = match given.rsplit_once(": ") {
        Some((what, "map")) => format!("{what}: object"),
        Some((what, "sequence")) => format!("{what}: list"),
        _ => given.replacen("unknown variant", "unknown value", 1),
    };
    let expected = match expected {
        "a sequence" => "a list",
        "a map" => "an object",
        "a string" | "string or map" | "map with a single key" => "a text",
        "a boolean" => "true or false",
        "u16" | "u32" | "u64" | "i64" | "usize" => "a whole number",
        it if it.starts_with("struct ") => "an object",
        it => it,
    };
    format!("{given}, expected {expected}")
}

// Not one flattened type, because serde ignores unknown fields next to flattened ones.
pub(crate) fn parse_with<T, R>(arguments: JsonObject) -> Result<(T, R), ToolError>
where
    T: DeserializeOwned + JsonSchema + Any,
    R: DeserializeOwned,
{
    let schema = schema_for_type::<T>();
    let is_own = |name: &str| schema.get("properties").is_some_and(|it| it.get(name).is_some());
    // Assistants send null for what they leave out. In a change, it would remove the time of the post.
    let given = arguments.into_iter().filter(|it| !it.1.is_null());
    let (own, request) = given.partition(|it| is_own(&it.0));
    Ok((parse(own)?, parse(request)?))
}

fn described(name: &str, schema: &RefOr<Schema>) -> JsonObject {
    let mut schema = serde_json::to_value(schema).unwrap_or_default();
    make_plain(&mut schema);
    for (_, part, text) in TEXTS.iter().filter(|it| it.0 == name) {
        if let Some(Value::Object(part)) = schema.pointer_mut(part) {
            part.insert("description".to_owned(), (*text).into());
        }
    }
    match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    }
}

/// Replaces what differs between OpenAPI and JSON Schema, and `oneOf`, which fewer clients know than
/// `anyOf`.
fn make_plain(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            keywords.remove("example");
            if let Some(forms) = keywords.remove("oneOf") {
                keywords.insert("anyOf".to_owned(), forms);
            }
            if let Some(description) = take_description_of_nullable(keywords) {
                keywords.insert("description".to_owned(), description);
            }
            if let Some(Value::String(reference)) = keywords.get_mut("$ref") {
                *reference = reference.replace("#/components/schemas/", "#/$defs/");
            }
            keywords.values_mut().for_each(make_plain);
        }
        Value::Array(values) => values.iter_mut().for_each(make_plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `utoipa` describes the type that a field refers to if the field can be null, instead of the field.
fn take_description_of_nullable(field: &mut JsonObject) -> Option<Value> {
    let Some(Value::Array(forms)) = field.get_mut("anyOf") else { return None };
    let [Value::Object(form), null] = forms.as_mut_slice() else { return None };
    if null["type"] == "null" { form.remove("description") } else { None }
}

#[cfg(test)]
mod tests {
    use client::{NewPost, PostChanges};

    use super::*;

    fn with_referenced<R: ToSchema>() -> Vec<(String, RefOr<Schema>)> {
        let mut schemas = vec![(R::name().into_owned(), R::schema())];
        R::schemas(&mut schemas);
        schemas
    }

    #[test]
    fn every_text_describes_a_part_of_a_request() {
        let schemas =
            [with_referenced::<NewPost>(), with_referenced::<PostChanges>(), with_referenced::<CreateMedium>()]
                .concat();

        for (name, part, text) in TEXTS {
            let (_, schema) = schemas.iter().find(|it| it.0 == *name).unwrap();
            let described = Value::Object(described(name, schema));
            assert_eq!(described.pointer(part).unwrap()["description"], *text, "{name} {part}");
        }
    }
}
