//! The page with the documentation, made from the `OpenAPI` document.

use askama::Template;
use serde_json::Value;

use super::guide::{Chapter, chapters};
use super::schema::{Schemas, Shape};

#[derive(Template)]
#[template(path = "docs.html")]
pub(crate) struct DocsPage {
    title: String,
    version: String,
    description: String,
    chapters: Vec<Chapter>,
    groups: Vec<Group>,
}

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
    curl: String,
    typescript: String,
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

/// In the order in which a path's operations are shown.
const METHODS: [&str; 5] = ["get", "post", "patch", "put", "delete"];

impl DocsPage {
    /// The examples call the service at `origin`.
    pub(crate) fn new(document: &Value, origin: &str) -> Self {
        let tags = document["tags"].as_array().into_iter().flatten();
        let groups = tags.map(|tag| Group::from_tag(document, tag, origin)).filter(|it| !it.operations.is_empty());
        Self {
            title: text(&document["info"]["title"]),
            version: text(&document["info"]["version"]),
            description: text(&document["info"]["description"]),
            chapters: chapters(origin),
            groups: groups.collect(),
        }
    }
}

impl Group {
    fn from_tag<'a>(document: &'a Value, tag: &'a Value, origin: &str) -> Self {
        let name = text(&tag["name"]);
        let paths = document["paths"].as_object().into_iter().flatten();
        let operations = paths
            .flat_map(|(path, item)| METHODS.iter().filter_map(move |method| Some((path, *method, item.get(method)?))));
        let tag_operations =
            operations.filter(|(_, _, it)| it["tags"].as_array().is_some_and(|it| it.contains(&tag["name"])));
        let operations = tag_operations
            .map(|(path, method, it)| Operation::from_operation(document, path, method, it, origin))
            .collect();
        Self { anchor: name.to_lowercase(), name, description: text(&tag["description"]), operations }
    }
}

impl Operation {
    fn from_operation<'a>(document: &'a Value, path: &str, method: &str, operation: &'a Value, origin: &str) -> Self {
        let schemas = Schemas { document };
        let parameters = operation["parameters"].as_array().into_iter().flatten().map(|it| schemas.resolve(it));
        let responses = operation["responses"].as_object().into_iter().flatten();
        let answers: Vec<_> = responses
            .map(|(status, it)| OperationResponse::from_response(schemas, status, schemas.resolve(it)))
            .collect();
        let body = Content::from_holder(schemas, schemas.resolve(&operation["requestBody"]));
        let needs_token = operation["security"].as_array().is_some_and(|it| !it.is_empty());
        let sample = Sample {
            method: method.to_uppercase(),
            url: format!("{origin}{path}"),
            needs_token,
            form: form_fields(schemas, schemas.resolve(&operation["requestBody"])),
            body: body.as_ref().and_then(|it| it.examples.first()).map(|it| it.json.clone()),
            returns_json: answers.iter().any(|it| it.status.starts_with('2') && it.content.is_some()),
        };
        Self {
            anchor: text(&operation["operationId"]),
            method: method.to_uppercase(),
            path: path.to_owned(),
            summary: text(&operation["summary"]),
            description: text(&operation["description"]),
            needs_token,
            parameters: parameters.map(|it| Parameter::from_parameter(schemas, it)).collect(),
            body,
            answers,
            curl: sample.curl(),
            typescript: sample.typescript(),
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

/// A request as code.
struct Sample {
    method: String,
    /// With parameters in braces.
    url: String,
    needs_token: bool,
    /// The fields of a form in place of JSON, each with an example.
    form: Vec<(String, String)>,
    body: Option<String>,
    returns_json: bool,
}

impl Sample {
    fn curl(&self) -> String {
        // A parameter is a variable of the shell.
        let url = self.url.replace('{', "$").replace('}', "");
        let mut lines = vec![format!("curl -X {} \"{url}\"", self.method)];
        if self.needs_token {
            lines.push("  -H \"Authorization: Bearer $TOKEN\"".to_owned());
        }
        lines.extend(self.form.iter().map(|(name, value)| format!("  --data-urlencode '{name}={value}'")));
        if let Some(body) = &self.body {
            lines.push("  -H 'Content-Type: application/json'".to_owned());
            lines.push(format!("  -d '{}'", body.replace('\'', r"'\''")));
        }
        lines.join(" \\\n")
    }

    fn typescript(&self) -> String {
        let mut headers = Vec::new();
        if self.needs_token {
            headers.push("authorization: `Bearer ${token}`");
        }
        if self.body.is_some() {
            headers.push("\"content-type\": \"application/json\"");
        }
        let mut lines = vec![format!("const response = await fetch(`{}`, {{", self.url.replace('{', "${"))];
        lines.push(format!("  method: \"{}\",", self.method));
        if !headers.is_empty() {
            lines.push(format!("  headers: {{ {} }},", headers.join(", ")));
        }
        if !self.form.is_empty() {
            let fields: Vec<_> = self.form.iter().map(|(name, value)| format!("    {name}: \"{value}\",")).collect();
            lines.push(format!("  body: new URLSearchParams({{\n{}\n  }}),", fields.join("\n")));
        }
        if let Some(body) = &self.body {
            lines.push(format!("  body: JSON.stringify({}),", body.replace('\n', "\n  ")));
        }
        lines.push("});".to_owned());
        lines.push("if (!response.ok) throw new Error(await response.text());".to_owned());
        if self.returns_json {
            lines.push("const result = await response.json();".to_owned());
        }
        lines.join("\n")
    }
}

fn form_fields<'a>(schemas: Schemas<'a>, body: &'a Value) -> Vec<(String, String)> {
    let example = match &body["content"]["application/x-www-form-urlencoded"] {
        Value::Null => return Vec::new(),
        content if content["example"].is_object() => content["example"].clone(),
        content => schemas.example(&content["schema"]),
    };
    let fields = example.as_object().into_iter().flatten();
    fields
        .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect()
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

        let html = DocsPage::new(&document, "https://social.example").render().unwrap();

        for id in ["deviceCode.store", "deviceCode.token", "user.show", "guide-errors"] {
            assert!(html.contains(&format!("<section class=\"card\" id=\"{id}\"")), "{id}");
        }
        for text in
            ["authorization_pending", "verification_uri_complete", "list of user:read | connections:read", "503"]
        {
            assert!(html.contains(text), "{text}\n{html}");
        }
        for text in [
            "curl -X POST &#34;https://social.example/api/v1/auth/device/code&#34;",
            "const response = await fetch(`https://social.example/api/v1/user`, {",
            "Authorization: Bearer $TOKEN",
        ] {
            assert!(html.contains(text), "{text}\n{html}");
        }
        let bad_request = &document["paths"]["/api/v1/auth/device/token"]["post"]["responses"]["400"];
        assert!(bad_request["content"]["application/json"]["examples"]["access_denied"].is_object(), "{bad_request}");
    }

    #[test]
    fn empty_document_is_empty_page() {
        assert!(DocsPage::new(&serde_json::json!({}), "").render().is_ok());
    }
}
