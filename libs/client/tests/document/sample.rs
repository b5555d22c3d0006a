use serde_json::{Map, Value, json};

pub(crate) fn document() -> Value {
    serde_json::from_str(include_str!("../../../api/openapi.json")).unwrap()
}

pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: String,
    /// With `{names}` for path parameters.
    pub(crate) path: String,
    pub(crate) description: Value,
}

pub(crate) fn operations() -> Vec<Operation> {
    let document = document();
    let paths = document["paths"].as_object().unwrap();
    let path_operations = |(path, methods): (&String, &Value)| {
        let operation = |(method, description): (&String, &Value)| Operation {
            id: description["operationId"].as_str().unwrap().to_owned(),
            method: method.to_uppercase(),
            path: path.clone(),
            description: description.clone(),
        };
        methods.as_object().unwrap().iter().map(operation).collect::<Vec<_>>()
    };
    paths.iter().flat_map(path_operations).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Full,
    Required,
}

pub(crate) fn samples(name: &str, size: Size) -> Vec<Value> {
    let document = document();
    assert!(document["components"]["schemas"][name].is_object(), "the document has no schema {name}");
    schema_samples(&document, &document["components"]["schemas"][name], size)
}

pub(crate) fn schema_samples(document: &Value, schema: &Value, size: Size) -> Vec<Value> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix("#/components/schemas/").unwrap();
        return schema_samples(document, &document["components"]["schemas"][name], size);
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let mut all = Map::new();
        for part in parts {
            all.extend(schema_samples(document, part, size).remove(0).as_object().unwrap().clone());
        }
        return vec![Value::Object(all)];
    }
    if let Some(forms) = schema["oneOf"].as_array() {
        return forms
            .iter()
            .filter(|it| it["type"] != "null")
            .flat_map(|it| schema_samples(document, it, size))
            .collect();
    }
    if let Some(values) = schema["enum"].as_array() {
        return vec![values[0].clone()];
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|it| *it != "null").unwrap().as_str().unwrap(),
        kind => kind.as_str().unwrap_or("any"),
    };
    match kind {
        "object" => object(document, schema, size),
        "array" => vec![Value::Array(schema.get("items").map_or(vec![], |it| schema_samples(document, it, size)))],
        "string" if schema["format"] == "date-time" => vec![json!("2026-11-21T09:30:00.000Z")],
        "string" => vec![json!("a word")],
        "integer" => vec![json!(7)],
        "boolean" => vec![json!(true)],
        _ => vec![json!(["any", "value"])],
    }
}

fn object(document: &Value, schema: &Value, size: Size) -> Vec<Value> {
    let required: Vec<_> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut forms = vec![Map::new()];
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if size == Size::Required && !required.contains(&name.as_str()) {
            continue;
        }
        let values = schema_samples(document, property, size);
        let with_property = |form: &Map<String, Value>, value: &Value| {
            let mut form = form.clone();
            form.insert(name.clone(), value.clone());
            form
        };
        forms = forms
            .iter()
            .flat_map(|form| values.iter().map(|value| with_property(form, value)).collect::<Vec<_>>())
            .collect();
    }
    if let Some(values) = schema.get("additionalProperties").filter(|it| it.is_object()) {
        for form in &mut forms {
            form.insert("a-name".to_owned(), schema_samples(document, values, size).remove(0));
        }
    }
    forms.into_iter().map(Value::Object).collect()
}
