//! The platforms that a user can connect, and those that the operator can set up.

use api::page::PlatformMark;
use platforms::{Access, Connect, PlatformInfo, Registry};

pub(super) struct OfferedPlatform {
    pub(super) name: &'static str,
    pub(super) mark: PlatformMark,
    pub(super) title: String,
}

pub(super) struct MissingPlatform {
    /// Also the name of its guide.
    pub(super) name: &'static str,
    pub(super) mark: PlatformMark,
    pub(super) title: &'static str,
    /// For the operator.
    pub(super) task: &'static str,
}

pub(super) fn offered(platforms: &Registry<dyn Connect>) -> Vec<OfferedPlatform> {
    let names = platforms.names().into_iter();
    let offered = names.filter_map(|name| {
        let title = platforms.get(name)?.rules().title;
        Some(OfferedPlatform { name, mark: PlatformMark::new(name), title })
    });
    offered.collect()
}

pub(super) fn missing(platforms: &Registry<dyn Connect>) -> Vec<MissingPlatform> {
    let infos = platforms::platform_infos().iter().filter(|it| platforms.get(it.name).is_none());
    infos.filter_map(MissingPlatform::new).collect()
}

impl MissingPlatform {
    /// `None` for platforms that an operator does not offer to users.
    fn new(info: &PlatformInfo) -> Option<Self> {
        let task = match info.access {
            Access::Open => "Enable it. Credentials, if it requires any, take minutes.",
            Access::OwnAccounts => "Register an app. Without a review, it connects only the operator's own accounts.",
            Access::Review => "Register an app. The platform reviews it before users can connect accounts.",
            Access::Paid => "Register an app. The platform charges for its API.",
            Access::Development => return None,
        };
        Some(Self { name: info.name, mark: PlatformMark::new(info.name), title: info.title, task })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::testing::TestPlatform;

    #[test]
    fn every_platform_is_offered_or_missing_and_has_a_guide() {
        let registry = Registry::from_adapters(vec![Box::new(TestPlatform::new("mastodon")) as Box<dyn Connect>]);

        let (offered, missing) = (offered(&registry), missing(&registry));

        assert_eq!(offered.iter().map(|it| it.name).collect::<Vec<_>>(), ["mastodon"]);
        let names: Vec<_> = missing.iter().map(|it| it.name).collect();
        assert!(names.contains(&"slack") && names.contains(&"x"), "{names:?}");
        assert!(!names.contains(&"mastodon") && !names.contains(&"sandbox"), "{names:?}");
        assert_eq!(names.len() + 2, platforms::platform_infos().len());
        let guides = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/platforms");
        for name in names {
            assert!(guides.join(format!("{name}.md")).is_file(), "{name}");
        }
    }
}
