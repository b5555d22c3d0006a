//! The platforms of this deployment.

use std::sync::Arc;

use crate::http_client::HttpClient;
use crate::platform::Platform;
use crate::sandbox::{Sandbox, SandboxSettings};

/// The platforms of this deployment: those that are set up.
#[derive(Clone)]
pub struct Registry(Arc<[Box<dyn Platform>]>);

impl Registry {
    /// Every platform whose settings are there.
    pub fn new(sandbox: Option<SandboxSettings>) -> Self {
        let http = HttpClient::default();
        // Alphabetic. A new platform is one file and one line here.
        let all: [Option<Box<dyn Platform>>; 1] =
            [sandbox.map(|it| Box::new(Sandbox::new(http.clone(), it)) as Box<dyn Platform>)];
        Self(all.into_iter().flatten().collect())
    }

    /// Platforms of a test.
    pub fn of(platforms: Vec<Box<dyn Platform>>) -> Self {
        Self(platforms.into())
    }

    /// The platform with this name.
    pub fn get(&self, name: &str) -> Option<&dyn Platform> {
        self.0.iter().map(AsRef::as_ref).find(|it| it.name() == name)
    }

    /// The names of all, for a message.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|it| it.name()).collect()
    }
}
