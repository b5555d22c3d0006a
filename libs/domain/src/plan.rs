//! What a user may use of a deployment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The limits of one plan. A limit that is absent means unlimited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    /// Accounts connected at the same time.
    pub max_connections: Option<u32>,
    /// Posts scheduled at the same time.
    pub max_scheduled_posts: Option<u32>,
    /// Whether pictures and videos can be uploaded.
    pub media: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self { max_connections: None, max_scheduled_posts: None, media: true }
    }
}

/// The plans of a deployment by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Plans(BTreeMap<String, Plan>);

impl Plans {
    /// The plan that a user's record names. A name that the deployment does
    /// not know is the plan `default`, which has no limits unless configured.
    pub fn named(&self, name: Option<&str>) -> Plan {
        name.and_then(|it| self.0.get(it)).or_else(|| self.0.get("default")).cloned().unwrap_or_default()
    }

    /// Whether every plan has media. If so, no user's plan has to be looked up
    /// for an upload.
    pub fn all_have_media(&self) -> bool {
        self.0.values().all(|it| it.media)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_without_a_known_plan_has_no_limits() {
        let plans: Plans = serde_json::from_str(r#"{"small":{"max_connections":1}}"#).unwrap();
        assert_eq!(plans.named(Some("gone")), Plan::default());
        assert_eq!(plans.named(Some("small")).max_connections, Some(1));
        assert!(plans.named(Some("small")).media);
    }
}
