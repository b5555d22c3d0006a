//! How the SDK's clients send: through the SDK's own HTTP client, from one pool
//! of connections for all of them.
//!
//! Left to itself, each SDK client would open connections of its own and read
//! all of the machine's root certificates when it is made.

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

/// How long opening a connection may take: the SDK's own default.
const CONNECT: Duration = Duration::from_millis(3100);

/// What every SDK client of a process sends through.
pub(crate) fn http_client() -> SharedHttpClient {
    let connector = SharedHttpConnector::new(ByHost::default());
    // The settings, which differ between clients only in their limits on
    // connecting and reading, are not looked at: no client of ours sets those.
    http_client_fn(move |_, _| connector.clone())
}

/// Two pools, because the trusted roots depend on the host. Each is made at its
/// first call, so that nobody reads roots that are not needed.
#[derive(Debug, Default)]
struct ByHost {
    aws: OnceLock<Connector>,
    elsewhere: OnceLock<Connector>,
}

impl HttpConnector for ByHost {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let connector = if trust::is_elsewhere(request.uri()) {
            self.elsewhere.get_or_init(|| connector(trust::machine()))
        } else {
            self.aws.get_or_init(|| connector(trust::amazon()))
        };
        connector.call(request)
    }
}

fn connector(roots: TlsContext) -> Connector {
    Connector::builder()
        .connector_settings(HttpConnectorSettings::builder().connect_timeout(CONNECT).build())
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

    /// A service whose connections end with each of these answers; its client.
    async fn client<const N: usize>(answers: [&'static str; N]) -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            for answer in answers {
                let (mut connection, _) = listener.accept().await.unwrap();
                // Until the end of the headers at least.
                let _ = connection.read(&mut [0; 4096]).await.unwrap();
                connection.write_all(answer.as_bytes()).await.unwrap();
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
    async fn what_was_cut_off_is_tried_again() {
        let half = "HTTP/1.1 200 OK\r\nconte";
        for answers in [["", ANSWER], [half, ANSWER]] {
            let answered = client(answers).await.decrypt().send().await;

            assert!(answered.is_ok(), "{answers:?}: {answered:?}");
        }
    }

    #[tokio::test]
    async fn where_nobody_answers_is_an_error() {
        let answered = client([]).await.decrypt().send().await;

        assert!(answered.is_err(), "{answered:?}");
    }
}
