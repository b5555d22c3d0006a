//! `social-server`: the whole service on one machine.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

use axum::Router;
use server::{Config, NoExtensions, Secret, Server, ServerError, with_addresses};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> ExitCode {
    let config = match Config::from_env() {
        Ok(config) => config,
        Err(errors) => {
            for error in errors {
                let _ = writeln!(std::io::stderr(), "social-server: {error}");
            }
            return ExitCode::from(2);
        }
    };
    tracing_subscriber::fmt().json().with_writer(std::io::stderr).init();
    // Once for all clients of this process; no other code installs a TLS provider.
    cloud::aws::install_tls();
    match run(config).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "social-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(config: Config) -> Result<(), ServerError> {
    let (public, own) = (TcpListener::bind(config.listen).await?, TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?);
    let own_origin = format!("http://localhost:{}", own.local_addr()?.port());
    let mut terminations = signal(SignalKind::terminate())?;
    let settings = config.settings(own_origin);
    let origin = settings.origin.clone();
    let server = Server::open(settings, Arc::new(NoExtensions), &Secret::random()).await?;
    let router = with_addresses(server.routes.clone().merge(server.files.clone()));
    serve(own, &router);
    serve(public, &router);
    server.start();
    tracing::info!(origin, "the service is ready; every commit is on disk before its response (synchronous=FULL)");
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminations.recv() => {}
    }
    Ok(())
}

fn serve(listener: TcpListener, router: &Router) {
    let server = router.clone().into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, server).await });
}
