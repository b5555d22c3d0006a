//! Servers that run the platforms' own software, or an independent one with the same API. Each is a
//! [`FakePlatform`] behind a proxy that injects faults, so the conformance suite, the scenes of
//! `platforms` and the journey of `tests/real` share its description. No code of this project decides
//! what a server accepts.

#![expect(clippy::expect_used, reason = "a server that does not respond fails the check")]

pub mod bluesky;
mod fault_proxy;
pub mod ghost;
pub mod mastodon;
pub mod matrix;
pub mod wordpress;

use std::sync::Arc;

use fakes::conformance::fake_platform::FakePlatform;
use tokio::{runtime::Handle, task::block_in_place};

use self::{bluesky::RealBluesky, ghost::RealGhost, matrix::RealMatrix, wordpress::RealWordpress};
use crate::{error::Result, fail};

/// Installs and starts the server of a platform; returns it with its name in recordings.
pub async fn start(platform: &str) -> Result<(&'static str, Arc<dyn FakePlatform>)> {
    Ok(match platform {
        "bluesky" => ("@atproto/pds 0.5.35", Arc::new(RealBluesky::start_alone(None).await?)),
        "ghost" => ("Ghost 6.65.0", Arc::new(RealGhost::start_alone().await?)),
        "matrix" => ("Synapse 1.163.2", Arc::new(RealMatrix::start_alone().await?)),
        "wordpress" => ("WordPress 6.5", Arc::new(RealWordpress::start_alone().await?)),
        _ => fail!("the tests install no server of {platform}; run it without --here"),
    })
}

/// The result of a request to the server. The suite reads what is public between two awaits.
fn wait_for<T>(request: impl Future<Output = T>) -> T {
    block_in_place(|| Handle::current().block_on(request))
}
