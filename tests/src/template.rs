//! `template.yaml` and `infra/edge.yaml` as JSON, with their short forms (`!Ref X`) written out.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value, json};

use crate::{
    ensure,
    error::{Result, TestError},
    fail,
};

pub use steps::{ROOT, functions::FUNCTIONS};

#[derive(Clone, Debug)]
pub struct Template(Value);

impl Template {
    pub fn read() -> Result<Self> {
        Self::read_file("template.yaml")
    }

    pub fn read_edge() -> Result<Self> {
        Self::read_file("infra/edge.yaml")
    }

    fn read_file(path: &str) -> Result<Self> {
        let text = fs::read_to_string(format!("{ROOT}/{path}"))?;
        let mut documents = Yaml::load_from_str(&text)?;
        ensure!(documents.len() == 1, "{path} holds {} documents", documents.len());
        Ok(Self(json(&documents.remove(0))?))
    }

    pub fn json(&self) -> &Value {
        &self.0
    }

    pub fn json_mut(&mut self) -> &mut Value {
        &mut self.0
    }

    /// By name.
    pub fn resources(&self, kind: &str) -> BTreeMap<&str, &Value> {
        let all = self.0["Resources"].as_object().into_iter().flatten();
        all.filter(|(_, it)| it["Type"] == kind).map(|(name, it)| (name.as_str(), &it["Properties"])).collect()
    }

    /// Null when there is none.
    pub fn function(&self, folder: &str) -> &Value {
        &self.0["Resources"][function_name(folder)]
    }

    pub fn variables(&self, folder: &str) -> Vec<String> {
        let everywhere = &self.0["Globals"]["Function"]["Environment"]["Variables"];
        let own = &self.function(folder)["Properties"]["Environment"]["Variables"];
        let all = [everywhere, own].into_iter().filter_map(Value::as_object).flatten();
        all.map(|(name, _)| name.clone()).collect()
    }
}

pub fn rust_files(folder: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![Path::new(ROOT).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                files.push(path);
            }
        }
    }
    Ok(files)
}

pub fn function_name(folder: &str) -> String {
    let (first, rest) = folder.split_at(1);
    format!("{}{rest}Function", first.to_uppercase())
}

fn json(node: &Yaml<'_>) -> Result<Value> {
    Ok(match node {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(it)) => json!(it),
        Yaml::Value(Scalar::Integer(it)) => json!(it),
        Yaml::Value(Scalar::FloatingPoint(it)) => json!(it.into_inner()),
        Yaml::Value(Scalar::String(it)) => json!(it),
        Yaml::Sequence(items) => items.iter().map(json).collect::<Result<_>>()?,
        Yaml::Mapping(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let key = key.as_str().ok_or_else(|| TestError::new(format!("a key is no text: {key:?}")))?;
                Ok((key.to_owned(), json(value)?))
            });
            Value::Object(entries.collect::<Result<Map<_, _>>>()?)
        }
        Yaml::Tagged(tag, value) => match (tag.suffix.as_str(), json(value)?) {
            (name @ ("Ref" | "Condition"), value) => json!({ name: value }),
            // Only the short form has both parts in one text.
            ("GetAtt", Value::String(both)) => {
                let (name, attribute) = both.split_once('.').unwrap_or((&both, ""));
                json!({ "Fn::GetAtt": [name, attribute] })
            }
            (name, value) => json!({ format!("Fn::{name}"): value }),
        },
        other => fail!("not expected in a template: {other:?}"),
    })
}
