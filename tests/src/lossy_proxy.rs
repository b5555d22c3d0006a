//! A proxy on loopback that loses responses: the server acts on the request, but the client only
//! sees the connection end.

use std::{
    future,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use chrono::{DateTime, Utc};
use tokio::{
    io::{self, AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

use crate::error::Result;

/// The port of a proxy without a server yet, because some servers must know the port when they
/// start. Clients that connect earlier wait.
pub struct ProxyPort {
    listener: TcpListener,
    address: SocketAddr,
}

impl ProxyPort {
    pub async fn take() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    pub fn number(&self) -> u16 {
        self.address.port()
    }

    /// Forwards to this server from now on, until the process ends.
    pub fn forward_to(self, server: SocketAddr) -> LossyProxy {
        let proxy = LossyProxy { address: self.address, state: Arc::default() };
        let state = Arc::clone(&proxy.state);
        tokio::spawn(async move {
            while let Ok((client, _)) = self.listener.accept().await {
                tokio::spawn(forward_connection(client, server, Arc::clone(&state)));
            }
        });
        proxy
    }
}

#[derive(Clone)]
pub struct LossyProxy {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

/// A request that arrived.
#[derive(Clone, Debug)]
pub struct ProxiedRequest {
    pub line: String,
    pub at: DateTime<Utc>,
}

#[derive(Default)]
struct State {
    /// All requests in the order in which they arrived.
    requests: Vec<ProxiedRequest>,
    orders: Vec<PlannedLoss>,
}

struct PlannedLoss {
    part: String,
    /// How many matching requests pass before the first one whose response is lost.
    passes: usize,
    left: usize,
}

impl LossyProxy {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Loses the responses to the next `times` requests whose request line contains `part`, such as
    /// `POST /path`. Several orders add up.
    pub fn lose(&self, times: usize, part: &str) {
        self.order(0, times, part);
    }

    /// Loses the response to one such request, after this many have passed.
    pub fn lose_after(&self, passes: usize, part: &str) {
        self.order(passes, 1, part);
    }

    fn order(&self, passes: usize, times: usize, part: &str) {
        let planned = PlannedLoss { part: part.to_owned(), passes, left: times };
        self.change(|state| state.orders.push(planned));
    }

    /// The requests that arrived since then.
    pub fn requests_since(&self, time: DateTime<Utc>) -> Vec<ProxiedRequest> {
        self.change(|state| state.requests.iter().filter(|it| time <= it.at).cloned().collect())
    }

    /// The number of requests whose request line contains `part`, including lost ones.
    pub fn request_count(&self, part: &str) -> usize {
        self.change(|state| state.requests.iter().filter(|it| it.line.contains(part)).count())
    }

    /// The number of orders that no request has met yet.
    pub fn unmet(&self) -> usize {
        self.change(|state| state.orders.iter().map(|it| it.left).sum())
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    /// Counts a request. Returns whether its response is lost.
    fn note(&mut self, first_line: String) -> bool {
        let planned = self.orders.iter_mut().find(|it| 0 < it.left && first_line.contains(&it.part));
        let is_lost = match planned {
            Some(planned) if 0 < planned.passes => {
                planned.passes -= 1;
                false
            }
            Some(planned) => {
                planned.left -= 1;
                true
            }
            None => false,
        };
        self.requests.push(ProxiedRequest { line: first_line, at: Utc::now() });
        is_lost
    }
}

async fn forward_connection(client: TcpStream, server: SocketAddr, state: Arc<Mutex<State>>) -> io::Result<()> {
    let (from_server, to_server) = TcpStream::connect(server).await?.into_split();
    let (from_client, mut to_client) = client.into_split();
    let connection = ConnectionState { answered: AtomicBool::new(true), is_lost: AtomicBool::new(false) };
    let requests = async {
        // A server may respond before it has read the whole request and then stop reading. Its
        // response must arrive nevertheless.
        let _ = forward_requests(from_client, to_server, &connection, &state).await;
        future::pending().await
    };
    tokio::select! {
        ended = forward_responses(from_server, &mut to_client, &connection) => ended,
        ended = requests => ended,
    }
}

/// State of a connection: the first bytes from the client after a response begin a new request.
struct ConnectionState {
    answered: AtomicBool,
    is_lost: AtomicBool,
}

/// Forwards requests to the server until the client sends no more.
async fn forward_requests(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    connection: &ConnectionState,
    state: &Mutex<State>,
) -> io::Result<()> {
    let mut bytes = vec![0; 64 * 1024];
    let mut line = None;
    loop {
        let count = client.read(&mut bytes).await?;
        if count == 0 {
            return server.shutdown().await;
        }
        if connection.answered.swap(false, Ordering::SeqCst) {
            line = Some(Vec::new());
        }
        if let Some(mut partial_line) = line.take() {
            let rest = &bytes[..count];
            let end = rest.iter().position(|it| *it == b'\n');
            partial_line.extend_from_slice(&rest[..end.unwrap_or(count)]);
            match end {
                // The loss is decided before the server can have the whole request.
                Some(_) => {
                    let first_line = String::from_utf8_lossy(&partial_line).trim_end().to_owned();
                    let is_lost = state.lock().unwrap_or_else(PoisonError::into_inner).note(first_line);
                    connection.is_lost.store(is_lost, Ordering::SeqCst);
                }
                None => line = Some(partial_line),
            }
        }
        server.write_all(&bytes[..count]).await?;
    }
}

async fn forward_responses(
    mut server: OwnedReadHalf,
    client: &mut OwnedWriteHalf,
    connection: &ConnectionState,
) -> io::Result<()> {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let count = server.read(&mut bytes).await?;
        // Once the server responds, it has acted on the request.
        if count == 0 || connection.is_lost.load(Ordering::SeqCst) {
            return Ok(());
        }
        connection.answered.store(true, Ordering::SeqCst);
        client.write_all(&bytes[..count]).await?;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use axum::{Router, body::Bytes, extract::DefaultBodyLimit, routing::post};
    use reqwest::Client;

    use super::*;

    /// A proxy before a server that counts POST requests.
    async fn start_proxied_server() -> (LossyProxy, Arc<AtomicUsize>) {
        let posted = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&posted);
        let count = move |body: Bytes| async move {
            counter.fetch_add(1, Ordering::SeqCst);
            body.len().to_string()
        };
        let router =
            Router::new().route("/posts", post(count).get(|| async { "many" })).layer(DefaultBodyLimit::disable());
        let port = ProxyPort::take().await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = port.forward_to(listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (proxy, posted)
    }

    fn url(proxy: &LossyProxy, path: &str) -> String {
        format!("http://{}{path}", proxy.address())
    }

    fn client() -> Client {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Client::builder().no_proxy().build().unwrap()
    }

    #[tokio::test]
    async fn lost_response_closes_the_connection_after_the_server_acted() {
        let (proxy, posted) = start_proxied_server().await;
        let client = client();
        proxy.lose(1, "POST /posts");

        let read = client.get(url(&proxy, "/posts")).send().await.unwrap().text().await.unwrap();
        let lost = client.post(url(&proxy, "/posts")).body("a").send().await;
        let repeated = client.post(url(&proxy, "/posts")).body("ab").send().await.unwrap().text().await.unwrap();

        assert_eq!(read, "many");
        assert!(!lost.unwrap_err().is_connect());
        assert_eq!(repeated, "2");
        assert_eq!(posted.load(Ordering::SeqCst), 2);
        assert_eq!((proxy.request_count("POST /posts"), proxy.request_count("/posts"), proxy.unmet()), (2, 3, 0));
    }

    #[tokio::test]
    async fn fault_of_a_later_request_lets_earlier_ones_pass() {
        let (proxy, posted) = start_proxied_server().await;
        let client = client();
        let began = Utc::now();
        proxy.lose_after(1, "POST /posts");

        let mut arrived = Vec::new();
        for _ in 0..3 {
            arrived.push(client.post(url(&proxy, "/posts")).body("a").send().await.is_ok());
        }

        assert_eq!((arrived, posted.load(Ordering::SeqCst)), (vec![true, false, true], 3));
        assert_eq!((proxy.unmet(), proxy.requests_since(began).len()), (0, 3));
        assert_eq!(proxy.requests_since(Utc::now()).len(), 0);
    }

    #[tokio::test]
    async fn requests_on_one_connection_are_separated() {
        let (proxy, _) = start_proxied_server().await;
        let client = client();
        let long = "x".repeat(3_000_000);

        for _ in 0..5 {
            let response = client.post(url(&proxy, "/posts")).body(long.clone()).send().await.unwrap();
            assert_eq!(response.text().await.unwrap(), "3000000");
        }

        assert_eq!(proxy.request_count("POST /posts HTTP/1.1"), 5);
        assert_eq!(proxy.request_count(""), 5);
    }

    #[tokio::test]
    async fn early_response_is_forwarded() {
        let port = ProxyPort::take().await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = port.forward_to(listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                stream.read_exact(&mut [0; 100]).await.unwrap();
                stream.write_all(b"HTTP/1.1 413 Payload Too Large\r\n\r\n").await.unwrap();
            }
        });

        // It is random which of its two connections a proxy sees end first, so this is repeated.
        for _ in 0..20 {
            let (mut from, mut to) = TcpStream::connect(proxy.address()).await.unwrap().into_split();
            let request = tokio::spawn(async move { to.write_all(&vec![b'\n'; 5_000_000]).await });
            let mut response = Vec::new();
            let _ = from.read_to_end(&mut response).await;
            request.abort();

            assert!(response.starts_with(b"HTTP/1.1 413"), "{:?}", String::from_utf8_lossy(&response));
        }
    }

    #[tokio::test]
    async fn split_request_line_is_joined() {
        let (proxy, _) = start_proxied_server().await;
        proxy.lose(1, "POST /posts");
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        stream.set_nodelay(true).unwrap();

        for piece in ["PO", "ST /po", "sts HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n", "\r\n"] {
            stream.write_all(piece.as_bytes()).await.unwrap();
            tokio::task::yield_now().await;
        }
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response).await;

        assert_eq!(response, b"");
        assert_eq!(proxy.request_count("POST /posts"), 1);
    }
}
