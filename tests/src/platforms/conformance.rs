//! The conformance suite of the adapters against real servers. A proxy in front of each server
//! injects the faults, so no code of this project decides what the server accepts.
//!
//! The time of the adapter is that of the test, and the time of the server is real: checks that wait
//! for hours do not make the server's tokens expire.

#![expect(clippy::expect_used, reason = "a panic here is the failing check, as in the suite")]

mod bluesky;
mod fault_proxy;
mod ghost;
mod matrix;
mod wordpress;

use std::{any::Any, panic::AssertUnwindSafe};

use fakes::conformance::fake_platform::FakePlatform;
use futures::{FutureExt, future::LocalBoxFuture};
use tokio::{runtime::Handle, task::block_in_place};

use super::scenes::Scenes;
use crate::{
    error::{Result, TestError},
    report::Report,
};

/// Runs the suite on each server whose part is wanted.
pub async fn run(report: &mut Report, wants: impl Fn(&str) -> bool) -> Result {
    let [bluesky, ghost, matrix, wordpress] = [
        "conformance on a Bluesky server",
        "conformance on a Ghost site",
        "conformance on a Matrix homeserver",
        "conformance on a WordPress site",
    ];
    if wants(bluesky) {
        bluesky::run(&mut Scenes { part: bluesky, report }).await?;
    }
    if wants(ghost) {
        ghost::run(&mut Scenes { part: ghost, report }).await?;
    }
    if wants(matrix) {
        matrix::run(&mut Scenes { part: matrix, report }).await?;
    }
    if wants(wordpress) {
        wordpress::run(&mut Scenes { part: wordpress, report }).await;
    }
    Ok(())
}

/// Checks of authorization pages, which need a browser. Here they would return at once, because all
/// accounts are connected by password.
const OF_PAGES: [&str; 6] = [
    "denied_authorization_connects_nothing",
    "callback_is_accepted_once",
    "callback_at_another_redirect_uri_connects_nothing",
    "code_of_one_server_is_not_sent_to_another",
    "server_receives_no_secret_of_another_server",
    "late_callback_connects_nothing",
];

/// Plays every other check of the suite, one after the other.
async fn play<N: FakePlatform + 'static>(scenes: &mut Scenes<'_>) {
    for (name, check) in checks::<N>().into_iter().filter(|(name, _)| !OF_PAGES.contains(name)) {
        let check = AssertUnwindSafe(check).catch_unwind().map(|ended| ended.map_err(|panic| failed(&*panic)));
        scenes.play(&name.replace('_', " "), check).await;
    }
}

/// The checks with their names.
fn checks<N: FakePlatform + 'static>() -> Vec<(&'static str, LocalBoxFuture<'static, ()>)> {
    macro_rules! list {
        ($fake:ty; $($group:ident: $($check:ident),+;)+) => {
            vec![$($((
                stringify!($check),
                fakes::conformance::checks::$group::$check::<$fake>().boxed_local(),
            )),+),+]
        };
    }
    fakes::conformance_checks!([list] N)
}

fn failed(panic: &(dyn Any + Send)) -> TestError {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    TestError::new(text.unwrap_or("panicked"))
}

/// The result of a request to the server. The suite reads what is public between two awaits.
fn wait_for<T>(request: impl Future<Output = T>) -> T {
    block_in_place(|| Handle::current().block_on(request))
}
