use std::fs;
use std::path::Path;

use domain::media::MimeType;
use domain::scope::Scope;
use domain::webhook::EventKind;
use serde_json::{Value, json};
use tests::template::ROOT;

use crate::{Names, document};

#[test]
fn served_document_matches_the_routes() {
    let file = Path::new(ROOT).join("libs/api/openapi.json");
    let described = format!("{:#}\n", document());
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &described).unwrap();
    }
    assert!(
        fs::read_to_string(&file).unwrap() == described,
        "libs/api/openapi.json is not up to date: UPDATE=1 cargo test -p tests --test guards writes it"
    );
}

#[test]
fn every_operation_is_fully_described() {
    let document = document();
    let operations = operations(&document);
    assert_eq!(
        operations.len(),
        35,
        "those of the specification, DELETE /posts/{{post}}, /posts/validate, attempts, /oauth/token, /platforms, profiles, choices, webhooks"
    );

    let mut lacks = Vec::new();
    let mut ids = Names::new();
    for (name, operation) in operations {
        for part in ["summary", "operationId"] {
            if operation[part].as_str().is_none_or(str::is_empty) {
                lacks.push(format!("{name}: {part}"));
            }
        }
        if operation["tags"].as_array().is_none_or(|it| it.len() != 1) {
            lacks.push(format!("{name}: one tag"));
        }
        assert!(ids.insert(operation["operationId"].to_string()), "{name}: its operationId is another's");
        let body = &operation["requestBody"];
        if body.is_object() && !has_example(&document, body) {
            lacks.push(format!("{name}: an example of its body"));
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            if response["description"].as_str().is_none_or(str::is_empty) {
                lacks.push(format!("{name}: a description of {status}"));
            }
            let mut bodies = response["content"].as_object().into_iter().flat_map(|it| it.values());
            let is_error = status.starts_with(['4', '5']);
            if is_error && !bodies.all(|it| it["schema"]["$ref"] == "#/components/schemas/Error") {
                lacks.push(format!("{name}: the one schema of errors for {status}"));
            }
            if response["content"].is_object() && !has_example(&document, response) {
                lacks.push(format!("{name}: an example of {status}"));
            }
        }
    }
    assert!(lacks.is_empty(), "the document lacks\n{}", lacks.join("\n"));
}

#[test]
fn documented_values_are_those_that_requests_accept() {
    let document = document();
    let values = |name: &str| &document["components"]["schemas"][name]["enum"];

    assert_eq!(values("MimeType"), &json!(MimeType::ALL.map(MimeType::as_str)));
    assert_eq!(values("Scope"), &json!(Scope::ALL.map(Scope::as_str)));
    for schema in ["NewWebhook", "WebhookChanges"] {
        let events = &document["components"]["schemas"][schema]["properties"]["events"];
        assert_eq!(events["maxItems"], EventKind::ALL.len(), "{schema}");
    }
}

/// Its own example or its schema's.
fn has_example(document: &Value, body: &Value) -> bool {
    let mut media = body["content"].as_object().unwrap().values();
    media.all(|it| it.get("example").or(it.get("examples")).is_some() || schema_has_example(document, &it["schema"]))
}

fn schema_has_example(document: &Value, schema: &Value) -> bool {
    if let Some(reference) = schema["$ref"].as_str() {
        return schema_has_example(document, document.pointer(&reference[1..]).unwrap());
    }
    let has = |it: &Value| schema_has_example(document, it);
    let alternatives = ["oneOf", "anyOf", "allOf"].iter().filter_map(|it| schema[it].as_array()).flatten();
    schema.get("example").or(schema.get("examples")).is_some()
        || schema["properties"].as_object().is_some_and(|it| it.values().any(has))
        || has_items(schema) && has(&schema["items"])
        || alternatives.into_iter().any(has)
}

fn has_items(schema: &Value) -> bool {
    schema["items"].is_object()
}

/// With their names.
fn operations(document: &Value) -> Vec<(String, &Value)> {
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let methods = item.as_object().unwrap().iter().filter(|(_, it)| it["responses"].is_object());
        operations.extend(methods.map(|(method, operation)| (format!("{method} {path}"), operation)));
    }
    operations
}
