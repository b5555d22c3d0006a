//! The fields of an answer: a call names them, and gets no others.

use serde_json::{Map, Value};

use super::error::GraphError;

/// What can be asked of a kind of thing.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Its name in errors.
    pub kind: &'static str,
    pub fields: &'static [&'static str],
    /// Those that come when none are named. `id` always comes.
    pub unasked: &'static [&'static str],
}

impl Node {
    /// The fields of one that a call names in `fields`. Those that are `null` are left
    /// out.
    pub fn select(&self, thing: &Value, asked: Option<&str>) -> Result<Value, GraphError> {
        let names: Vec<&str> = asked.map_or_else(|| self.unasked.to_vec(), |it| it.split(',').map(str::trim).collect());
        let mut selected = Map::new();
        for name in names.into_iter().chain(["id"]) {
            if !self.fields.contains(&name) && name != "id" {
                let message = format!("Tried accessing nonexisting field ({name}) on node type ({})", self.kind);
                return Err(GraphError::param(&message));
            }
            if let Some(value) = thing.get(name).filter(|it| !it.is_null()) {
                selected.insert(name.to_owned(), value.clone());
            }
        }
        Ok(Value::Object(selected))
    }
}
