//! `social-server`: the whole service on one machine.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum_server::Handle;
use chrono::{DateTime, Utc};
use clap::{Args, Parser, Subcommand};
use domain::clock::Clock;
use secrecy::{ExposeSecret, SecretString};
use server::{
    Acceptor, Config, LinkFolder, Metrics, MoveError, Moved, NoExtensions, Place, Restored, Secret, Server,
    ServerError, SettingError, Source, backup, doctor, logs, mark_stack_restored, move_to_stack, read_variables,
    restore, restore_in_place, with_addresses,
};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// That of musl, with which releases are linked, is slow in a process with several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long requests and deliveries in progress may take after a signal to stop.
const STOP_LIMIT: Duration = Duration::from_secs(25);

const HEALTH_TIMEOUT: Duration = Duration::from_secs(5);

/// Publish to social platforms from one machine.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// A TOML file with settings, named like the environment variables in lower case.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run the service (the default).
    Run,
    /// Check settings, disk, clock, network and platforms.
    Doctor,
    /// Exit with 0 if the running service is ready.
    Health,
    /// Write an encrypted backup while the service runs.
    Backup {
        /// The folder for the backup, `s3://BUCKET/PREFIX`, or - for standard output.
        target: String,
    },
    /// Restore a backup into an empty data folder.
    Restore(RestoreOptions),
    /// Mark the deliveries of a stack on AWS whose tables were restored. Its functions must be stopped.
    MarkRestored {
        /// The name of the stack.
        #[arg(long, value_name = "NAME")]
        stack: String,
        /// The second to which the tables were restored.
        #[arg(long, value_name = "TIME")]
        as_of: DateTime<Utc>,
    },
    /// Move all data to a deployed stack, whose schedules are disabled. Stop the service first.
    Move {
        /// The name of the stack.
        #[arg(long, value_name = "NAME")]
        to_stack: String,
    },
    /// Print a sign-in link for a user, who is created if there is none with this address.
    SignInLink {
        /// The e-mail address of the user.
        email: String,
    },
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct RestoreOptions {
    /// The file that `backup` wrote.
    backup: Option<PathBuf>,
    /// Use the data folder as it is: it was copied back by hand, and is as it was at this time.
    #[arg(long, value_name = "TIME")]
    in_place: Option<DateTime<Utc>>,
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Settings(Vec<SettingError>),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Move(#[from] MoveError),
    #[error("{target} {reason}")]
    Target { target: String, reason: String },
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The findings are printed already.
    #[error("some checks failed")]
    Unhealthy,
    #[error("the service is not ready: {0}")]
    NotReady(String),
}

#[tokio::main]
async fn main() -> ExitCode {
    match run_command(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            for line in failure.to_string().lines() {
                let _ = writeln!(std::io::stderr(), "social-server: {line}");
            }
            ExitCode::from(if matches!(failure, Failure::Settings(_)) { 2 } else { 1 })
        }
    }
}

async fn run_command(options: Options) -> Result<(), Failure> {
    // Files of the data folder and backups are for their owner only.
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
    // With huge pages, the allocator takes 20 MB more. A system that forbids the call keeps them.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_thp_disable(true);
    let environment =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let variables = read_variables(environment, options.config.as_deref()).map_err(Failure::Settings)?;
    cloud::config::use_variables(variables);
    // Once for all clients of this process; no other code installs a TLS provider.
    cloud::aws::install_tls();
    let config = || Config::from_env().map_err(Failure::Settings);
    let place = || Place::from_env().map_err(Failure::Settings);
    match options.command.unwrap_or(Command::Run) {
        Command::Run => run(config()?).await,
        Command::Doctor => {
            let findings = doctor::examine(config()?).await;
            if doctor::print(&findings, &mut std::io::stdout())? { Ok(()) } else { Err(Failure::Unhealthy) }
        }
        Command::Health => check_health(&config()?).await,
        Command::Backup { target } => back_up(place()?, &target).await,
        Command::Restore(options) => restore_backup(place()?, options).await,
        Command::MarkRestored { stack, as_of } => {
            let looked_up = mark_stack_restored(&stack, as_of, &Clock::System).await?;
            print_line(&format!("Deliveries that are looked up before anything is published: {looked_up}."))
        }
        Command::Move { to_stack } => move_data(config()?, &to_stack).await,
        Command::SignInLink { email } => {
            let config = config()?;
            config.place.check_exists()?;
            if config.oidc.is_some() {
                return Err(ServerError::SignInByIssuer.into());
            }
            let links = LinkFolder::new(&config.place.data, config.service.origin, Clock::System, None);
            print_line(links.create(Some(&email))?.expose_secret())
        }
    }
}

async fn run(mut config: Config) -> Result<(), Failure> {
    let metrics = Metrics::default();
    logs::init(config.log_level.clone(), metrics.clone());
    let (listen, tls, uses_links) = (config.listen, config.tls.take(), config.oidc.is_none());
    let public = TcpListener::bind(listen).await.map_err(|source| ServerError::Listen { address: listen, source })?;
    let own = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let own_origin = format!("http://{}", own.local_addr()?);
    let mut terminations = signal(SignalKind::terminate())?;
    let data = config.place.open()?;
    if data.has_new_key() {
        tracing::warn!(
            folder = %data.path().display(),
            "a sealing key was created; keep a copy of sealing.key in another place: without it, nobody can read the \
             stored credentials or a backup"
        );
    }
    let first_link = (data.is_new() && uses_links)
        .then(|| LinkFolder::new(data.path(), config.service.origin.clone(), Clock::System, None).create(None))
        .transpose()?;
    // At once: the next start is not the first one, even if this one fails.
    announce(first_link.as_ref());
    let secret = Secret::derived(data.key());
    let folder = data.path().to_owned();
    let settings = config.settings(data, own_origin);
    let origin = settings.service.origin.clone();
    let server = Server::open(settings, Arc::new(NoExtensions), &secret, metrics).await?;
    let router = with_addresses(server.routes.clone().merge(server.files.clone()));
    // Before anything is published: a certificate that cannot be loaded ends the process.
    let acceptor = Acceptor::new(tls, &origin, &folder).await?;
    let handle = Handle::new();
    serve_here(own, router.clone());
    let mut serving = pin!(acceptor.serve(public.into_std()?, router, handle.clone()));
    let mut started = server.start();
    tracing::info!(origin, %listen, durability = "synchronous=FULL", "the service is ready");
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminations.recv() => {}
        () = started.ended() => return Err(ServerError::Ended.into()),
        ended = &mut serving => {
            started.stop(STOP_LIMIT).await;
            return Ok(ended?);
        }
    }
    tracing::info!("the service stops");
    handle.graceful_shutdown(Some(STOP_LIMIT));
    let (ended, ()) = tokio::join!(serving, started.stop(STOP_LIMIT));
    if handle.connection_count() != 0 {
        tracing::warn!("requests in progress were cut off");
    }
    Ok(ended?)
}

/// Prints outside of the log's JSON.
fn announce(first_link: Option<&SecretString>) {
    if let Some(link) = first_link {
        let _ = writeln!(
            std::io::stderr(),
            "\nSign in as the first user, within 24 hours:\n\n  {}\n",
            link.expose_secret()
        );
    }
}

fn serve_here(listener: TcpListener, router: Router) {
    let served = axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>());
    tokio::spawn(async move {
        if let Err(error) = served.await {
            tracing::error!(%error, "a listener failed");
        }
    });
}

async fn check_health(config: &Config) -> Result<(), Failure> {
    let ip = match config.listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let not_ready = |error: reqwest::Error| Failure::NotReady(error.to_string());
    // The request goes to an IP address, and the certificate names the domain.
    let client = reqwest::Client::builder().timeout(HEALTH_TIMEOUT).tls_danger_accept_invalid_certs(true);
    let client = client.build().map_err(not_ready)?;
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}/ready", SocketAddr::new(ip, config.listen.port()));
    let response = client.get(url).send().await.map_err(not_ready)?;
    if response.status().is_success() {
        return Ok(());
    }
    Err(Failure::NotReady(response.text().await.map_err(not_ready)?))
}

async fn back_up(mut place: Place, target: &str) -> Result<(), Failure> {
    let key = place.stored_key()?;
    if target == "-" {
        let output = backup::back_up(&place.data, &key, std::io::stdout().lock(), &Clock::System)?;
        drop(output);
        return Ok(());
    }
    if target.starts_with("s3://") {
        let target = target.parse().map_err(|reason| Failure::Target { target: target.to_owned(), reason })?;
        return print_line(&backup::back_up_to_bucket(&place.data, key, &target, &Clock::System).await?);
    }
    let path = backup::back_up_into(&place.data, &key, Path::new(target), &Clock::System)?;
    print_line(&path.display().to_string())
}

async fn restore_backup(place: Place, options: RestoreOptions) -> Result<(), Failure> {
    let Place { data, key } = place;
    let clock = Clock::System;
    let Restored { backup_at, looked_up } = match (options.backup, options.in_place) {
        (Some(backup), _) => restore(&data, key, &backup, &clock).await?,
        (None, at) => restore_in_place(&data, key, at.unwrap_or_else(Utc::now), &clock).await?,
    };
    print_line(&format!(
        "Restored as of {}. Deliveries that are looked up before anything is published: {looked_up}.",
        backup_at.to_rfc3339()
    ))
}

async fn move_data(mut config: Config, stack: &str) -> Result<(), Failure> {
    let key = config.place.stored_key()?;
    let issuer = config.oidc.map(|it| it.issuer);
    let uses_links = issuer.is_none();
    let source = Source { data: config.place.data, key, issuer };
    let Moved { items, files } = move_to_stack(&source, stack, &Clock::System).await?;
    print_line(&format!("Moved to {stack}, and compared: {items} items, {files} files."))?;
    if uses_links {
        print_line("Users keep everything if the issuer of the stack verifies their e-mail addresses.")?;
    }
    print_line("Now deploy the stack with Schedules=ENABLED, and let the domain point to it.")
}

fn print_line(text: &str) -> Result<(), Failure> {
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}
