//! Checks every part of the contract against a running deployment.

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use clap::Parser;
use serde_json::Value;
use tests::{
    call_logs::LOG_OF_CALLS,
    deployment::Deployment,
    error::{Result, TestError},
    file_server,
    harness::{Harness, LIFTED, Ready},
    program::Common,
    report::{Report, say},
    runner::{self, Check},
    suite,
};

/// Black-box tests of a running service.
///
/// Without options it starts the local stack, once without rate limits and once with those of the
/// specification, and also kills it a number of times. With --ready-file or --base-url it tests a
/// running deployment.
#[derive(Parser)]
#[command(name = "blackbox")]
struct Options {
    /// The file that `cargo dev --ready-file` wrote
    #[arg(long, conflicts_with = "base_url")]
    ready_file: Option<PathBuf>,
    /// The API of a deployment, ending in /api/v1
    #[arg(long, requires = "token")]
    base_url: Option<String>,
    /// A token for the deployment
    #[arg(long)]
    token: Option<String>,
    /// Origin of the pages, if it is not the origin of the API
    #[arg(long)]
    origin: Option<String>,
    /// Origin of the sandbox platform, if it is not the service's own
    #[arg(long)]
    sandbox: Option<String>,
    /// Number of checks that run at the same time
    #[arg(long, default_value_t = 6)]
    jobs: usize,
    /// How often the local stack is killed; 0 skips it
    #[arg(long, default_value_t = 20)]
    kills: u32,
    #[command(flatten)]
    common: Common,
}

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = Options::parse();
    options.common.end(run(&options).await)
}

async fn run(options: &Options) -> Result<Report> {
    let mut report = Report::default();
    if let Some(ready) = find_deployment(options)? {
        test_deployment(ready, options, &mut report).await?;
    } else {
        test_local_stack(options, &mut report).await?;
    }
    Ok(report)
}

fn find_deployment(options: &Options) -> Result<Option<Ready>> {
    if let Some(file) = &options.ready_file {
        return Ready::read(file).map(Some);
    }
    let (Some(base_url), Some(token)) = (&options.base_url, &options.token) else {
        return Ok(None);
    };
    let pages = options.origin.as_deref().or_else(|| base_url.trim_end_matches('/').strip_suffix("/api/v1"));
    let origin = pages.ok_or_else(|| TestError::new("--base-url does not end in /api/v1: say --origin too"))?;
    Ok(Some(Ready { origin: origin.to_owned(), base_url: base_url.clone(), token: token.clone(), stores: Value::Null }))
}

async fn test_deployment(ready: Ready, options: &Options, report: &mut Report) -> Result {
    let deployment = Deployment::new(ready).await?;
    let deployment = match &options.sandbox {
        Some(origin) => deployment.with_sandbox(origin.trim_end_matches('/').to_owned()),
        None => deployment,
    };
    let deployment = Arc::new(deployment);
    let limit = deployment.requests_per_minute().await?;
    say(&format!("Testing {} ({limit} requests a minute)", deployment.base()));
    runner::run(Arc::clone(&deployment), select_checks(suite::checks(), options), options.jobs, report).await;
    say("Fetching from URLs and the pages of the sandbox are only tested on the local stack started here.");
    if limit == 60 {
        runner::run(deployment, select_checks(suite::limit_checks(), options), options.jobs, report).await;
    } else {
        say("The limits of this deployment are not the specification's: their checks need one where they are.");
    }
    Ok(())
}

async fn test_local_stack(options: &Options, report: &mut Report) -> Result {
    let files = file_server::start().await?;
    let allowed = files.to_string();
    std::fs::create_dir_all("target/tests")?;
    // tests/deployed compares this log of calls with the roles.
    let mut arguments = vec!["--allow-fetch-from", &allowed, "--log-calls", LOG_OF_CALLS];
    arguments.extend(LIFTED);
    let lifted = Harness::start(&arguments).await?;
    let limited = Harness::start(&[]).await?;
    say(&format!(
        "Started the local stack twice, ready after {:?} and {:?}",
        lifted.start_duration(),
        limited.start_duration()
    ));
    let (free, strict) =
        (Deployment::new(lifted.ready().clone()).await?, Deployment::new(limited.ready().clone()).await?);

    let checks = suite::checks().into_iter().chain(suite::local_checks()).collect();
    let (mut limits, mut crashes) = (Report::default(), Report::default());
    let killing = async {
        if 0 < options.kills && options.common.wants("crash") {
            suite::crash::run(options.kills, &mut crashes).await;
        }
    };
    // The checks of limits and crashes mostly wait, so all run concurrently.
    futures::join!(
        runner::run(Arc::new(free.with_files(files)), select_checks(checks, options), options.jobs, report),
        runner::run(Arc::new(strict), select_checks(suite::limit_checks(), options), options.jobs, &mut limits),
        killing,
    );
    report.extend(limits);
    report.extend(crashes);
    Ok(())
}

fn select_checks(checks: Vec<Check>, options: &Options) -> Vec<Check> {
    checks.into_iter().filter(|it| options.common.wants(&it.title())).collect()
}
