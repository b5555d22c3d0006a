use std::sync::Arc;

use chrono::TimeDelta;
use domain::budget::Budgets;
use domain::media::Attachment;
use domain::options::PlatformOptions;

use crate::budget::Budget;
use crate::lead_times::LeadTimes;
use crate::platform::{Connect, Platform, Publish};
use crate::platform_info::PlatformInfo;
use crate::redaction::RedactingAdapter;
use crate::setup::{PlatformSettings, Setup, SetupError};

/// Lists the modules of platforms. Each has `NAME`, `TITLE`, `ACCESS`, `PERMISSIONS`, `LEAD` and
/// `OPTIONS`, and `set_up`, which creates its adapter if a deployment enables it. The other fields of
/// [`PlatformInfo`] follow the module.
macro_rules! registered {
    ($($platform:ident { $($field:tt)+ }),+ $(,)?) => {
        const LEADS: &[(&str, LeadTimes)] = &[$((crate::$platform::NAME, crate::$platform::LEAD)),+];

        const KNOWN: &[PlatformInfo] = &[$(PlatformInfo {
            name: crate::$platform::NAME,
            title: crate::$platform::TITLE,
            access: crate::$platform::ACCESS,
            permissions: crate::$platform::PERMISSIONS,
            options: crate::$platform::OPTIONS,
            $($field)+
        }),+];

        const NAMES: &[&str] = &[$(crate::$platform::NAME),+];

        adapters_as!(dyn Connect, $($platform),+);
        adapters_as!(dyn Platform, $($platform),+);
        adapters_as!(dyn Publish, $($platform),+);
    };
}

/// Implements [`Capability`] for one trait. A program that uses one trait only is not linked with
/// the methods of the others, because each trait has a virtual table of its own.
macro_rules! adapters_as {
    ($part:ty, $($platform:ident),+) => {
        impl Capability for $part {
            fn adapters(setup: &Setup) -> Result<Vec<Option<Box<Self>>>, SetupError> {
                Ok(vec![$(crate::$platform::set_up(setup)?.map(|it| Box::new(RedactingAdapter(it)) as Box<Self>)),+])
            }
        }
    };
}

// Alphabetical. A new platform is its module and one line here.
registered! {
    bluesky { needs_app: false, host: Some("bsky.social") },
    discord { needs_app: false, host: Some("discord.com") },
    facebook { needs_app: true, host: Some("graph.facebook.com") },
    ghost { needs_app: false, host: None },
    google_business { needs_app: true, host: Some("mybusiness.googleapis.com") },
    instagram { needs_app: true, host: Some("graph.instagram.com") },
    linkedin { needs_app: true, host: Some("api.linkedin.com") },
    mastodon { needs_app: false, host: None },
    matrix { needs_app: false, host: None },
    pinterest { needs_app: true, host: Some("api.pinterest.com") },
    sandbox { needs_app: true, host: None },
    slack { needs_app: true, host: Some("slack.com") },
    telegram { needs_app: false, host: Some("api.telegram.org") },
    threads { needs_app: true, host: Some("graph.threads.net") },
    tiktok { needs_app: true, host: Some("open.tiktokapis.com") },
    wordpress { needs_app: false, host: None },
    x { needs_app: true, host: Some("api.x.com") },
    youtube { needs_app: true, host: Some("www.googleapis.com") },
}

/// The traits that a registry can serve: `dyn Connect`, `dyn Publish`, or `dyn Platform` for what
/// both have.
pub trait Capability: Platform {
    /// In registry order; `None` for platforms that are not enabled.
    #[doc(hidden)]
    fn adapters(setup: &Setup) -> Result<Vec<Option<Box<Self>>>, SetupError>;
}

pub struct Registry<P: ?Sized>(Arc<[Box<P>]>);

impl<P: ?Sized> Clone for Registry<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Capability + ?Sized> Registry<P> {
    pub fn new(setup: &Setup) -> Result<Self, SetupError> {
        setup.check_names(NAMES)?;
        Ok(Self::from_adapters(P::adapters(setup)?.into_iter().flatten().collect()))
    }
}

impl<P: Platform + ?Sized> Registry<P> {
    pub fn from_adapters(adapters: Vec<Box<P>>) -> Self {
        Self(adapters.into())
    }

    pub fn get(&self, name: &str) -> Option<&P> {
        self.0.iter().map(AsRef::as_ref).find(|it| it.name() == name)
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|it| it.name()).collect()
    }
}

impl Registry<dyn Publish> {
    pub fn names_fetching_files(&self) -> Vec<&'static str> {
        self.0.iter().filter(|it| it.fetches_files()).map(|it| it.name()).collect()
    }
}

/// The options of every platform. It links no adapter.
pub fn vocabulary() -> PlatformOptions {
    PlatformOptions::new(KNOWN.iter().map(|it| (it.name, it.options)))
}

pub fn platform_infos() -> &'static [PlatformInfo] {
    KNOWN
}

/// The settings that enable each platform at which an operator needs no app, and no other.
pub fn default_settings() -> PlatformSettings {
    let without_app = KNOWN.iter().filter(|it| !it.needs_app);
    without_app.map(|it| (it.name.to_owned(), serde_json::json!({}))).collect()
}

pub fn permissions(platform: &str) -> &'static str {
    KNOWN.iter().find(|it| it.name == platform).map_or("publish posts", |it| it.permissions)
}

/// The budgets in the settings of platforms. Whether a platform accepts one is checked when its
/// adapter is set up.
pub fn budgets(settings: &PlatformSettings) -> Result<Budgets, SetupError> {
    let mut budgets = Vec::new();
    for platform in platform_infos() {
        let Some(budget) = settings.get(platform.name).and_then(|it| it.get("budget")) else { continue };
        let budget = serde_json::from_value::<Option<Budget>>(budget.clone());
        let budget = budget.map_err(|source| SetupError::Settings { name: platform.name, source })?;
        budgets.extend(budget.map(|it| (platform.name.to_owned(), it.limit())));
    }
    Ok(Budgets::new(budgets))
}

/// The lead times of platforms, which is all that planning needs.
#[derive(Clone, Debug)]
pub struct LeadTimesByPlatform(Arc<[(&'static str, LeadTimes)]>);

impl Default for LeadTimesByPlatform {
    fn default() -> Self {
        Self(LEADS.into())
    }
}

impl LeadTimesByPlatform {
    pub fn new(lead_times: impl IntoIterator<Item = (&'static str, LeadTimes)>) -> Self {
        Self(lead_times.into_iter().collect())
    }

    /// How long before the due second preparation begins; `None` if these files need none.
    pub fn before(&self, name: &str, media: &[Attachment]) -> Option<TimeDelta> {
        self.0.iter().find(|(it, _)| *it == name).and_then(|(_, lead_times)| lead_times.before(media))
    }
}

#[cfg(test)]
mod tests {
    use domain::budget::MilliDollars;
    use egress::AddressPolicy;
    use serde_json::json;

    use super::*;
    use crate::app::AppUnavailable;
    use crate::vault::MemoryVault;

    fn registry(platforms: serde_json::Value) -> Result<Registry<dyn Publish>, SetupError> {
        let settings: PlatformSettings = serde_json::from_value(platforms).unwrap();
        let vault = Arc::new(MemoryVault::default());
        Registry::new(&Setup::new(settings, |_| Arc::new(AppUnavailable), vault, AddressPolicy::PublicOnly))
    }

    #[test]
    fn registry_has_exactly_the_enabled_platforms() {
        assert!(registry(json!({})).unwrap().names().is_empty());
        let one = registry(json!({"sandbox": {"url": "https://sandbox.example/"}})).unwrap();
        assert_eq!(one.names(), ["sandbox"]);
    }

    #[test]
    fn platforms_with_user_named_servers_return_the_host() {
        let settings = json!({"bluesky": {}, "mastodon": {}, "matrix": {}, "telegram": {}, "wordpress": {}});
        let settings: PlatformSettings = serde_json::from_value(settings).unwrap();
        let vault = Arc::new(MemoryVault::default());
        let setup = Setup::new(settings, |_| Arc::new(AppUnavailable), vault, AddressPolicy::PublicOnly);
        let platforms = Registry::<dyn Connect>::new(&setup).unwrap();
        for (platform, values, host) in [
            ("bluesky", &[("handle", "@Ada.Example")][..], Some("ada.example")),
            ("bluesky", &[("handle", "https://pds.example:8443/")], Some("pds.example:8443")),
            ("bluesky", &[("handle", "")], None),
            ("mastodon", &[("server", "@ada@Harbour.example")], Some("harbour.example")),
            ("mastodon", &[("server", "http://127.0.0.1:3000/@ada")], Some("127.0.0.1:3000")),
            ("mastodon", &[("server", "two words")], None),
            ("matrix", &[("user", "@ada:harbour.example:8448")], Some("harbour.example")),
            ("matrix", &[("user", "@ada:harbour.example"), ("homeserver", "matrix.example")], Some("matrix.example")),
            ("matrix", &[("user", "ada"), ("homeserver", "")], None),
            ("telegram", &[("token", "123456:secret")], None),
            ("wordpress", &[("site", "Harbour.example/blog/wp-admin")], Some("harbour.example")),
            ("wordpress", &[("site", "")], None),
        ] {
            let values = values.iter().map(|it| (it.0.to_owned(), it.1.into())).collect();
            let named = platforms.get(platform).unwrap().named_host(&values);
            assert_eq!(named.as_deref(), host, "{platform}");
        }
    }

    #[test]
    fn platforms_that_fetch_files_are_known_by_name() {
        let app = json!({});
        let some = json!({"facebook": app, "instagram": app, "pinterest": app, "threads": app, "x": app});
        assert_eq!(registry(some).unwrap().names_fetching_files(), ["instagram", "pinterest", "threads"]);
    }

    #[test]
    fn setup_errors_name_the_setting() {
        let message = |platforms| registry(platforms).err().map(|it| it.to_string()).unwrap_or_default();
        assert!(message(json!({"myspace": {}})).contains("unknown platform \"myspace\"; the platforms are "));
        assert!(message(json!({"sandbox": {}})).starts_with("the settings of sandbox: missing field `url`"));
        assert!(message(json!({"sandbox": {"url": "x", "uri": "y"}})).contains("unknown field `uri`"));
    }

    fn budgets_of(settings: serde_json::Value) -> Result<Budgets, String> {
        budgets(&serde_json::from_value(settings).unwrap()).map_err(|it| it.to_string())
    }

    #[test]
    fn budget_is_read_and_invalid_ones_are_named() {
        let some = Budgets::new([("x".to_owned(), MilliDollars::new(5_000))]);
        assert_eq!(budgets_of(json!({"x": {"budget": {"us_cents": 500}}, "bluesky": {}})), Ok(some));
        assert_eq!(budgets_of(json!({"x": {}})), Ok(Budgets::default()));
        let wrong = budgets_of(json!({"x": {"budget": {"cents": 500}}})).unwrap_err();
        assert!(wrong.starts_with("the settings of x: unknown field `cents`"), "{wrong}");
    }
}
