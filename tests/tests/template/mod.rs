//! `template.yaml` as JSON, with its short forms (`!Ref X`) written out.

use std::collections::BTreeMap;

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value, json};

/// The folder of the whole project.
pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The functions, and the folders they are in.
pub(crate) const FUNCTIONS: [&str; 7] = ["auth", "connections", "delivery", "media", "posts", "publisher", "upkeep"];

/// The template.
pub(crate) struct Template(Value);

impl Template {
    /// Reads it.
    pub(crate) fn read() -> Self {
        let text = std::fs::read_to_string(format!("{ROOT}/template.yaml")).unwrap();
        let mut documents = Yaml::load_from_str(&text).unwrap();
        assert_eq!(documents.len(), 1, "documents in template.yaml");
        Self(json(&documents.remove(0)))
    }

    /// The resources of a type by their names: what they are.
    pub(crate) fn resources(&self, kind: &str) -> BTreeMap<&str, &Value> {
        let all = self.0["Resources"].as_object().unwrap().iter();
        all.filter(|(_, it)| it["Type"] == kind).map(|(name, it)| (name.as_str(), &it["Properties"])).collect()
    }

    /// The resource of the function in this folder.
    pub(crate) fn function(&self, folder: &str) -> &Value {
        let (first, rest) = folder.split_at(1);
        let name = format!("{}{rest}Function", first.to_uppercase());
        let function = &self.0["Resources"][&name];
        assert!(function.is_object(), "{name} is not in template.yaml");
        function
    }

    /// The names of a function's environment variables.
    pub(crate) fn variables(&self, folder: &str) -> Vec<String> {
        let everywhere = &self.0["Globals"]["Function"]["Environment"]["Variables"];
        let own = &self.function(folder)["Properties"]["Environment"]["Variables"];
        let all = [everywhere, own].into_iter().filter_map(Value::as_object).flatten();
        all.map(|(name, _)| name.clone()).collect()
    }
}

fn json(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(it)) => json!(it),
        Yaml::Value(Scalar::Integer(it)) => json!(it),
        Yaml::Value(Scalar::FloatingPoint(it)) => json!(it.into_inner()),
        Yaml::Value(Scalar::String(it)) => json!(it),
        Yaml::Sequence(items) => items.iter().map(json).collect(),
        Yaml::Mapping(entries) => {
            let entries = entries.iter().map(|(key, value)| (key.as_str().unwrap().to_owned(), json(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Yaml::Tagged(tag, value) => {
            let name = if tag.suffix == "Ref" { "Ref".to_owned() } else { format!("Fn::{}", tag.suffix) };
            json!({ name: json(value) })
        }
        other => panic!("not expected in a template: {other:?}"),
    }
}
