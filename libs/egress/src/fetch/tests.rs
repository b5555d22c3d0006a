use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use futures::TryStreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

const PATIENT: Duration = Duration::from_secs(25);

struct TestResponse {
    bytes: Vec<u8>,
    /// Whether the connection stays open, as if the server had more to send.
    stays: bool,
}

fn complete_response(head: &str, body: &[u8]) -> TestResponse {
    let head = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n", body.len());
    TestResponse { bytes: [head.as_bytes(), body].concat(), stays: true }
}

fn unfinished_response(body: &[u8]) -> TestResponse {
    let head = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n", body.len());
    TestResponse { bytes: [head.as_bytes(), body, b"\r\n"].concat(), stays: true }
}

fn redirect_to(location: &str) -> TestResponse {
    complete_response(&format!("302 Found\r\nlocation: {location}"), b"")
}

/// Serves on loopback; `respond` receives the request, starting with its path.
async fn serve(respond: impl Fn(&str) -> TestResponse + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let request = read_head(&mut stream).await;
            let response = respond(request.trim_start_matches("GET "));
            let _ = stream.write_all(&response.bytes).await;
            if response.stays {
                open.push(stream);
            }
        }
    });
    address
}

async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
        if !b"GET ".starts_with(&head[..head.len().min(4)]) {
            break;
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// May connect to this server and to public addresses.
fn fetcher(allowed: SocketAddr) -> Fetcher {
    Fetcher::new(AddressPolicy::Also(vec![allowed]), PATIENT)
}

async fn read(fetcher: &Fetcher, url: &str, max_bytes: u64) -> Result<Vec<u8>, FetchError> {
    let chunks: Vec<_> = fetcher.open(url, max_bytes).await?.into_stream().try_collect().await?;
    Ok(chunks.concat())
}

async fn fetch_error(fetcher: &Fetcher, url: &str) -> FetchError {
    fetcher.open(url, 1_000).await.unwrap_err()
}

fn assert_untouched(listener: TcpListener) {
    let accepted = listener.into_std().unwrap().accept();
    assert_eq!(accepted.unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[tokio::test]
async fn file_is_fetched_unchanged_by_a_plain_request() {
    let server = serve(|request| {
        let request = request.to_lowercase();
        let plain = request.starts_with("/a.png?size=1 http/1.1\r\n")
            && request.contains("user-agent: social-publishing/")
            && !["referer", "cookie", "authorization", "accept-encoding"]
                .iter()
                .any(|it| request.contains(&format!("\r\n{it}:")));
        if plain { complete_response("200 OK", b"bytes") } else { complete_response("400 Bad Request", b"") }
    })
    .await;

    let fetched = read(&fetcher(server), &format!("http://{server}/a.png?size=1#top"), 1_000).await;

    assert_eq!(fetched.unwrap(), b"bytes");
}

#[tokio::test]
async fn no_encoding_of_a_local_address_is_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let fetcher = Fetcher::new(AddressPolicy::PublicOnly, PATIENT);
    let hosts = [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "0177.0.0.1",
        "017700000001",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "127。0。0。1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
    ];

    for host in hosts {
        let refused = fetch_error(&fetcher, &format!("http://{host}:{port}/")).await;
        assert_eq!(refused, FetchError::NotPublic, "{host}");
    }
    // A name is resolved only for web ports.
    for name in ["localhost", "LOCALHOST", "ⓛocalhost"] {
        assert_eq!(fetch_error(&fetcher, &format!("http://{name}:{port}/")).await, FetchError::Port, "{name}");
        assert_eq!(fetch_error(&fetcher, &format!("http://{name}:8080/")).await, FetchError::NotPublic, "{name}");
    }
    assert_untouched(listener);
}

#[tokio::test]
async fn private_addresses_are_refused() {
    let fetcher = Fetcher::new(AddressPolicy::PublicOnly, PATIENT);
    let urls = [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/latest/meta-data/",
        "http://10.0.0.1/",
        "https://192.168.1.1/",
        "https://[fe80::1]/",
        "http://[2002:7f00:1::]/",
    ];
    for url in urls {
        assert_eq!(fetch_error(&fetcher, url).await, FetchError::NotPublic, "{url}");
    }
}

#[tokio::test]
async fn exception_applies_to_a_name_and_its_port_only() {
    let server = serve(|_| complete_response("200 OK", b"bytes")).await;
    let other = serve(|_| complete_response("200 OK", b"secret")).await;
    let also = ["127.0.0.1", "::1"].map(|it| SocketAddr::new(it.parse().unwrap(), server.port()));
    let fetcher = Fetcher::new(AddressPolicy::Also(also.to_vec()), PATIENT);

    let allowed = read(&fetcher, &format!("http://localhost:{}/", server.port()), 1_000).await;
    let refused = fetch_error(&fetcher, &format!("http://localhost:{}/", other.port())).await;

    assert_eq!(allowed.unwrap(), b"bytes");
    assert_eq!(refused, FetchError::Port);
    assert_eq!(fetch_error(&fetcher, "http://localhost:8080/").await, FetchError::NotPublic);
}

#[tokio::test]
async fn other_schemes_credentials_and_ports_are_refused() {
    let server = serve(|_| complete_response("200 OK", b"bytes")).await;
    let fetcher = fetcher(server);
    let cases = [
        (String::new(), FetchError::NotAUrl),
        ("a.png".to_owned(), FetchError::NotAUrl),
        ("http://".to_owned(), FetchError::NotAUrl),
        ("http://[::1".to_owned(), FetchError::NotAUrl),
        (format!("ftp://{server}/"), FetchError::Scheme),
        ("file:///etc/passwd".to_owned(), FetchError::Scheme),
        ("data:image/png;base64,AAAA".to_owned(), FetchError::Scheme),
        (format!("http://me@{server}/"), FetchError::Credentials),
        (format!("http://me:secret@{server}/"), FetchError::Credentials),
        (format!("http://:secret@{server}/"), FetchError::Credentials),
        ("http://127.0.0.1:0/".to_owned(), FetchError::Port),
        // Too long for a DNS label, so no query is sent.
        (format!("http://{}.example/", "a".repeat(64)), FetchError::UnknownHost),
    ];
    for (url, expected) in cases {
        assert_eq!(fetch_error(&fetcher, &url).await, expected, "{url}");
    }
}

#[tokio::test]
async fn redirect_target_is_checked_like_the_url() {
    let inside = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = inside.local_addr().unwrap().port();
    let server = serve(move |request| {
        redirect_to(&match request.split(' ').next().unwrap() {
            "/literal" => format!("http://127.0.0.1:{port}/"),
            "/encoded" => format!("http://0x7f.1:{port}/"),
            "/mapped" => format!("http://[::ffff:127.0.0.1]:{port}/"),
            "/name" => format!("http://localhost:{port}/"),
            "/relative" => format!("//127.0.0.1:{port}/"),
            "/file" => "file:///etc/passwd".to_owned(),
            "/credentials" => "http://me:secret@1.1.1.1/".to_owned(),
            _ => "http://[".to_owned(),
        })
    })
    .await;
    let fetcher = fetcher(server);
    let cases = [
        ("literal", FetchError::NotPublic),
        ("encoded", FetchError::NotPublic),
        ("mapped", FetchError::NotPublic),
        ("name", FetchError::Port),
        ("relative", FetchError::NotPublic),
        ("file", FetchError::Scheme),
        ("credentials", FetchError::Credentials),
        ("nonsense", FetchError::Status(302)),
    ];

    for (path, expected) in cases {
        assert_eq!(fetch_error(&fetcher, &format!("http://{server}/{path}")).await, expected, "{path}");
    }
    assert_untouched(inside);
}

#[tokio::test]
async fn at_most_five_redirects_are_followed() {
    let server = serve(|request| {
        let left = request[1..].split(' ').next().unwrap().parse::<u32>().unwrap();
        match left {
            0 => complete_response("200 OK", b"bytes"),
            _ => redirect_to(&(left - 1).to_string()),
        }
    })
    .await;
    let fetcher = fetcher(server);

    let five = read(&fetcher, &format!("http://{server}/5"), 1_000).await;
    let six = fetch_error(&fetcher, &format!("http://{server}/6")).await;

    assert_eq!(five.unwrap(), b"bytes");
    assert_eq!(six, FetchError::TooManyRedirects);
}

#[tokio::test]
async fn redirect_loop_ends() {
    let server = serve(|_| redirect_to("/")).await;
    let refused = fetch_error(&fetcher(server), &format!("http://{server}/")).await;
    assert_eq!(refused, FetchError::TooManyRedirects);
}

#[tokio::test]
async fn error_status_is_reported() {
    let server = serve(|request| match request.split(' ').next().unwrap() {
        "/missing" => complete_response("404 Not Found", b"nothing here"),
        "/broken" => complete_response("500 Internal Server Error", b""),
        "/unchanged" => complete_response("304 Not Modified\r\nlocation: /missing", b""),
        _ => complete_response("302 Found", b""),
    })
    .await;
    let fetcher = fetcher(server);
    for (path, status) in [("missing", 404), ("broken", 500), ("unchanged", 304), ("nowhere", 302)] {
        let refused = fetch_error(&fetcher, &format!("http://{server}/{path}")).await;
        assert_eq!(refused, FetchError::Status(status), "{path}");
    }
}

#[tokio::test]
async fn file_of_exactly_the_limit_is_fetched() {
    let server = serve(|_| complete_response("200 OK", &vec![7; 100_000])).await;
    let fetched = read(&fetcher(server), &format!("http://{server}/"), 100_000).await;
    assert_eq!(fetched.unwrap(), vec![7; 100_000]);
}

#[tokio::test]
async fn announced_size_over_the_limit_is_refused() {
    let server = serve(|_| complete_response("200 OK", &[7; 1_001])).await;
    let refused = fetch_error(&fetcher(server), &format!("http://{server}/")).await;
    assert_eq!(refused, FetchError::TooLarge { max_bytes: 1_000 });
}

#[tokio::test]
async fn unannounced_size_over_the_limit_is_refused() {
    let server = serve(|_| unfinished_response(&[7; 1_001])).await;
    let refused = read(&fetcher(server), &format!("http://{server}/"), 1_000).await;
    assert_eq!(refused, Err(FetchError::TooLarge { max_bytes: 1_000 }));
}

#[tokio::test]
async fn server_that_never_responds_hits_the_deadline() {
    let server = serve(|_| TestResponse { bytes: Vec::new(), stays: true }).await;
    let timeout = Duration::from_millis(50);
    let fetcher = Fetcher::new(AddressPolicy::Also(vec![server]), timeout);

    let refused = fetch_error(&fetcher, &format!("http://{server}/")).await;

    assert_eq!(refused, FetchError::Timeout { timeout });
}

#[tokio::test]
async fn stalled_file_hits_the_deadline() {
    let server = serve(|_| unfinished_response(b"the first bytes")).await;
    let timeout = Duration::from_secs(1);
    let fetcher = Fetcher::new(AddressPolicy::Also(vec![server]), timeout);

    let mut body = fetcher.open(&format!("http://{server}/"), 1_000).await.unwrap();
    let first = body.chunk().await;
    let second = body.chunk().await;

    assert_eq!(first.unwrap().unwrap(), "the first bytes");
    assert_eq!(second, Err(FetchError::Timeout { timeout }));
}

#[tokio::test]
async fn incomplete_file_is_an_error() {
    let server = serve(|request| {
        let mut response = if request.starts_with("/said") {
            complete_response("200 OK", &[7; 500])
        } else {
            unfinished_response(&[7; 500])
        };
        response.bytes.truncate(response.bytes.len() - 2);
        TestResponse { stays: false, ..response }
    })
    .await;
    let fetcher = fetcher(server);
    for path in ["said", "chunked"] {
        let broken = read(&fetcher, &format!("http://{server}/{path}"), 1_000).await;
        assert_eq!(broken, Err(FetchError::Interrupted), "{path}");
    }
}

#[tokio::test]
async fn closed_port_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let refused = fetch_error(&fetcher(address), &format!("http://{address}/")).await;
    assert_eq!(refused, FetchError::Unreachable);
}

#[tokio::test]
async fn server_without_tls_is_unreachable_by_https() {
    let server = serve(|_| complete_response("200 OK", b"bytes")).await;
    let refused = fetch_error(&fetcher(server), &format!("https://{server}/")).await;
    assert_eq!(refused, FetchError::Unreachable);
}

#[test]
fn messages_are_clauses_for_the_user() {
    let texts = [
        (FetchError::NotPublic, "the address of the URL is not public"),
        (FetchError::Status(404), "the server returned 404"),
        (FetchError::TooLarge { max_bytes: 1_000 }, "the file is larger than 1000 bytes"),
        (FetchError::TooManyRedirects, "too many redirects"),
        (FetchError::Timeout { timeout: FETCH_TIMEOUT }, "the download took longer than 25 seconds"),
    ];
    for (error, text) in texts {
        assert_eq!(error.to_string(), text);
    }
}
