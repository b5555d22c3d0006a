//! The platforms that there are.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::media::Attachment;

use crate::lead::Lead;
use crate::platform::Platform;
use crate::setup::{Setup, SetupError};

/// Lists modules of platforms. Each has a `NAME`, its `LEAD`, and `set_up`,
/// which makes its adapter when a deployment switches it on.
macro_rules! registered {
    ($($platform:ident),+ $(,)?) => {
        /// What planning has to know of each.
        const LEADS: &[(&str, Lead)] = &[$((crate::$platform::NAME, crate::$platform::LEAD)),+];

        const NAMES: &[&str] = &[$(crate::$platform::NAME),+];

        fn adapters(setup: &Setup) -> Result<Vec<Box<dyn Platform>>, SetupError> {
            let all: Vec<Option<Box<dyn Platform>>> = vec![$(crate::$platform::set_up(setup)?),+];
            Ok(all.into_iter().flatten().collect())
        }
    };
}

// Alphabetic. A new platform is its module and one line here.
registered! {
    bluesky,
    mastodon,
    sandbox,
}

/// The platforms of this deployment: those that are switched on.
#[derive(Clone)]
pub struct Registry {
    leads: Arc<[(&'static str, Lead)]>,
    adapters: Arc<[Box<dyn Platform>]>,
}

impl Registry {
    /// Every platform that a deployment switches on.
    pub fn new(setup: &Setup) -> Result<Self, SetupError> {
        setup.check_names(NAMES)?;
        Ok(Self::of(adapters(setup)?))
    }

    /// For what only asks how long platforms prepare. It has no adapters, so
    /// that a program which calls no platform does not carry them.
    pub fn for_planning() -> Self {
        Self { leads: LEADS.into(), adapters: Arc::new([]) }
    }

    /// These platforms.
    pub fn of(adapters: Vec<Box<dyn Platform>>) -> Self {
        Self { leads: adapters.iter().map(|it| (it.name(), it.lead())).collect(), adapters: adapters.into() }
    }

    /// The platform with this name.
    pub fn get(&self, name: &str) -> Option<&dyn Platform> {
        self.adapters.iter().map(AsRef::as_ref).find(|it| it.name() == name)
    }

    /// The names of all, for a message.
    pub fn names(&self) -> Vec<&'static str> {
        self.adapters.iter().map(|it| it.name()).collect()
    }

    /// How long before the due second preparation begins on this platform;
    /// `None` when these files need none.
    pub fn lead(&self, name: &str, media: &[Attachment]) -> Option<TimeDelta> {
        self.leads.iter().find(|(it, _)| *it == name).and_then(|(_, lead)| lead.before(media))
    }
}

#[cfg(test)]
mod tests {
    use outbound::AddressPolicy;
    use serde_json::json;

    use super::*;
    use crate::app::Withheld;
    use crate::setup::PlatformSettings;
    use crate::vault::MemoryVault;

    fn registry(platforms: serde_json::Value) -> Result<Registry, SetupError> {
        let settings: PlatformSettings = serde_json::from_value(platforms).unwrap();
        let vault = Arc::new(MemoryVault::default());
        Registry::new(&Setup::new(settings, |_| Arc::new(Withheld), vault, AddressPolicy::PublicOnly))
    }

    #[test]
    fn the_platforms_that_are_switched_on_are_there_and_no_others() {
        assert!(registry(json!({})).unwrap().names().is_empty());
        let one = registry(json!({"sandbox": {"url": "https://sandbox.example/"}})).unwrap();
        assert_eq!(one.names(), ["sandbox"]);
    }

    #[test]
    fn what_is_set_up_wrongly_is_named() {
        let said = |platforms| registry(platforms).err().map(|it| it.to_string()).unwrap_or_default();
        assert!(said(json!({"myspace": {}})).contains("there is no platform \"myspace\"; there are "));
        assert!(said(json!({"sandbox": {}})).starts_with("the settings of sandbox: missing field `url`"));
        assert!(said(json!({"sandbox": {"url": "x", "uri": "y"}})).contains("unknown field `uri`"));
    }

    #[test]
    fn planning_knows_every_platform_as_its_adapter_does() {
        assert!(LEADS.is_sorted_by_key(|(name, _)| *name));
        let all =
            registry(json!({"bluesky": {}, "mastodon": {}, "sandbox": {"url": "https://sandbox.example"}})).unwrap();
        for adapter in all.adapters.iter() {
            let planned = LEADS.iter().find(|(name, _)| *name == adapter.name()).unwrap();
            assert_eq!(planned.1, adapter.lead());
        }
    }
}
