//! HTTP/1.1 servers whose connections may be cut in place of a response, and a client.

use std::convert::Infallible;
use std::net::SocketAddr;

use axum::Router;
use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt;

pub use super::cut::Cut;
use super::exchanges;

/// A client that does not follow redirects.
pub fn browser() -> reqwest::Client {
    // Another test of this process may have installed the same provider before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        // No fake uses TLS, and reading the certificates of the machine takes time.
        .tls_certs_only([])
        .build()
        .expect("a client can be made")
}

/// Serves on a free port of the loopback interface until the runtime ends.
pub async fn serve(router: Router) -> SocketAddr {
    let (listener, address) = listen().await;
    serve_on(listener, router);
    address
}

/// A free port of the loopback interface, for a server that needs its URL before it serves.
pub async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
    let address = listener.local_addr().expect("a bound socket has an address");
    (listener, address)
}

/// Like `serve`, on this listener.
pub fn serve_on(listener: TcpListener, router: Router) {
    let router = exchanges::wrap(router);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve_requests(stream, router.clone()));
        }
    });
}

/// Handles the requests of one connection, one after the other.
async fn serve_requests(stream: TcpStream, router: Router) {
    // Without this, a small response waits for the client's acknowledgement.
    stream.set_nodelay(true).ok();
    let service = service_fn(|request: Request<Incoming>| {
        let router = router.clone();
        async move {
            let answered: Result<Response, Infallible> = router.oneshot(request).await;
            match answered {
                // After an error hyper closes the connection before it sends a status line.
                Ok(response) if response.extensions().get::<Cut>().is_some() => Err(Cut),
                Ok(response) => Ok(response),
                Err(never) => match never {},
            }
        }
    });
    // The result is ignored: it is an error whenever the client disconnects or the connection is
    // cut. A fake itself sends a date where it needs one, by the test's clock.
    http1::Builder::new().auto_date_header(false).serve_connection(TokioIo::new(stream), service).await.ok();
}

#[cfg(test)]
mod tests {
    use axum::routing::get;

    use super::*;

    #[tokio::test]
    async fn cut_connection_sends_no_status() {
        let cut = || async { (http::StatusCode::CREATED, axum::Extension(Cut), "never read") };
        let address = serve(Router::new().route("/cut", get(cut)).route("/well", get(|| async { "well" }))).await;
        let client = browser();

        let well = client.get(format!("http://{address}/well")).send().await;
        let lost = client.get(format!("http://{address}/cut")).send().await;
        let again = client.get(format!("http://{address}/well")).send().await;

        assert_eq!(well.unwrap().status(), 200);
        let lost = lost.unwrap_err();
        assert!(lost.is_request() && lost.status().is_none(), "{lost:?}");
        assert_eq!(again.unwrap().status(), 200);
    }
}
