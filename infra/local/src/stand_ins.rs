//! `--stand-ins`: imitations of other people's platforms in this process, each as
//! strict as its documents, and pages that show what arrived there. So a post can be
//! seen going to all platforms with no account at any.

mod pages;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use domain::clock::Clock;
use networks::town::one_of_each;
use platforms::conformance::network::Network;
use platforms::{AppCredentials, PlatformSettings};

/// The stand-ins that are running. They remember nothing when this process ends.
#[derive(Clone, Default)]
pub(crate) struct StandIns(Arc<[Arc<dyn Network>]>);

impl StandIns {
    /// Starts one for each platform that has one, for a service at this origin.
    pub(crate) async fn start(origin: &str) -> Self {
        let all = one_of_each(&Clock::System).await;
        for network in &all {
            network.permit(&format!("{origin}/connect/callback/{}", network.name()));
        }
        Self(all.into())
    }

    /// The settings that lead to them, by the platforms' names.
    pub(crate) fn settings(&self) -> PlatformSettings {
        self.0.iter().map(|it| (it.name().to_owned(), it.settings())).collect()
    }

    /// Our ids and secrets there.
    pub(crate) fn apps(&self) -> BTreeMap<String, AppCredentials> {
        self.0.iter().filter_map(|it| Some((it.name().to_owned(), it.app()?))).collect()
    }

    /// Where they listen.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.0.iter().flat_map(|it| it.addresses())
    }

    /// The pages; none where there are no stand-ins.
    pub(crate) fn router(self) -> Router {
        if self.0.is_empty() {
            return Router::new();
        }
        Router::new()
            .route("/stand-ins", get(pages::list_stand_ins))
            .route("/stand-ins/{name}", get(pages::show_stand_in))
            .route("/stand-ins/{name}/{post}/{file}", get(pages::get_file))
            .with_state(self)
    }

    fn get(&self, name: &str) -> Option<&dyn Network> {
        self.0.iter().map(AsRef::as_ref).find(|it| it.name() == name)
    }
}
