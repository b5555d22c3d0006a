//! The HTTP client that all SDK clients of a process share, with its connection pools.
//!
//! By default, each SDK client would have connections of its own, and would read all root
//! certificates of the machine when it is created.

use std::sync::OnceLock;
use std::time::Duration;

use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;

use crate::trust;

/// The SDK's default.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(3100);

pub(crate) fn http_client() -> SharedHttpClient {
    let connector = SharedHttpConnector::new(ConnectorByHost::default());
    // The settings are ignored: clients differ only in connect and read timeouts, and none of
    // ours sets those.
    http_client_fn(move |_, _| connector.clone())
}

/// Two pools, because the trusted roots depend on the host. Each is created at its first call, so
/// that unneeded roots are never read.
#[derive(Debug, Default)]
struct ConnectorByHost {
    aws: OnceLock<Connector>,
    elsewhere: OnceLock<Connector>,
}

impl HttpConnector for ConnectorByHost {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let connector = if trust::needs_machine_roots(request.uri()) {
            self.elsewhere.get_or_init(|| connector(trust::machine()))
        } else {
            self.aws.get_or_init(|| connector(trust::amazon_roots()))
        };
        connector.call(request)
    }
}

fn connector(roots: TlsContext) -> Connector {
    Connector::builder()
        .connector_settings(HttpConnectorSettings::builder().connect_timeout(CONNECT_TIMEOUT).build())
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .tls_context(roots)
        .build()
}

#[cfg(test)]
mod tests {
    use aws_config::retry::RetryConfig;
    use aws_config::{BehaviorVersion, Region, SdkConfig};
    use aws_credential_types::Credentials;
    use aws_credential_types::provider::SharedCredentialsProvider;
    use aws_sdk_kms::Client;
    use aws_smithy_async::rt::sleep::default_async_sleep;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const ANSWER: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";

    /// A client of a service that closes its connections after each of these responses.
    async fn client<const N: usize>(responses: [&'static str; N]) -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            for response in responses {
                let (mut connection, _) = listener.accept().await.unwrap();
                // Reads at least the headers.
                let _ = connection.read(&mut [0; 4096]).await.unwrap();
                connection.write_all(response.as_bytes()).await.unwrap();
            }
        });
        let mut config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .endpoint_url(endpoint)
            .credentials_provider(SharedCredentialsProvider::new(Credentials::new("a", "b", None, None, "test")))
            .retry_config(RetryConfig::standard().with_initial_backoff(Duration::from_millis(1)))
            .http_client(http_client());
        config.set_sleep_impl(default_async_sleep());
        Client::new(&config.build())
    }

    #[tokio::test]
    async fn incomplete_response_is_retried() {
        let half = "HTTP/1.1 200 OK\r\nconte";
        for responses in [["", ANSWER], [half, ANSWER]] {
            let result = client(responses).await.decrypt().send().await;

            assert!(result.is_ok(), "{responses:?}: {result:?}");
        }
    }

    #[tokio::test]
    async fn missing_response_is_an_error() {
        let result = client([]).await.decrypt().send().await;

        assert!(result.is_err(), "{result:?}");
    }
}
