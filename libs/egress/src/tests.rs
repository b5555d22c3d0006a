use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

fn build() -> ClientBuilder {
    Client::builder().user_agent("named by the caller")
}

fn egress_with_exceptions(addresses: &[SocketAddr]) -> Egress {
    Egress::new(AddressPolicy::Also(addresses.to_vec()), build)
}

/// A server on loopback that redirects every request and returns its user agent in a header.
async fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            let agent = head.lines().find_map(|it| it.strip_prefix("user-agent: ")).unwrap();
            let response = format!("HTTP/1.1 302 Found\r\nlocation: /\r\nagent: {agent}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(response.as_bytes()).await.unwrap();
        }
    });
    address
}

fn check_url(egress: &Egress, url: &str, schemes: Schemes) -> Result<(), EgressError> {
    egress.client(&Url::parse(url).unwrap(), schemes).map(|_| ())
}

async fn call(egress: &Egress, url: &str, schemes: Schemes) -> Result<u16, EgressError> {
    let url = Url::parse(url).unwrap();
    let response = egress.client(&url, schemes)?.get(url).send().await;
    response.map(|it| it.status().as_u16()).map_err(|error| Egress::refusal(&error).unwrap())
}

#[test]
fn url_is_checked_by_scheme_credentials_port_and_ip_address() {
    let egress = egress_with_exceptions(&["127.0.0.1:3000".parse().unwrap()]);
    // The expected results with `Schemes::Any` and with `Schemes::Encrypted`.
    let cases = [
        ("https://example.com/", Ok(()), Ok(())),
        ("https://8.8.8.8/", Ok(()), Ok(())),
        ("https://127.0.0.1:3000/", Ok(()), Ok(())),
        ("http://127.0.0.1:3000/", Ok(()), Ok(())),
        ("http://example.com/", Ok(()), Err(EgressError::Scheme)),
        ("http://8.8.8.8/", Ok(()), Err(EgressError::Scheme)),
        ("http://8.8.8.8:3000/", Ok(()), Err(EgressError::Scheme)),
        ("http://127.0.0.2:3000/", Err(EgressError::NotPublic), Err(EgressError::Scheme)),
        ("http://127.0.0.1:3001/", Err(EgressError::NotPublic), Err(EgressError::Scheme)),
        ("https://127.0.0.2:3000/", Err(EgressError::NotPublic), Err(EgressError::NotPublic)),
        ("https://127.0.0.1/", Err(EgressError::NotPublic), Err(EgressError::NotPublic)),
        ("https://[::1]:3000/", Err(EgressError::NotPublic), Err(EgressError::NotPublic)),
        ("ftp://8.8.8.8/", Err(EgressError::Scheme), Err(EgressError::Scheme)),
        ("data:text/plain,", Err(EgressError::Scheme), Err(EgressError::Scheme)),
        ("https://me@8.8.8.8/", Err(EgressError::Credentials), Err(EgressError::Credentials)),
        ("https://:secret@8.8.8.8/", Err(EgressError::Credentials), Err(EgressError::Credentials)),
        ("https://8.8.8.8:0/", Err(EgressError::Port), Err(EgressError::Port)),
        ("https://example.com:8443/", Ok(()), Ok(())),
        ("https://example.com:443/", Ok(()), Ok(())),
        ("http://example.com:8080/", Ok(()), Err(EgressError::Scheme)),
        ("https://example.com:22/", Err(EgressError::Port), Err(EgressError::Port)),
        ("https://8.8.8.8:6379/", Err(EgressError::Port), Err(EgressError::Port)),
        ("https://[2606:4700:4700::1111]:8444/", Err(EgressError::Port), Err(EgressError::Port)),
    ];
    for (url, any, encrypted) in cases {
        assert_eq!(check_url(&egress, url, Schemes::Any), any, "{url}");
        assert_eq!(check_url(&egress, url, Schemes::Encrypted), encrypted, "{url}");
    }
}

#[tokio::test]
async fn http_name_is_called_only_if_all_its_addresses_are_exceptions() {
    let server = serve().await;
    let at = |host: &str| SocketAddr::new(host.parse().unwrap(), server.port());
    let url = format!("http://localhost:{}/", server.port());

    let excepted = egress_with_exceptions(&[at("127.0.0.1"), at("::1")]);
    let another = egress_with_exceptions(&[at("127.0.0.2")]);

    assert_eq!(call(&excepted, &url, Schemes::Encrypted).await, Ok(302));
    assert_eq!(call(&another, &url, Schemes::Encrypted).await, Err(EgressError::Scheme));
    assert_eq!(call(&another, &url, Schemes::Any).await, Err(EgressError::NotPublic));
}

#[tokio::test]
async fn name_that_resolves_to_loopback_is_not_called() {
    let egress = Egress::new(AddressPolicy::PublicOnly, build);
    for schemes in [Schemes::Any, Schemes::Encrypted] {
        assert_eq!(call(&egress, "https://localhost/", schemes).await, Err(EgressError::NotPublic));
    }
}

#[tokio::test]
async fn call_has_callers_user_agent_and_follows_no_redirect() {
    let server = serve().await;
    let url = Url::parse(&format!("http://{server}/")).unwrap();
    let egress = egress_with_exceptions(&[server]);

    let response = egress.client(&url, Schemes::Any).unwrap().get(url).send().await.unwrap();

    assert_eq!(response.status(), 302);
    assert_eq!(response.headers()["agent"], "named by the caller");
}

#[tokio::test]
async fn unreachable_server_is_not_an_egress_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let url = Url::parse(&format!("http://{address}/")).unwrap();
    let egress = egress_with_exceptions(&[address]);

    let failed = egress.client(&url, Schemes::Any).unwrap().get(url).send().await.unwrap_err();

    assert_eq!(Egress::refusal(&failed), None);
}
