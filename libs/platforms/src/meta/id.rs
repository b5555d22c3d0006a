use std::fmt;

use serde::{Deserialize, Serialize};

/// In bytes: the id of a post contains the id of its Page.
const MAX_BYTES: usize = 64;

/// An id that may become part of a path: digits, and `_` between the id of a Page and that of its post.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct GraphId(String);

#[derive(Debug, thiserror::Error)]
#[error("not an id of the Graph API")]
pub(crate) struct InvalidGraphId;

impl TryFrom<String> for GraphId {
    type Error = InvalidGraphId;

    fn try_from(id: String) -> Result<Self, InvalidGraphId> {
        let is_id = (1..=MAX_BYTES).contains(&id.len()) && id.bytes().all(|it| it.is_ascii_digit() || it == b'_');
        if is_id { Ok(Self(id)) } else { Err(InvalidGraphId) }
    }
}

impl From<GraphId> for String {
    fn from(id: GraphId) -> Self {
        id.0
    }
}

impl GraphId {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GraphId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

pub(crate) fn listed(ids: &[GraphId]) -> String {
    ids.iter().map(GraphId::as_str).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_cannot_become_a_path() {
        for id in ["17", "17_18", &"1".repeat(64)] {
            assert_eq!(GraphId::try_from(id.to_owned()).unwrap().as_str(), id);
        }
        for other in ["", "me", "../me", "17/../18", "17?x=y", &"1".repeat(65)] {
            assert!(GraphId::try_from(other.to_owned()).is_err(), "{other}");
        }
    }
}
