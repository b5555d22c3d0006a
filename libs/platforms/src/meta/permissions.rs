//! The permissions that a user has granted or declined.
//!
//! Facts: on Facebook's page, users may decline permissions one by one. Even then, the callback
//! has a code, so the granted permissions have to be read. Source:
//! `facebook-login/guides/permissions/request-revoke`.

use serde::Deserialize;

use super::graph::Graph;
use super::list::List;
use crate::caller::Caller;
use crate::connect_flow::ConnectError;
use crate::kit::CallError;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Permissions {
    pub(crate) granted: Vec<String>,
}

#[derive(Deserialize)]
struct Permission {
    permission: String,
    status: String,
}

impl Permissions {
    pub(crate) async fn fetch(graph: &Graph, caller: Caller<'_>) -> Result<Self, CallError> {
        let all: Vec<Permission> = List::all(graph, caller, "/me/permissions", &[]).await?;
        let granted = all.into_iter().filter(|it| it.status == "granted").map(|it| it.permission);
        Ok(Self { granted: granted.collect() })
    }

    pub(crate) fn have(&self, permission: &str) -> bool {
        self.granted.iter().any(|it| it == permission)
    }

    /// Refuses a grant without one of these, and names the missing ones.
    pub(crate) fn need(&self, needed: &[&str]) -> Result<(), ConnectError> {
        let missing: Vec<_> = needed.iter().copied().filter(|it| !self.have(it)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.join(", ");
        let message = format!(
            "these permissions were not granted: {missing}. Connect again and leave all of them on. If Facebook did \
             not ask you for them, the operator's app may not request them yet"
        );
        Err(ConnectError::Refused(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declined_permissions_are_named() {
        let permissions = Permissions { granted: vec!["a".to_owned(), "b".to_owned()] };
        assert!(permissions.need(&["a", "b"]).is_ok() && permissions.have("a") && !permissions.have("c"));
        let error = permissions.need(&["a", "c", "d"]).unwrap_err().to_string();
        assert!(error.contains("not granted: c, d. Connect again"), "{error}");
    }
}
