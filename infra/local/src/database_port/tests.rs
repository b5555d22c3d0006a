use std::net::SocketAddr;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use server::{Extensions, NoExtensions, Stores, client_config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

async fn listening(secret: &Secret) -> SocketAddr {
    let extensions: Arc<dyn Extensions> = Arc::new(NoExtensions);
    let stores = Stores::open(None, secret, &extensions).await.unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let hosts = Hosts::new(address.port(), None);
    let router = router(stores.database(), secret.clone(), hosts, Clock::System);
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

async fn tables(address: SocketAddr, secret: &Secret) -> Result<Vec<String>, String> {
    let config = client_config(&format!("http://localhost:{}", address.port()), secret);
    let listed = Client::new(&config).list_tables().send().await;
    listed.map(|it| it.table_names().to_vec()).map_err(|it| it.code().unwrap_or_default().to_owned())
}

/// The raw response to a request with these headers.
async fn raw(address: SocketAddr, method: &str, headers: &[&str]) -> String {
    let head = format!("{method} / HTTP/1.1\r\nconnection: close\r\n{}\r\n\r\n", headers.join("\r\n"));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

#[tokio::test]
async fn only_calls_signed_with_the_current_secret_are_answered() {
    let secret = Secret::random();
    let address = listening(&secret).await;

    assert!(tables(address, &secret).await.unwrap().contains(&"local-users".to_owned()));
    assert_eq!(tables(address, &Secret::random()).await.unwrap_err(), "UnrecognizedClientException");
}

#[tokio::test]
async fn browsers_and_other_host_names_are_rejected() {
    let address = listening(&Secret::random()).await;
    let ours = format!("host: {address}");
    let target = "x-amz-target: DynamoDB_20120810.ListTables";

    for (method, headers, status) in [
        ("POST", [ours.as_str(), "origin: https://evil.example", target], 403),
        ("POST", [ours.as_str(), "origin: http://localhost:3000", target], 403),
        ("POST", ["host: evil.example", "accept: */*", target], 421),
        ("OPTIONS", [ours.as_str(), "origin: https://evil.example", "access-control-request-method: POST"], 405),
        ("GET", [ours.as_str(), "accept: */*", target], 405),
        ("POST", [ours.as_str(), "accept: */*", target], 403),
    ] {
        let response = raw(address, method, &headers).await;

        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{method} {headers:?}: {response}");
        assert!(!response.to_lowercase().contains("access-control"), "{response}");
    }
}
