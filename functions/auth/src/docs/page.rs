//! The page with the documentation, made from the `OpenAPI` document.

use askama::Template;
use serde_json::Value;

use super::schema::{Schemas, Shape};

/// The page with the whole documentation.
#[derive(Template)]
#[template(path = "docs.html")]
pub(crate) struct DocsPage {
    title: String,
    version: String,
    description: String,
    groups: Vec<Group>,
}

/// The operations with one tag.
struct Group {
    anchor: String,
    name: String,
    description: String,
    operations: Vec<Operation>,
}

struct Operation {
    anchor: String,
    method: String,
    path: String,
    summary: String,
    description: String,
    needs_token: bool,
    parameters: Vec<Parameter>,
    body: Option<Content>,
    answers: Vec<OperationResponse>,
}

struct Parameter {
    name: String,
    place: String,
    kind: String,
    is_required: bool,
    description: String,
}

struct OperationResponse {
    status: String,
    description: String,
    content: Option<Content>,
}

struct Content {
    description: String,
    shapes: Vec<Shape>,
    examples: Vec<Example>,
}

struct Example {
    name: String,
    json: String,
}

/// The methods, in the order in which a path's operations are shown.
const METHODS: [&str; 5] = ["get", "post", "patch", "put", "delete"];

impl DocsPage {
    pub(crate) fn from_document(document: &Value) -> Self {
        let tags = document["tags"].as_array().into_iter().flatten();
        let groups = tags.map(|tag| Group::from_tag(document, tag)).filter(|it| !it.operations.is_empty());
        Self {
            title: text(&document["info"]["title"]),
            version: text(&document["info"]["version"]),
            description: text(&document["info"]["description"]),
            groups: groups.collect(),
        }
    }
}

impl Group {
    fn from_tag<'a>(document: &'a Value, tag: &'a Value) -> Self {
        let name = text(&tag["name"]);
        let paths = document["paths"].as_object().into_iter().flatten();
        let operations = paths
            .flat_map(|(path, item)| METHODS.iter().filter_map(move |method| Some((path, *method, item.get(method)?))));
        let tag_operations =
            operations.filter(|(_, _, it)| it["tags"].as_array().is_some_and(|it| it.contains(&tag["name"])));
        let operations =
            tag_operations.map(|(path, method, it)| Operation::from_operation(document, path, method, it)).collect();
        Self { anchor: name.to_lowercase(), name, description: text(&tag["description"]), operations }
    }
}

impl Operation {
    fn from_operation<'a>(document: &'a Value, path: &str, method: &str, operation: &'a Value) -> Self {
        let schemas = Schemas { document };
        let parameters = operation["parameters"].as_array().into_iter().flatten().map(|it| schemas.resolve(it));
        let responses = operation["responses"].as_object().into_iter().flatten();
        Self {
            anchor: text(&operation["operationId"]),
            method: method.to_uppercase(),
            path: path.to_owned(),
            summary: text(&operation["summary"]),
            description: text(&operation["description"]),
            needs_token: operation["security"].as_array().is_some_and(|it| !it.is_empty()),
            parameters: parameters.map(|it| Parameter::from_parameter(schemas, it)).collect(),
            body: Content::from_holder(schemas, schemas.resolve(&operation["requestBody"])),
            answers: responses
                .map(|(status, it)| OperationResponse::from_response(schemas, status, schemas.resolve(it)))
                .collect(),
        }
    }
}

impl Parameter {
    fn from_parameter<'a>(schemas: Schemas<'a>, parameter: &'a Value) -> Self {
        Self {
            name: text(&parameter["name"]),
            place: text(&parameter["in"]),
            kind: schemas.kind(&parameter["schema"]),
            is_required: parameter["required"] == true,
            description: text(&parameter["description"]),
        }
    }
}

impl OperationResponse {
    fn from_response<'a>(schemas: Schemas<'a>, status: &str, response: &'a Value) -> Self {
        Self {
            status: status.to_owned(),
            description: text(&response["description"]),
            content: Content::from_holder(schemas, response),
        }
    }
}

impl Content {
    fn from_holder<'a>(schemas: Schemas<'a>, holder: &'a Value) -> Option<Self> {
        let content = &holder["content"]["application/json"];
        if content.is_null() {
            return None;
        }
        let mut examples: Vec<Example> = content["examples"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, it)| Example { name: name.clone(), json: pretty(&schemas.resolve(it)["value"]) })
            .collect();
        if examples.is_empty() {
            let example = match &content["example"] {
                Value::Null => schemas.example(&content["schema"]),
                given => given.clone(),
            };
            examples.push(Example { name: String::new(), json: pretty(&example) });
        }
        Some(Self { description: text(&holder["description"]), shapes: schemas.shapes(&content["schema"]), examples })
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_on_the_page_with_its_responses() {
        let document = serde_json::to_value(api::openapi::describe([crate::documented()])).unwrap();

        let html = DocsPage::from_document(&document).render().unwrap();

        for id in ["deviceCode.store", "deviceCode.token", "user.show"] {
            assert!(html.contains(&format!("<section class=\"card\" id=\"{id}\">")), "{id}");
        }
        for text in
            ["authorization_pending", "verification_uri_complete", "list of user:read | connections:read", "503"]
        {
            assert!(html.contains(text), "{text}\n{html}");
        }
        let bad_request = &document["paths"]["/api/v1/auth/device/token"]["post"]["responses"]["400"];
        assert!(bad_request["content"]["application/json"]["examples"]["access_denied"].is_object(), "{bad_request}");
    }

    #[test]
    fn empty_document_is_empty_page() {
        assert!(DocsPage::from_document(&serde_json::json!({})).render().is_ok());
    }
}
