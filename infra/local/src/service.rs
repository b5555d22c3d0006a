//! Starts the process: all parts listen at one origin.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::Router;
use domain::clock::Clock;
use domain::user::User;
use secrecy::SecretString;
use server::{ACCESS_KEYS, Data, DataFolder, Secret, Stores};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::error::LocalError;
use crate::fakes::Fakes;
use crate::hosts::Hosts;
use crate::options::Options;
use crate::stack::{Addresses, Stack};
use crate::{database_port, demo, hosts};

#[derive(Debug)]
pub struct Running {
    /// For example `http://localhost:3000`.
    pub origin: String,
    /// The target of the tunnel of `--origin`, for example `http://localhost:3001`.
    pub tunnel: Option<String>,
    pub base_url: String,
    pub token: String,
    pub user: User,
    /// `None` without `--dynamodb-port`.
    pub stores: Option<StoreKeys>,
    // Deleted when the process ends.
    _ephemeral: Option<TempDir>,
}

#[derive(Debug)]
pub struct StoreKeys {
    /// On this machine.
    pub dynamodb: String,
    /// Opens the database and the media store.
    pub access_key: &'static str,
    /// New in every run.
    pub secret: SecretString,
}

/// The tasks run on this runtime until the process ends.
pub async fn start(options: &Options) -> Result<Running, LocalError> {
    if let Some(address) = options.listen.filter(IpAddr::is_unspecified) {
        return Err(LocalError::Everywhere(address));
    }
    let public_origin = options.origin.as_deref().map(hosts::parse_origin).transpose()?;
    let listeners = listen(options, options.port, "--port").await?;
    let port = port_of(&listeners)?;
    let origin = format!("http://localhost:{port}");

    let ephemeral = if options.has_no_data_folder() { Some(TempDir::new()?) } else { None };
    let data = (!options.has_no_data_folder()).then_some(options.data.as_path());
    let data_source = match &ephemeral {
        Some(folder) => Data::Temporary(folder.path().to_owned()),
        None => Data::Folder(DataFolder::open(&options.data, None)?),
    };

    let secret = Secret::random();
    let outside_listeners = match public_origin {
        Some(_) => {
            listen(options, options.origin_port.unwrap_or_else(|| port.saturating_add(1)), "--origin-port").await?
        }
        None => Vec::new(),
    };
    let tunnel = port_of(&outside_listeners).ok().map(|port| format!("http://localhost:{port}"));
    let hosts = Hosts::new(port, options.listen).refusing_forwarded(public_origin.is_some());
    let fakes = if options.fakes {
        Fakes::start(public_origin.as_deref().unwrap_or(&origin), &origin).await
    } else {
        Fakes::default()
    };
    let addresses = Addresses { origin: &origin, outside: public_origin.as_deref(), hosts, secret: &secret };
    let stack = Stack::open(options, fakes, addresses, data_source).await?;
    serve(listeners, &stack.here);
    serve(outside_listeners, &stack.outside);
    let stores = match options.dynamodb_port {
        Some(port) => Some(open_database(options, port, &stack.server.stores, &secret).await?),
        None => None,
    };
    let api = stack.server.api.clone();
    stack.server.start();

    let user = demo::user(&api, &origin).await?;
    let token = demo::token(&api, &user, data).await?;
    let base_url = format!("{origin}/api/v1");
    Ok(Running { base_url, origin, tunnel, token, user, stores, _ephemeral: ephemeral })
}

fn serve(listeners: Vec<TcpListener>, router: &Router) {
    for listener in listeners {
        let server = router.clone().into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, server).await });
    }
}

/// On loopback, and on the address of `--listen`.
async fn listen(options: &Options, port: u16, option: &'static str) -> Result<Vec<TcpListener>, LocalError> {
    let bind = async |address: IpAddr, port: u16| {
        let bound = TcpListener::bind((address, port)).await;
        bound.map_err(|source| LocalError::Port { port, option, source })
    };
    let first = bind(Ipv4Addr::LOCALHOST.into(), port).await?;
    let port = first.local_addr()?.port();
    let mut all = vec![first];
    if let Some(address) = options.listen.filter(|it| *it != Ipv4Addr::LOCALHOST) {
        all.push(bind(address, port).await?);
    }
    Ok(all)
}

fn port_of(listeners: &[TcpListener]) -> std::io::Result<u16> {
    let first = listeners.first().ok_or(std::io::ErrorKind::NotConnected)?;
    Ok(first.local_addr()?.port())
}

async fn open_database(
    options: &Options,
    port: u16,
    stores: &Stores,
    secret: &Secret,
) -> Result<StoreKeys, LocalError> {
    let listeners = listen(options, port, "--dynamodb-port").await?;
    let port = port_of(&listeners)?;
    let hosts = Hosts::new(port, options.listen);
    serve(listeners, &database_port::router(stores.database(), secret.clone(), hosts, Clock::System));
    let dynamodb = format!("http://localhost:{port}");
    Ok(StoreKeys { dynamodb, access_key: ACCESS_KEYS[0], secret: secret.expose().into() })
}
