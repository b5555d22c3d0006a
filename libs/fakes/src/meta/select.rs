//! The fields of a response: only those that the call requests.

use serde_json::{Map, Value};

use super::error::GraphError;

/// The fields of one kind of object.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// As in error messages.
    pub kind: &'static str,
    pub fields: &'static [&'static str],
    /// The fields that are returned when the call requests none. `id` is always returned.
    pub unasked: &'static [&'static str],
}

impl Node {
    /// The fields of `thing` that the call requests. Fields that are `null` are omitted.
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
