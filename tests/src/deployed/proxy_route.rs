//! A reverse proxy on loopback. One is in front of the API and gives it its address; another one is
//! between the functions and AWS.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use axum::{
    Router,
    body::Body,
    body::Bytes,
    extract::{ConnectInfo, DefaultBodyLimit, State},
    http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header},
};
use reqwest::Client;
use tokio::net::TcpListener;

use super::recorder::{Recorder, Request};
use crate::error::Result;

#[derive(Clone)]
pub(super) struct ProxyRoute {
    http: Client,
    to: String,
    /// The host name to forward, once it is known; otherwise that of the request.
    host: Option<Arc<OnceLock<String>>>,
    recorder: Option<Recorder>,
}

impl ProxyRoute {
    pub(super) fn to(url: String) -> Result<Self> {
        let http = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build()?;
        Ok(Self { http, to: url, host: None, recorder: None })
    }

    pub(super) fn with_host(self, host: Arc<OnceLock<String>>) -> Self {
        Self { host: Some(host), ..self }
    }

    pub(super) fn recorded(self, recorder: Recorder) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    pub(super) async fn open(self, port: u16) -> Result {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let router = Router::new().fallback(forward_request).layer(DefaultBodyLimit::disable()).with_state(self);
        let router = router.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(())
    }
}

async fn forward_request(
    State(proxy): State<ProxyRoute>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    method: Method,
    uri: Uri,
    mut headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let recorded_request = proxy.recorder.as_ref().map(|_| Request::new(&method, &uri, &headers, &body));
    if let Some(host) = proxy.host.as_ref().and_then(|it| it.get())
        && let Ok(host) = host.parse()
    {
        headers.insert(header::HOST, host);
    }
    if let Ok(address) = from.ip().to_string().parse() {
        // The emulator passes this on as the caller's address, as an HTTP API does.
        headers.insert("x-source-ip", address);
    }
    // AWS is only reached over TLS, and policies check that.
    headers.insert("x-forwarded-proto", HeaderValue::from_static("https"));
    headers.remove(header::TRANSFER_ENCODING);
    headers.remove(header::CONNECTION);
    let path = uri.path_and_query().map_or("/", |it| it.as_str());
    let request = proxy.http.request(method, format!("{}{path}", proxy.to)).headers(headers).body(body);
    let forwarded = async {
        let response = request.send().await?;
        let (status, headers) = (response.status(), response.headers().clone());
        Ok::<_, reqwest::Error>((status, headers, response.bytes().await?))
    };
    match forwarded.await {
        Ok((status, mut headers, body)) => {
            if let (Some(recorder), Some(recorded_request)) = (&proxy.recorder, recorded_request) {
                recorder.note(recorded_request, status, &body);
            }
            headers.remove(header::TRANSFER_ENCODING);
            headers.remove(header::CONNECTION);
            let mut response = Response::new(Body::from(body));
            *response.status_mut() = status;
            *response.headers_mut() = headers;
            response
        }
        Err(error) => {
            let mut response = Response::new(Body::from(format!("behind this proxy: {error}")));
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            response
        }
    }
}
