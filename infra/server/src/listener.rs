//! The public address, encrypted by this process or by a proxy in front of it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum_server::Handle;
use axum_server::accept::Accept;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use cloud::config::{ConfigError, optional};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use hyper_util::rt::TokioTimer;
use rustls_acme::AcmeConfig;
use rustls_acme::acme::LETS_ENCRYPT_PRODUCTION_DIRECTORY;
use rustls_acme::axum::AxumAcceptor;
use rustls_acme::caches::DirCache;
use tokio::io::{AsyncRead, AsyncWrite};
use url::Url;

use crate::error::ServerError;

/// How often the files of the certificate are looked at, because a program that renews it replaces them.
const RELOAD_INTERVAL: Duration = Duration::from_secs(10);

/// As in axum-server for certificates of files.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Connections that send no request are closed, so that they do not use up the file descriptors.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tls {
    /// PEM files, which may change while the service runs.
    Files { certificate: PathBuf, key: PathBuf },
    /// A certificate authority that speaks ACME (RFC 8555). It checks the domain on port 443 (RFC 8737).
    Acme {
        /// An e-mail address.
        contact: String,
        directory: Url,
    },
}

impl Tls {
    /// `TLS_CERTIFICATE` and `TLS_KEY`, or `ACME_CONTACT` and `ACME_DIRECTORY`, by default that of
    /// Let's Encrypt.
    pub(crate) fn from_env() -> Result<Option<Self>, ConfigError> {
        let invalid = |name, reason: &str| Err(ConfigError::Invalid { name, reason: reason.to_owned() });
        match (optional("TLS_CERTIFICATE"), optional("TLS_KEY"), optional("ACME_CONTACT")) {
            (None, None, None) => Ok(None),
            (Some(certificate), Some(key), None) => {
                // A path is printed if the file cannot be read, and a key never.
                if [&certificate, &key].iter().any(|it| it.contains("-----")) {
                    return invalid("TLS_KEY", "must be the path of a PEM file, and so must TLS_CERTIFICATE");
                }
                Ok(Some(Self::Files { certificate: certificate.into(), key: key.into() }))
            }
            (None, None, Some(contact)) => {
                let directory = optional("ACME_DIRECTORY");
                let directory = directory.as_deref().unwrap_or(LETS_ENCRYPT_PRODUCTION_DIRECTORY).parse();
                match directory {
                    Ok(directory) => Ok(Some(Self::Acme { contact, directory })),
                    Err(_) => invalid("ACME_DIRECTORY", "must be a URL"),
                }
            }
            (Some(_), None, _) => Err(ConfigError::Missing("TLS_KEY")),
            (None, Some(_), _) => Err(ConfigError::Missing("TLS_CERTIFICATE")),
            (Some(_), Some(_), Some(_)) => invalid("ACME_CONTACT", "must not be set together with TLS_CERTIFICATE"),
        }
    }
}

/// The acceptor of connections: with a certificate that was loaded, or is ordered.
pub enum Acceptor {
    Plain,
    Files(RustlsConfig),
    Acme(AxumAcceptor),
}

impl Acceptor {
    /// Loads the certificate, and starts the task that renews it. `origin` has its domain; certificates of an
    /// authority are kept in the folder `data`. Without `tls`, a proxy encrypts the connections.
    pub async fn new(tls: Option<Tls>, origin: &str, data: &Path) -> Result<Self, ServerError> {
        match tls {
            None => Ok(Self::Plain),
            Some(Tls::Files { certificate, key }) => {
                let failed =
                    |source| ServerError::Certificate { certificate: certificate.clone(), key: key.clone(), source };
                let config = RustlsConfig::from_pem_file(&certificate, &key).await.map_err(failed)?;
                tokio::spawn(reload(config.clone(), certificate, key));
                Ok(Self::Files(config))
            }
            Some(Tls::Acme { contact, directory }) => {
                let domain = Url::parse(origin).ok().and_then(|it| Some(it.host_str()?.to_owned()));
                let mut orders = AcmeConfig::new(domain)
                    .contact([format!("mailto:{contact}")])
                    .directory(directory)
                    .cache(DirCache::new(data.join("certificates")))
                    .state();
                let acceptor = orders.axum_acceptor(orders.default_rustls_config());
                tokio::spawn(async move {
                    while let Some(event) = orders.next().await {
                        match event {
                            Ok(event) => tracing::info!(?event, "certificate"),
                            Err(error) => {
                                tracing::error!(%error, "the certificate was not issued; the order is repeated");
                            }
                        }
                    }
                });
                Ok(Self::Acme(acceptor))
            }
        }
    }

    /// Ends when `handle` stops the server.
    pub async fn serve(
        self,
        listener: std::net::TcpListener,
        router: Router,
        handle: Handle<SocketAddr>,
    ) -> std::io::Result<()> {
        listener.set_nonblocking(true)?;
        let mut server = axum_server::from_tcp(listener)?.handle(handle);
        server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        match self {
            Self::Plain => server.serve(service).await,
            Self::Files(config) => server.acceptor(RustlsAcceptor::new(config)).serve(service).await,
            Self::Acme(acceptor) => server.acceptor(Handshakes(acceptor)).serve(service).await,
        }
    }
}

/// Ends handshakes that take longer than [`HANDSHAKE_TIMEOUT`].
#[derive(Clone)]
struct Handshakes(AxumAcceptor);

impl<I, S> Accept<I, S> for Handshakes
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Send + 'static,
{
    type Stream = <AxumAcceptor as Accept<I, S>>::Stream;
    type Service = S;
    type Future = BoxFuture<'static, std::io::Result<(Self::Stream, S)>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let accepted = tokio::time::timeout(HANDSHAKE_TIMEOUT, self.0.accept(stream, service));
        async move { accepted.await.unwrap_or_else(|elapsed| Err(std::io::Error::other(elapsed))) }.boxed()
    }
}

async fn reload(config: RustlsConfig, certificate: PathBuf, key: PathBuf) {
    let changed_at = async || -> Option<[SystemTime; 2]> {
        let modified = async |path: &Path| tokio::fs::metadata(path).await.ok()?.modified().ok();
        Some([modified(&certificate).await?, modified(&key).await?])
    };
    let mut loaded = changed_at().await;
    loop {
        tokio::time::sleep(RELOAD_INTERVAL).await;
        let now = changed_at().await;
        if now == loaded || now.is_none() {
            continue;
        }
        match config.reload_from_pem_file(&certificate, &key).await {
            Ok(()) => {
                tracing::info!(path = %certificate.display(), "the certificate was loaded again");
                loaded = now;
            }
            // Both files may not be replaced yet.
            Err(error) => tracing::warn!(%error, path = %certificate.display(), "the certificate cannot be loaded"),
        }
    }
}
