//! The public address, encrypted by this process or by a proxy in front of it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use cloud::config::{ConfigError, optional};
use futures::StreamExt;
use rustls_acme::AcmeConfig;
use rustls_acme::acme::LETS_ENCRYPT_PRODUCTION_DIRECTORY;
use rustls_acme::caches::DirCache;
use url::Url;

use crate::error::ServerError;

/// How often the files of the certificate are looked at, because a program that renews it replaces them.
const RELOAD_INTERVAL: Duration = Duration::from_secs(10);

/// Where the certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tls {
    /// PEM files, which may change while the service runs.
    Files { certificate: PathBuf, key: PathBuf },
    /// A certificate authority that speaks ACME (RFC 8555). It checks the domain on port 443 (RFC 8737).
    Acme {
        /// An e-mail address for the authority.
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

/// Serves a router until `handle` stops it. `origin` has the domain of the certificate, and certificates of
/// an authority are kept in the folder `data`. Without `tls`, a proxy encrypts the connections.
pub async fn serve(
    listener: std::net::TcpListener,
    router: Router,
    tls: Option<Tls>,
    origin: &str,
    data: &Path,
    handle: Handle<SocketAddr>,
) -> Result<(), ServerError> {
    listener.set_nonblocking(true)?;
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    match tls {
        None => axum_server::from_tcp(listener)?.handle(handle).serve(service).await?,
        Some(Tls::Files { certificate, key }) => {
            let failed = |source| ServerError::File { path: certificate.clone(), source };
            let config = RustlsConfig::from_pem_file(&certificate, &key).await.map_err(failed)?;
            tokio::spawn(reload(config.clone(), certificate, key));
            axum_server::from_tcp_rustls(listener, config)?.handle(handle).serve(service).await?;
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
                        Err(error) => tracing::error!(%error, "the certificate was not issued; it is tried again"),
                    }
                }
            });
            axum_server::from_tcp(listener)?.acceptor(acceptor).handle(handle).serve(service).await?;
        }
    }
    Ok(())
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
