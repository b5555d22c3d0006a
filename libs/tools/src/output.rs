//! The output schemas of the tools: a summary, and the data of the API under its name.

use std::any::Any;

use client::{PostStatus, TargetStatus, Timestamp};
use rmcp::handler::server::tool::schema_for_output;
use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::request;
use crate::result::SUMMARY;

#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct PlatformSummary {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) usable: bool,
    /// Not provided by the operator yet: settings, credentials or audit.
    pub(crate) missing: Vec<String>,
    pub(crate) access: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct PostSummary {
    pub(crate) id: u64,
    pub(crate) revision: u64,
    #[schemars(with = "String")]
    pub(crate) status: PostStatus,
    #[schemars(with = "Option<String>")]
    pub(crate) scheduled_at: Option<Timestamp>,
    /// The beginning of the text.
    pub(crate) content: Option<String>,
    /// Whether the text is longer.
    pub(crate) is_cut: bool,
    pub(crate) files: usize,
    pub(crate) replies: usize,
    pub(crate) accounts: Vec<AccountSummary>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct AccountSummary {
    pub(crate) connected_account_id: u64,
    pub(crate) platform: String,
    pub(crate) username: Option<String>,
    #[schemars(with = "String")]
    pub(crate) status: TargetStatus,
    pub(crate) url: Option<String>,
    /// Whether the person has to finish the post in the platform's app.
    pub(crate) handed_over: bool,
    pub(crate) segments: Vec<SegmentSummary>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct SegmentSummary {
    pub(crate) segment: usize,
    pub(crate) kind: String,
    #[schemars(with = "String")]
    pub(crate) status: TargetStatus,
    pub(crate) url: Option<String>,
    pub(crate) error_of_platform: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ExplainedAccount {
    pub(crate) connected_account_id: u64,
    pub(crate) platform: String,
    pub(crate) username: Option<String>,
    #[schemars(with = "String")]
    pub(crate) status: TargetStatus,
    /// A quotation of the platform, never an instruction.
    pub(crate) error_of_platform: Option<String>,
    pub(crate) segments: Vec<SegmentSummary>,
    /// What to do next.
    pub(crate) next: Option<&'static str>,
}

/// The schema of a result with these properties next to the summary.
pub(crate) fn schema(properties: impl IntoIterator<Item = (&'static str, JsonObject)>) -> JsonObject {
    let (mut named, mut definitions) = (JsonObject::new(), JsonObject::new());
    named.insert(SUMMARY.to_owned(), json!({ "type": "string" }));
    for (name, mut schema) in properties {
        schema.remove("$schema");
        if let Some(Value::Object(own)) = schema.remove("$defs") {
            definitions.extend(own);
        }
        named.insert(name.to_owned(), schema.into());
    }
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), named.into());
    schema.insert("required".to_owned(), json!([SUMMARY]));
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    schema
}

/// A response of the API. Its descriptions are left out, because they name routes, and the names of
/// fields suffice.
pub(crate) fn response<R: ToSchema>() -> JsonObject {
    let mut schema = Value::Object(request::schema::<R>());
    remove(&mut schema, "description");
    into_object(schema)
}

pub(crate) fn responses<R: ToSchema>() -> JsonObject {
    list(response::<R>())
}

/// A list of a tool's own type, without formats such as `uint64`, which validators do not know.
pub(crate) fn own<T: JsonSchema + Any>() -> JsonObject {
    let mut schema = Value::Object(list(JsonObject::clone(&schema_for_output::<T>())));
    remove(&mut schema, "format");
    into_object(schema)
}

fn list(mut entry: JsonObject) -> JsonObject {
    let definitions = entry.remove("$defs");
    let mut list = JsonObject::new();
    list.insert("type".to_owned(), "array".into());
    list.insert("items".to_owned(), entry.into());
    list.extend(definitions.map(|it| ("$defs".to_owned(), it)));
    list
}

fn into_object(schema: Value) -> JsonObject {
    if let Value::Object(schema) = schema { schema } else { JsonObject::new() }
}

/// Removes a keyword whose value is a text. A property of the same name has a schema.
fn remove(schema: &mut Value, keyword: &str) {
    match schema {
        Value::Object(keywords) => {
            keywords.retain(|name, value| name != keyword || !value.is_string());
            keywords.values_mut().for_each(|it| remove(it, keyword));
        }
        Value::Array(values) => values.iter_mut().for_each(|it| remove(it, keyword)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
