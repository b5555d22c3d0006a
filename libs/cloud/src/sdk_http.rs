//! How the SDK's clients send: HTTP/1.1, which is what AWS speaks, from one pool
//! of connections for all of them.
//!
//! The SDK's own client does the same with HTTP/2 beside it, which would be a
//! twentieth of a function's binary, and reads its roots for each client anew.

use std::borrow::Cow;
use std::error::Error;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::connection::{CaptureSmithyConnection, ConnectionMetadata};
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::ErrorKind;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;

use crate::trust;

/// How long opening a connection may take: the SDK's own default.
const CONNECT: Duration = Duration::from_millis(3100);

type Tcp = legacy::connect::HttpConnector;
type Pool = legacy::Client<HttpsConnector<Tcp>, SdkBody>;

/// What every SDK client of a process sends through.
pub(crate) fn http_client() -> SharedHttpClient {
    SharedHttpClient::new(Http::default())
}

/// Each pool is made when it is first needed, for it reads its roots then.
#[derive(Clone, Debug, Default)]
struct Http {
    aws: Arc<OnceLock<Pool>>,
    elsewhere: Arc<OnceLock<Pool>>,
}

impl HttpClient for Http {
    /// The same for all settings: they are time limits, of which the call's own
    /// is the shorter.
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        Some(ConnectorMetadata::new("hyper", Some(Cow::Borrowed("1.x"))))
    }
}

impl HttpConnector for Http {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let mut request = match request.try_into_http1x() {
            Ok(request) => request,
            Err(error) => return HttpConnectorFuture::ready(Err(ConnectorError::user(error.into()))),
        };
        let pool = if trust::is_elsewhere(request.uri()) {
            pool(&self.elsewhere, trust::machine)
        } else {
            pool(&self.aws, trust::amazon)
        };
        let pool = match pool {
            Ok(pool) => pool,
            Err(error) => return HttpConnectorFuture::ready(Err(ConnectorError::other(error.into(), None))),
        };

        // By this the SDK closes a connection on which something went wrong.
        let connection = capture_connection(&mut request);
        if let Some(capture) = request.extensions().get::<CaptureSmithyConnection>() {
            capture.set_connection_retriever(move || metadata(&connection));
        }
        let answer = pool.request(request);
        HttpConnectorFuture::new(async move {
            let response = answer.await.map_err(failed)?;
            HttpResponse::try_from(response.map(SdkBody::from_body_1_x))
                .map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

fn pool(made: &OnceLock<Pool>, tls: fn() -> Result<ClientConfig, rustls::Error>) -> Result<&Pool, rustls::Error> {
    if let Some(pool) = made.get() {
        return Ok(pool);
    }
    let mut tcp = Tcp::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT));
    let https = HttpsConnectorBuilder::new().with_tls_config(tls()?).https_or_http().enable_http1().wrap_connector(tcp);
    let pool = legacy::Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(https);
    // Whoever was faster made the same.
    Ok(made.get_or_init(|| pool))
}

/// What is known of a connection once there is one.
fn metadata(connection: &CaptureConnection) -> Option<ConnectionMetadata> {
    connection.connection_metadata().as_ref()?;
    let connection = connection.clone();
    let poison = move || {
        if let Some(connected) = connection.connection_metadata().as_ref() {
            connected.poison();
        }
    };
    Some(ConnectionMetadata::builder().proxied(false).poison_fn(poison).build())
}

/// A failure in the SDK's terms, by which it decides whether to try again: the
/// same decisions as in its own client.
fn failed(error: legacy::Error) -> ConnectorError {
    let of_hyper = cause::<hyper::Error>(&error);
    let times_out = of_hyper.is_some_and(hyper::Error::is_timeout);
    let is_ours = of_hyper.is_some_and(hyper::Error::is_user);
    let is_closed = of_hyper.is_some_and(|it| it.is_closed() || it.is_canceled());
    let is_cut_off = of_hyper.is_some_and(hyper::Error::is_incomplete_message);
    let is_io = is_closed || error.is_connect() || cause::<io::Error>(&error).is_some();

    let error: BoxError = error.into();
    if times_out {
        ConnectorError::timeout(error)
    } else if is_ours {
        ConnectorError::user(error)
    } else if is_io {
        ConnectorError::io(error)
    } else {
        ConnectorError::other(error, is_cut_off.then_some(ErrorKind::TransientError))
    }
}

/// The first of its causes that is of this type.
fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    std::iter::successors(Some(error), |&it| it.source()).find_map(|it| it.downcast_ref())
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
