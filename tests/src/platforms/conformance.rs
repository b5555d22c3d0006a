//! The conformance suite of the adapters against real servers.
//!
//! The time of the adapter is that of the test, and the time of the server is real: checks that wait
//! for hours do not make the server's tokens expire.

use std::{any::Any, panic::AssertUnwindSafe};

use fakes::conformance::fake_platform::{StartFake, start_fake};
use futures::{FutureExt, future::LocalBoxFuture};

use super::scenes::Scenes;
use crate::{
    error::{Result, TestError},
    real_servers::{
        bluesky::{self, RealBluesky},
        ghost::{self, RealGhost},
        matrix::{self, RealMatrix},
        wordpress::RealWordpress,
    },
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
        bluesky::share(play(&mut Scenes { part: bluesky, report }, start_fake::<RealBluesky>, &WITHOUT_PAGE)).await?;
    }
    if wants(ghost) {
        ghost::share(play(&mut Scenes { part: ghost, report }, start_fake::<RealGhost>, &WITHOUT_PAGE)).await?;
    }
    if wants(matrix) {
        matrix::share(play(&mut Scenes { part: matrix, report }, start_fake::<RealMatrix>, &WITHOUT_PAGE)).await?;
    }
    if wants(wordpress) {
        play(&mut Scenes { part: wordpress, report }, start_fake::<RealWordpress>, &WITH_PASSWORDS).await;
    }
    Ok(())
}

/// Checks that would return at once, because accounts are connected by password.
const WITHOUT_PAGE: [&str; 6] = [
    "denied_authorization_connects_nothing",
    "callback_is_accepted_once",
    "callback_at_another_redirect_uri_connects_nothing",
    "code_of_one_server_is_not_sent_to_another",
    "server_receives_no_secret_of_another_server",
    "late_callback_connects_nothing",
];

/// Checks that would return at once, because the page issues passwords, and no real server is hostile.
const WITH_PASSWORDS: [&str; 3] = [
    "code_of_one_server_is_not_sent_to_another",
    "server_receives_no_secret_of_another_server",
    "late_callback_connects_nothing",
];

/// Plays the checks of the suite one after the other.
async fn play(scenes: &mut Scenes<'_>, start: StartFake, left_out: &[&str]) {
    for (name, check) in checks(start).into_iter().filter(|(name, _)| !left_out.contains(name)) {
        let check = AssertUnwindSafe(check).catch_unwind().map(|ended| ended.map_err(|panic| failed(&*panic)));
        scenes.play(&name.replace('_', " "), check).await;
    }
}

fn checks(start: StartFake) -> Vec<(&'static str, LocalBoxFuture<'static, ()>)> {
    macro_rules! list {
        ($start:expr; $($group:ident: $($check:ident),+;)+) => {
            vec![$($((
                stringify!($check),
                fakes::conformance::checks::$group::$check($start).boxed_local(),
            )),+),+]
        };
    }
    fakes::conformance_checks!([list] start)
}

fn failed(panic: &(dyn Any + Send)) -> TestError {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    TestError::new(text.unwrap_or("panicked"))
}
