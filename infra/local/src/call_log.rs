//! Records the requests of a function to its stores, as its SDK sends them.
//!
//! The test of the roles reads this log for what it can test only on the local stack: fetching files,
//! and calling servers that users name. Deployed functions refuse the addresses of the tests' servers.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use aws_config::SdkConfig;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use serde_json::{Value, json};

use server::{Secret, access_key_for, function_for};

/// One line of JSON for each call.
#[derive(Clone, Debug)]
pub(crate) struct CallLog(Arc<Mutex<File>>);

impl CallLog {
    pub(crate) fn create(path: &Path) -> std::io::Result<Self> {
        Ok(Self(Arc::new(Mutex::new(File::create(path)?))))
    }

    pub(crate) fn config(&self, function: &'static str, config: SdkConfig, secret: &Secret) -> SdkConfig {
        let credentials = secret.credentials(access_key_for(function));
        let logged = config.http_client().map(|inner| Logged { inner, function, log: self.clone() });
        let mut config = config.into_builder();
        config.set_http_client(logged.map(SharedHttpClient::new));
        config.credentials_provider(SharedCredentialsProvider::new(credentials)).build()
    }

    pub(crate) fn watch_links(self, router: Router) -> Router {
        router.layer(from_fn_with_state(self, write_link_use))
    }

    fn write(&self, call: &Value) {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = writeln!(file, "{call}") {
            tracing::error!(%error, "a store call could not be recorded");
        }
    }
}

async fn write_link_use(State(log): State<CallLog>, request: Request, next: Next) -> Response {
    let signed = request.uri().query().and_then(|it| it.split_once("X-Amz-Credential="));
    let function = signed.and_then(|(_, it)| it.split(['%', '/']).next()).and_then(function_for);
    let call = function
        .map(|it| json!({ "function": it, "method": request.method().as_str(), "uri": request.uri().to_string() }));
    let response = next.run(request).await;
    if let Some(mut call) = call {
        call["status"] = response.status().as_u16().into();
        log.write(&call);
    }
    response
}

#[derive(Debug)]
struct Logged {
    inner: SharedHttpClient,
    function: &'static str,
    log: CallLog,
}

impl HttpClient for Logged {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(LoggedConnector { inner, function: self.function, log: self.log.clone() })
    }
}

#[derive(Debug)]
struct LoggedConnector {
    inner: SharedHttpConnector,
    function: &'static str,
    log: CallLog,
}

impl HttpConnector for LoggedConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        // The body of a file is a stream and cannot be read; the URI shows the operation.
        let body: Value = request.body().bytes().and_then(|it| serde_json::from_slice(it).ok()).unwrap_or_default();
        let mut call = json!({
            "function": self.function,
            "method": request.method(),
            "uri": request.uri(),
            "target": request.headers().get("x-amz-target"),
            "body": body,
        });
        let (log, response) = (self.log.clone(), self.inner.call(request));
        HttpConnectorFuture::new(async move {
            let response = response.await;
            call["status"] = response.as_ref().map(|it| it.status().as_u16()).unwrap_or_default().into();
            log.write(&call);
            response
        })
    }
}
