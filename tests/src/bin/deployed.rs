//! Deploys the template on this machine, kills functions, deploys an update, and runs all checks.

use std::{path::PathBuf, process::ExitCode, sync::Arc, time::Instant};

use clap::Parser;
use futures::FutureExt;
use tests::{
    call_logs::{LOG_OF_CALLS, LOG_OF_PLATFORMS},
    deployed::{Stack, callers, connect_flows, scenes},
    deployment::Deployment,
    error::{Result, TestError},
    program::Common,
    report::{Line, Report, say},
    runner::{self, Check},
    suite,
};

/// Black-box tests of the deployed stack.
///
/// Deploys `template.yaml` to an emulator of AWS that enforces the roles of the functions. It kills
/// functions at work, deploys again, and runs the checks of `tests/blackbox`. At the end it compares
/// what the roles allow with the calls that were made, here and in `tests/blackbox`, which has to run
/// before. With --only, it runs only checks and late scenes.
#[derive(Parser)]
#[command(name = "deployed")]
struct Options {
    /// The folder with the functions' programs; without it, they are built as they are deployed
    #[arg(long)]
    programs: Option<PathBuf>,
    /// Number of checks that run at the same time
    #[arg(long, default_value_t = 6)]
    jobs: usize,
    #[command(flatten)]
    common: Common,
}

/// Runs first: a move needs an unused stack.
const MOVE: &str = "one machine moves to the stack";

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = Options::parse();
    options.common.end(run(&options).await)
}

async fn run(options: &Options) -> Result<Report> {
    let mut report = Report::default();
    let started = Instant::now();
    let moves = options.common.wants(MOVE);
    let mut stack = Stack::deploy(options.programs.clone(), !moves).await?;
    say(&format!("Deployed after {:.0} s", started.elapsed().as_secs_f64()));
    if moves {
        let deployment = stack.deployment().await?;
        run_scene(MOVE, scenes::machine_moves_to_the_stack(&mut stack, &deployment), &mut report).await;
        // If the scene failed before.
        stack.enable_schedules().await?;
    }
    if options.common.only.is_some() {
        let wants = |it: &str| options.common.wants(it);
        checks(&stack, |it| wants(&it.title()), options.jobs, &mut report).await?;
        run_last_scenes(&mut stack, wants, &mut report).await?;
        return Ok(report);
    }

    let deployment = stack.deployment().await?;
    run_scene(
        "functions die at work",
        scenes::killed_functions_publish_each_post_once(&stack, &deployment),
        &mut report,
    )
    .await;
    run_scene(
        "an update is deployed while posts are due",
        scenes::update_keeps_ids_and_posts(&mut stack, &deployment),
        &mut report,
    )
    .await;
    checks(&stack, |_| true, options.jobs, &mut report).await?;
    run_last_scenes(&mut stack, |_| true, &mut report).await?;
    run_scene("roles allow the calls that are made and nothing else", async { check_roles(&stack) }, &mut report).await;
    Ok(report)
}

async fn checks(stack: &Stack, wanted: impl Fn(&Check) -> bool, jobs: usize, report: &mut Report) -> Result {
    let deployment: Arc<Deployment> = Arc::new(stack.deployment().await?);
    let checks = suite::checks().into_iter().filter(wanted).collect();
    runner::run(deployment, checks, jobs, report).await;
    Ok(())
}

async fn run_last_scenes(deployed: &mut Stack, wanted: impl Fn(&str) -> bool, report: &mut Report) -> Result {
    let deployment = &deployed.deployment().await?;
    let stack = &*deployed;
    let scenes = [
        ("upkeep has work", scenes::upkeep_refreshes_and_removes(stack, deployment).boxed_local()),
        ("unused uploads are inspected", scenes::unused_uploads_are_inspected(stack, deployment).boxed_local()),
        ("an endpoint receives events", scenes::endpoint_receives_events(stack, deployment).boxed_local()),
        (
            "a user is disabled and enabled again",
            scenes::disabled_user_can_be_enabled_again(stack, deployment).boxed_local(),
        ),
        ("a user is erased", scenes::erased_user_leaves_no_items(stack, deployment).boxed_local()),
        ("a customer is erased", scenes::erased_profile_leaves_no_items(stack, deployment).boxed_local()),
        ("a day passes", scenes::daily_work_is_done(stack, deployment).boxed_local()),
        ("a file is lost", scenes::missing_file_fails_its_post(stack, deployment).boxed_local()),
        ("a delivery has lost its post", scenes::delivery_without_its_post_ends(stack, deployment).boxed_local()),
        (
            "a change arrives after publication",
            scenes::change_after_publication_is_refused(stack, deployment).boxed_local(),
        ),
        (
            "another user follows a connect flow",
            connect_flows::connect_flow_is_closed_to_another_user(deployment).boxed_local(),
        ),
        ("a server has its own redirect URI", connect_flows::server_has_its_own_redirect_uri(deployment).boxed_local()),
        ("signing out redirects to the issuer", callers::signing_out_redirects_to_the_issuer(deployment).boxed_local()),
        ("a proxy header identifies the client", callers::proxy_header_identifies_the_client(deployment).boxed_local()),
        ("the edge is deployed", scenes::edge_is_deployed(stack).boxed_local()),
        ("dead letters are replayed", scenes::dead_letters_are_replayed(stack, deployment).boxed_local()),
    ];
    for (name, played) in scenes.into_iter().filter(|(name, _)| wanted(name)) {
        run_scene(name, played, report).await;
    }
    let name = "a platform reads the client document";
    if wanted(name) {
        // This scene moves the stack to another address, so it comes last.
        run_scene(name, scenes::client_document_is_served(deployed, deployment), report).await;
    }
    Ok(())
}

async fn run_scene(name: &str, played: impl Future<Output = Result>, report: &mut Report) {
    let started = Instant::now();
    let error = played.await.err();
    report.add(Line { name: format!("deployed: {name}"), took: started.elapsed(), error });
}

/// Roles allow exactly what was used: nothing more and nothing less.
fn check_roles(stack: &Stack) -> Result {
    let mut log = String::new();
    for (file, writer) in [(LOG_OF_CALLS, "tests/blackbox"), (LOG_OF_PLATFORMS, "target/debug/platforms")] {
        let read = std::fs::read_to_string(file);
        log += &read.map_err(|error| TestError::new(format!("{file}: {error}; {writer} writes it")))?;
    }
    let differences = stack.privileges(&log)?;
    say(&format!("       permissions granted: {}", differences.granted));
    let refused = stack.refused();
    if differences.unused.is_empty() && differences.missing.is_empty() && refused.is_empty() {
        return Ok(());
    }
    Err(TestError::new(format!("{differences}\n      refused by AWS: {}", refused.join("\n      "))))
}
