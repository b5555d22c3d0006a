//! `--fakes`: a fake of every platform in this process, and pages that show the published posts. Users
//! can try the service with every platform without an account.

mod links;
mod pages;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use domain::clock::Clock;
use fakes::all::start_all;
use fakes::conformance::fake_platform::FakePlatform;
use platforms::{AppCredentials, PlatformSettings, Registry, Setup, SetupError};
use url::Url;

use self::links::LinksToFake;

/// Their state ends with this process.
#[derive(Clone, Default)]
pub(crate) struct Fakes {
    fakes: Arc<[Arc<dyn FakePlatform>]>,
    /// The URL of the list of fakes; the pages of single fakes are below it. `None` without fakes.
    page: Option<Url>,
}

impl Fakes {
    /// Starts a fake for each platform that has one. Fakes call the service at `reached_at`; users of this machine open the
    /// pages at `origin`.
    pub(crate) async fn start(reached_at: &str, origin: &str) -> Self {
        let fakes = start_all(&Clock::System).await;
        for fake in &fakes {
            fake.register_redirect_uri(&format!("{reached_at}/connect/callback/{}", fake.name()));
        }
        Self { fakes: fakes.into(), page: Url::parse(&format!("{origin}/fakes")).ok() }
    }

    /// `--platforms` may name a real server instead of a fake.
    pub(crate) fn enabled_in(self, settings: &PlatformSettings) -> Self {
        let is_named = |it: &&Arc<dyn FakePlatform>| settings.get(it.name()) == Some(&it.settings());
        Self { fakes: self.fakes.iter().filter(is_named).cloned().collect(), ..self }
    }

    /// Links of adapters that call a fake lead to the fake's page.
    pub(crate) fn registry<P: LinksToFake + ?Sized>(&self, setup: &Setup) -> Result<Registry<P>, SetupError> {
        // `Registry::new` also rejects unknown platform names.
        let registry = Registry::new(setup)?;
        let Some(page) = &self.page else { return Ok(registry) };
        let adapters = P::adapters(setup)?.into_iter().flatten().map(|adapter| match self.get(adapter.name()) {
            Some(fake) => adapter.at_fake(page_url(page, fake)),
            None => adapter,
        });
        Ok(Registry::from_adapters(adapters.collect()))
    }

    pub(crate) fn settings(&self) -> PlatformSettings {
        self.fakes.iter().map(|it| (it.name().to_owned(), it.settings())).collect()
    }

    pub(crate) fn apps(&self) -> BTreeMap<String, AppCredentials> {
        self.fakes.iter().filter_map(|it| Some((it.name().to_owned(), it.app_credentials()?))).collect()
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.fakes.iter().flat_map(|it| it.addresses())
    }

    /// Empty without fakes.
    pub(crate) fn router(self) -> Router {
        if self.fakes.is_empty() {
            return Router::new();
        }
        Router::new()
            .route("/fakes", get(pages::list_fakes))
            .route("/fakes/{name}", get(pages::show_fake))
            .route("/fakes/{name}/avatar.svg", get(pages::get_avatar))
            .route("/fakes/{name}/{post}/{file}", get(pages::get_file))
            .with_state(self)
    }

    fn get(&self, name: &str) -> Option<&dyn FakePlatform> {
        self.fakes.iter().map(AsRef::as_ref).find(|it| it.name() == name)
    }
}

fn page_url(list: &Url, fake: &dyn FakePlatform) -> Url {
    let mut page = list.clone();
    if let Ok(mut path) = page.path_segments_mut() {
        path.push(fake.name());
    }
    page
}
