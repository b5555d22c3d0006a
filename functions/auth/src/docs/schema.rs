//! Schemas of the `OpenAPI` document, as tables and examples.

use serde_json::{Map, Value, json};

/// Objects within objects are shown to this depth; a schema may contain itself.
const MAX_DEPTH: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) is_required: bool,
    pub(crate) description: String,
}

/// One of the forms that a body can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) title: String,
    pub(crate) rows: Vec<Row>,
}

#[derive(Clone, Copy)]
pub(crate) struct Schemas<'a> {
    pub(crate) document: &'a Value,
}

impl<'a> Schemas<'a> {
    /// Any value other than a reference is returned as it is.
    pub(crate) fn resolve(self, value: &'a Value) -> &'a Value {
        let target =
            value["$ref"].as_str().and_then(|it| it.strip_prefix('#')).and_then(|it| self.document.pointer(it));
        target.unwrap_or(value)
    }

    pub(crate) fn shapes(self, schema: &'a Value) -> Vec<Shape> {
        let alternatives = self.alternatives(schema);
        let shape = |schema: &'a Value| Shape { title: title(schema), rows: self.rows(schema, "", 0) };
        let shapes: Vec<Shape> = alternatives.into_iter().map(shape).collect();
        shapes.into_iter().filter(|it| !it.rows.is_empty()).collect()
    }

    pub(crate) fn example(self, schema: &'a Value) -> Value {
        self.example_at(schema, 0)
    }

    fn example_at(self, schema: &'a Value, depth: usize) -> Value {
        let schema = self.resolve(schema);
        let given =
            [&schema["example"], &schema["examples"][0], &schema["default"], &schema["enum"][0], &schema["const"]];
        if let Some(given) = given.into_iter().find(|it| !it.is_null()) {
            return given.clone();
        }
        if MAX_DEPTH < depth {
            return Value::Null;
        }
        let merged = self.properties(schema);
        if !merged.is_empty() {
            let pairs = merged.into_iter().map(|(name, _, it)| (name, self.example_at(it, depth + 1)));
            return Value::Object(pairs.collect::<Map<_, _>>());
        }
        let alternatives = self.alternatives(schema);
        if let Some(first) = alternatives.first().filter(|it| !std::ptr::eq(**it, schema)) {
            return self.example_at(first, depth + 1);
        }
        match (kinds(schema).first().copied(), schema["format"].as_str()) {
            (Some("string"), Some("date-time")) => json!("2026-11-21T09:30:00.000Z"),
            (Some("string"), _) => json!("text"),
            (Some("integer" | "number"), _) => json!(1),
            (Some("boolean"), _) => json!(false),
            (Some("array"), _) if schema["items"].is_object() => json!([self.example_at(&schema["items"], depth + 1)]),
            (Some("array"), _) => json!([]),
            (Some("object"), _) => json!({}),
            _ => Value::Null,
        }
    }

    fn rows(self, schema: &'a Value, prefix: &str, depth: usize) -> Vec<Row> {
        if MAX_DEPTH < depth {
            return Vec::new();
        }
        let mut rows = Vec::new();
        for (name, is_required, property) in self.properties(self.resolve(schema)) {
            let name = format!("{prefix}{name}");
            let resolved = self.resolve(property);
            let described = [property, resolved].into_iter().find_map(|it| it["description"].as_str());
            rows.push(Row {
                name: name.clone(),
                kind: self.kind(property),
                is_required,
                description: described.unwrap_or_default().to_owned(),
            });
            let (nested, prefix) = match &resolved["items"] {
                Value::Null => (resolved, format!("{name}.")),
                items => (items, format!("{name}[].")),
            };
            for nested in self.alternatives(nested) {
                let known: Vec<String> = rows.iter().map(|it| it.name.clone()).collect();
                let nested = self.rows(nested, &prefix, depth + 1);
                rows.extend(nested.into_iter().filter(|it| !known.contains(&it.name)));
            }
        }
        rows
    }

    pub(crate) fn kind(self, schema: &'a Value) -> String {
        let schema = self.resolve(schema);
        if let Some(values) = schema["enum"].as_array() {
            let values: Vec<String> =
                values.iter().map(|it| it.as_str().map_or(it.to_string(), str::to_owned)).collect();
            return with_null(&values.join(" | "), schema);
        }
        let kinds = kinds(schema);
        if kinds.is_empty() {
            let alternatives = self.alternatives(schema);
            let mut kinds: Vec<String> =
                alternatives.iter().filter(|it| !std::ptr::eq(**it, schema)).map(|it| self.kind(it)).collect();
            kinds.dedup();
            return with_null(if kinds.is_empty() { "any".to_owned() } else { kinds.join(" or ") }.as_str(), schema);
        }
        let mut kind = kinds.join(" or ");
        if kinds == ["array"] && !schema["items"].is_null() {
            kind = format!("list of {}", self.kind(&schema["items"]));
        }
        if let Some(format) = schema["format"].as_str().filter(|it| ["date-time", "uri", "email"].contains(it)) {
            kind = format!("{kind} ({format})");
        }
        with_null(&(kind + &bounds(schema)), schema)
    }

    /// The alternatives of `oneOf` or `anyOf`; without either, the schema itself.
    fn alternatives(self, schema: &'a Value) -> Vec<&'a Value> {
        let schema = self.resolve(schema);
        let choice = ["oneOf", "anyOf"].into_iter().find_map(|it| schema[it].as_array());
        match choice {
            None => vec![schema],
            Some(schemas) => {
                schemas.iter().filter(|it| it["type"] != "null").flat_map(|it| self.alternatives(it)).collect()
            }
        }
    }

    /// The properties of an object: name, whether required, schema.
    fn properties(self, schema: &'a Value) -> Vec<(String, bool, &'a Value)> {
        let parts = schema["allOf"].as_array().into_iter().flatten().map(|it| self.resolve(it));
        let mut properties: Vec<_> = parts.flat_map(|it| self.properties(it)).collect();
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            properties.push((name.clone(), required.contains(&name.as_str()), property));
        }
        properties
    }
}

fn title(schema: &Value) -> String {
    ["title", "description"].into_iter().find_map(|it| schema[it].as_str()).unwrap_or_default().to_owned()
}

/// The types of a schema, without null.
fn kinds(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).filter(|it| *it != "null").collect(),
        _ => Vec::new(),
    }
}

fn with_null(kind: &str, schema: &Value) -> String {
    let in_types = schema["type"].as_array().is_some_and(|it| it.contains(&json!("null")));
    let choices = ["oneOf", "anyOf"].into_iter().filter_map(|it| schema[it].as_array()).flatten();
    let is_nullable = in_types || choices.into_iter().any(|it| it["type"] == "null");
    if is_nullable { format!("{kind} or null") } else { kind.to_owned() }
}

fn bounds(schema: &Value) -> String {
    let bound = |name: &str, words: &str| match &schema[name] {
        Value::Null => None,
        // Every unsigned number has the minimum 0, so showing it tells nothing.
        Value::Number(number) if name == "minimum" && number.as_f64() == Some(0.0) => None,
        value => Some(format!("{words} {value}")),
    };
    let bounds =
        [bound("minimum", "from"), bound("maximum", "to"), bound("maxLength", "at most"), bound("maxItems", "at most")];
    let bounds: Vec<String> = bounds.into_iter().flatten().collect();
    if bounds.is_empty() { String::new() } else { format!(", {}", bounds.join(" ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Value {
        json!({"components": {"schemas": {
            "Post": {
                "type": "object",
                "required": ["id"],
                "properties": {
                    "id": {"type": "integer", "description": "Ours", "minimum": 0},
                    "at": {"type": ["string", "null"], "format": "date-time"},
                    "media": {"type": "array", "items": {"$ref": "#/components/schemas/Medium"}},
                    "again": {"$ref": "#/components/schemas/Post"},
                },
            },
            "Medium": {"type": "object", "properties": {"kind": {"type": "string", "enum": ["image", "video"]}}},
        }}})
    }

    #[test]
    fn nested_fields_have_their_path() {
        let document = document();
        let schemas = Schemas { document: &document };
        let reference = json!({"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Post"}]});

        let shapes = schemas.shapes(&reference);

        assert_eq!(shapes.len(), 1);
        let rows: Vec<(&str, &str, bool)> =
            shapes[0].rows.iter().map(|it| (it.name.as_str(), it.kind.as_str(), it.is_required)).collect();
        assert!(rows.contains(&("id", "integer", true)), "{rows:?}");
        assert!(rows.contains(&("at", "string (date-time) or null", false)), "{rows:?}");
        assert!(rows.contains(&("media[].kind", "image | video", false)), "{rows:?}");
    }

    #[test]
    fn missing_example_is_generated_and_recursion_ends() {
        let document = document();
        let schemas = Schemas { document: &document };

        let example = schemas.example(&document["components"]["schemas"]["Post"]);

        assert_eq!(example["media"], json!([{"kind": "image"}]));
        assert_eq!(example["at"], "2026-11-21T09:30:00.000Z");
    }
}
