//! Answers that a test has ordered for the next call to a path.

use std::collections::BTreeMap;

use serde_json::Value;

/// What the next call to a path is answered with, a status and a body, by what the path
/// begins with.
#[derive(Debug, Default)]
pub struct Ordered(BTreeMap<String, (u16, Value)>);

impl Ordered {
    /// The next call to a path that begins like this is answered with this.
    pub fn order(&mut self, path: &str, status: u16, body: Value) {
        self.0.insert(path.to_owned(), (status, body));
    }

    /// What a call to this path is answered with, once.
    pub fn take(&mut self, path: &str) -> Option<(u16, Value)> {
        let ordered = self.0.keys().find(|it| path.starts_with(it.as_str())).cloned()?;
        self.0.remove(&ordered)
    }
}
