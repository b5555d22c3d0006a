//! A small web server with valid and invalid files to fetch.

use std::{net::SocketAddr, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::Path,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use futures::{StreamExt, stream};

use crate::{error::Result, picture, webhook_receiver};

/// A file whose first bytes are an image's signature.
pub fn small_image() -> Vec<u8> {
    picture::png(50, 40, [10, 200, 100])
}

/// Starts the server; it runs until the process ends.
pub async fn start() -> Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = Router::new()
        .route("/good.png", get(|| async { file("image/png", small_image()) }))
        // The type that a server declares proves nothing, so a valid file with another type is
        // accepted as well.
        .route("/unlabeled", get(|| async { file("application/octet-stream", small_image()) }))
        .route("/page.png", get(|| async { file("image/png", b"<html></html>".to_vec()) }))
        .route("/empty.png", get(|| async { file("image/png", Vec::new()) }))
        .route("/large.png", get(|| async { file("image/png", large_file()) }))
        .route("/endless.png", get(|| async { endless(Duration::ZERO) }))
        .route("/slow.png", get(|| async { endless(Duration::from_millis(500)) }))
        .route("/hops/{left}", get(redirect_hop))
        .route("/to-metadata", get(|| async { Redirect::temporary("http://169.254.169.254/latest/") }))
        .route("/to-loopback", get(|| async { Redirect::temporary("http://127.0.0.1:9/good.png") }))
        .route("/to-file", get(|| async { Redirect::temporary("file:///etc/passwd") }))
        .route("/client.json", get(move || async move { client_document(address) }))
        .merge(webhook_receiver::router());
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

/// The client document of an app whose redirect URI is on its user's own machine.
fn client_document(address: SocketAddr) -> Response {
    let document = serde_json::json!({
        "client_id": format!("http://{address}/client.json"),
        "client_name": "Planner",
        "redirect_uris": ["http://127.0.0.1/back", "https://app.example/back"],
        "token_endpoint_auth_method": "none",
    });
    file("application/json", document.to_string().into_bytes())
}

fn file(kind: &'static str, bytes: Vec<u8>) -> Response {
    ([(CONTENT_TYPE, kind)], bytes).into_response()
}

fn large_file() -> Vec<u8> {
    let mut bytes = small_image();
    bytes.resize(20 * 1024 * 1024 + 1, 0);
    bytes
}

/// An image that never ends and does not declare its length.
fn endless(pause: Duration) -> Response {
    let start = stream::once(async { small_image() });
    let rest = stream::repeat_with(|| vec![0; 64 * 1024]).then(move |bytes| async move {
        tokio::time::sleep(pause).await;
        bytes
    });
    let body = Body::from_stream(start.chain(rest).map(Ok::<_, std::io::Error>));
    ([(CONTENT_TYPE, "image/png")], body).into_response()
}

async fn redirect_hop(Path(left): Path<u32>) -> Redirect {
    match left {
        1 => Redirect::temporary("/good.png"),
        _ => Redirect::temporary(&format!("/hops/{}", left.saturating_sub(1))),
    }
}
