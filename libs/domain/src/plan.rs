use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The limits of one plan; `None` is unlimited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    pub max_connections: Option<u32>,
    /// Simultaneously scheduled posts.
    pub max_scheduled_posts: Option<u32>,
    pub max_profiles: Option<u32>,
    /// Simultaneously scheduled posts of each profile.
    pub max_scheduled_posts_per_profile: Option<u32>,
    /// Total size of the files of each profile that are not part of a published post.
    pub max_media_bytes_per_profile: Option<u64>,
    pub media: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            max_connections: None,
            max_scheduled_posts: None,
            max_profiles: Some(10_000),
            max_scheduled_posts_per_profile: None,
            max_media_bytes_per_profile: None,
            media: true,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Plans(BTreeMap<String, Plan>);

impl Plans {
    /// The plan with this name. Absent and unknown names mean the plan `default`, which has no
    /// limits unless configured.
    pub fn named(&self, name: Option<&str>) -> Plan {
        name.and_then(|it| self.0.get(it)).or_else(|| self.0.get("default")).cloned().unwrap_or_default()
    }

    pub fn no_media_limits(&self) -> bool {
        self.0.values().all(|it| it.media && it.max_media_bytes_per_profile.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_plan_has_no_limits() {
        let plans: Plans = serde_json::from_str(r#"{"small":{"max_connections":1}}"#).unwrap();
        assert_eq!(plans.named(Some("gone")), Plan::default());
        assert_eq!(plans.named(Some("small")).max_connections, Some(1));
        assert!(plans.named(Some("small")).media);
    }
}
