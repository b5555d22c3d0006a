//! Attacks of a web page, of another machine on the network, or of a tunnel's visitor on `cargo
//! dev`.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::SystemTime,
};

use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{PayloadChecksumKind, SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use reqwest::{Client, Method, RequestBuilder, StatusCode, header};
use tokio::net::TcpStream;

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    browser::Browser,
    deployment::{Deployment, unique_email},
    ensure,
    error::{Result, TestError},
    harness::{Harness, LIFTED},
    http_response::text,
    picture,
};

/// The public origin of a tunnel to the service.
const OUTSIDE: &str = "https://app.sps-tunnel.example";

const LIST: Option<&str> = Some("ListTables");

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(5, [
        "every port of the process is searched for the database", "one port is open, and it is not a database" => port_scan;
        "a page calls the database that --dynamodb-port opens", "403 with an Origin, 421 for another host name, no CORS" => cross_origin_database_call;
        "the database is called with well-known keys", "denied; the printed keys work" => well_known_keys;
        "a rebound host name reads the API and the sandbox", "421 and nothing else" => dns_rebinding;
        "a page posts to the sandbox with a browser", "403, and no fault is armed" => cross_site_post;
        "the sandbox, the issuer and /dev are opened through a tunnel", "404 for every host name, forwarded or not" => development_routes_through_tunnel;
        "a file is read with the store's well-known secret", "403" => well_known_file_secret;
        "a user signs in where --origin names a tunnel", "signed in, by a browser of this machine" => sign_in_through_tunnel;
    ])
}

/// Sends a request with this `Host`.
async fn get_status_for_host(deployment: &Deployment, method: Method, path: &str, host: &str) -> Result<StatusCode> {
    let request =
        deployment.http().request(method, format!("{}{path}", deployment.origin())).header(header::HOST, host);
    Ok(request.send().await?.status())
}

/// The loopback ports on which the process with this id listens.
fn listening_ports(process: u32) -> Result<Vec<u16>> {
    let mut sockets = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{process}/fd"))? {
        let Ok(target) = std::fs::read_link(entry?.path()) else { continue };
        let name = target.to_string_lossy().into_owned();
        sockets.extend(name.strip_prefix("socket:[").map(|it| it.trim_end_matches(']').to_owned()));
    }
    let mut ports = Vec::new();
    for table in ["tcp", "tcp6"] {
        for line in std::fs::read_to_string(format!("/proc/{process}/net/{table}"))?.lines().skip(1) {
            let fields: Vec<_> = line.split_whitespace().collect();
            // 0A is LISTEN; the tenth field is the socket's inode.
            let ([_, local, _, "0A", ..], Some(inode)) = (fields.as_slice(), fields.get(9)) else { continue };
            if sockets.iter().any(|it| it == inode) {
                let port = local.rsplit(':').next().and_then(|it| u16::from_str_radix(it, 16).ok());
                ports.extend(port);
            }
        }
    }
    Ok(ports)
}

async fn port_scan(_: &AttackTargets) -> Result<String> {
    let stack = Harness::start(&[]).await?;
    let ports = listening_ports(stack.id())?;
    ensure!(!ports.is_empty(), "not even the service listens");
    for port in &ports {
        let url = format!("http://127.0.0.1:{port}/");
        let listed = plain_client()?
            .post(&url)
            .header("x-amz-target", "DynamoDB_20120810.ListTables")
            .header("content-type", "application/x-amz-json-1.0")
            .header("authorization", "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
            .header("x-amz-date", "20260101T000000Z")
            .header(header::ORIGIN, "https://evil.example")
            .body("{}")
            .send()
            .await?;
        let (status, body) = (listed.status(), listed.text().await?);
        ensure!(!status.is_success(), "port {port}: {status} {body}");
    }
    ensure!(ports.len() == 1, "it listens at {ports:?}");
    Ok(format!("{} port, no database", ports.len()))
}

fn plain_client() -> Result<Client> {
    Ok(Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build()?)
}

async fn cross_origin_database_call(_: &AttackTargets) -> Result<String> {
    let stack = Harness::start(&["--dynamodb-port", "0"]).await?;
    let url = text(stack.stores(), "dynamodb")?;
    let mut statuses = Vec::new();
    for (method, name, value) in [
        (Method::POST, header::ORIGIN, "https://evil.example"),
        (Method::POST, header::ORIGIN, "http://localhost:3000"),
        (Method::OPTIONS, header::ORIGIN, "https://evil.example"),
        (Method::POST, header::HOST, "evil.example"),
    ] {
        let request = plain_client()?.request(method, url).header(name, value).body("{}");
        let answer = request.header("x-amz-target", "DynamoDB_20120810.ListTables").send().await?;
        let status = answer.status();
        ensure!(matches!(status.as_u16(), 403 | 405 | 421), "{value}: {status}");
        ensure!(!answer.headers().contains_key("access-control-allow-origin"), "{value}: CORS");
        statuses.push(status.as_str().to_owned());
    }
    let port = url.rsplit(':').next().and_then(|it| it.parse().ok()).unwrap_or_default();
    for address in other_addresses()? {
        let reached = TcpStream::connect(SocketAddr::from((address, port))).await;
        ensure!(reached.is_err(), "the database listens at {address}");
    }
    Ok(statuses.join(", "))
}

/// Addresses of this machine that other machines can reach.
fn other_addresses() -> Result<Vec<Ipv4Addr>> {
    // Sends no packet; it only determines which address would be used.
    let socket = std::net::UdpSocket::bind(("0.0.0.0", 0))?;
    let local_address = socket.connect(("192.0.2.1", 9)).and_then(|()| socket.local_addr());
    Ok(match local_address {
        Ok(SocketAddr::V4(it)) if !it.ip().is_loopback() && !it.ip().is_unspecified() => vec![*it.ip()],
        _ => Vec::new(),
    })
}

/// A request that is signed with these keys.
pub(super) fn signed(
    method: &Method,
    url: &str,
    service: &str,
    (access_key, secret): (&str, &str),
    operation: Option<&str>,
    body: &str,
) -> Result<RequestBuilder> {
    let identity = Credentials::new(access_key, secret, None, None, "attack").into();
    let mut settings = SigningSettings::default();
    settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region("us-east-1")
        .name(service)
        .time(SystemTime::now())
        .settings(settings)
        .build()
        .map_err(|it| TestError::new(it.to_string()))?;
    let target = operation.map(|it| format!("DynamoDB_20120810.{it}"));
    let headers: Vec<_> = target.iter().map(|it| ("x-amz-target", it.as_str())).collect();
    let request =
        SignableRequest::new(method.as_str(), url, headers.iter().copied(), SignableBody::Bytes(body.as_bytes()));
    let instructions = request.and_then(|it| sign(it, &params.into())).map_err(|it| TestError::new(it.to_string()))?;
    let mut request = plain_client()?.request(method.clone(), url).body(body.to_owned());
    for (name, value) in headers.into_iter().chain(instructions.output().headers()) {
        request = request.header(name, value);
    }
    Ok(request)
}

async fn well_known_keys(_: &AttackTargets) -> Result<String> {
    let stack = Harness::start(&["--dynamodb-port", "0"]).await?;
    let (url, secret) = (format!("{}/", text(stack.stores(), "dynamodb")?), text(stack.stores(), "secret")?);
    for keys in [("local", "local-secret"), ("local", ""), ("a", "b"), ("a", secret)] {
        let status = signed(&Method::POST, &url, "dynamodb", keys, LIST, "{}")?.send().await?.status();
        ensure!(status == StatusCode::FORBIDDEN, "{keys:?}: {status}");
    }
    let listed = signed(&Method::POST, &url, "dynamodb", ("local", secret), LIST, "{}")?.send().await?;
    let (status, tables) = (listed.status(), listed.text().await?);
    ensure!(status.is_success() && tables.contains("local-users"), "the printed keys: {status} {tables}");
    Ok("403 to all 4; the printed keys work".to_owned())
}

async fn dns_rebinding(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let port = deployment.origin().rsplit(':').next().unwrap_or_default();
    let hosts = ["evil.example".to_owned(), format!("evil.example:{port}"), format!("localhost.evil.example:{port}")];
    let mut tried = 0;
    for host in &hosts {
        for path in ["/docs", "/api/v1/user", "/sandbox", "/sandbox/posts.json", "/dev/events", "/dev-issuer/jwks"] {
            let status = get_status_for_host(deployment, Method::GET, path, host).await?;
            ensure!(status == StatusCode::MISDIRECTED_REQUEST, "{host}{path}: {status}");
            tried += 1;
        }
    }
    let own_host = format!("127.0.0.1:{port}");
    let status = get_status_for_host(deployment, Method::GET, "/sandbox/posts.json", &own_host).await?;
    ensure!(status.is_success(), "{own_host} is ours: {status}");
    Ok(format!("421 to all {tried}"))
}

async fn cross_site_post(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    for site in ["cross-site", "same-site"] {
        let response = deployment
            .http()
            .post(format!("{}/sandbox/faults", deployment.origin()))
            .header("sec-fetch-site", site)
            .header("content-type", "application/json")
            .body(r#"{"account":"nobody","kind":"refuse","count":1}"#)
            .send()
            .await?;
        ensure!(response.status() == StatusCode::FORBIDDEN, "{site}: {}", response.status());
    }
    Ok("403 from another site and from another port".to_owned())
}

/// A free address for the local end of a tunnel.
fn free_tunnel_address() -> Result<SocketAddr> {
    Ok(std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// A stack that serves a tunnel at this address.
async fn start_behind_tunnel(origin: &str, tunnel: SocketAddr) -> Result<(Harness, Deployment)> {
    let port = tunnel.port().to_string();
    let mut arguments = vec!["--origin", origin, "--origin-port", &port];
    arguments.extend(LIFTED);
    let stack = Harness::start(&arguments).await?;
    let deployment = Deployment::new(stack.ready().clone()).await?;
    Ok((stack, deployment))
}

async fn development_routes_through_tunnel(_: &AttackTargets) -> Result<String> {
    let tunnel = free_tunnel_address()?;
    let (_stack, deployment) = start_behind_tunnel(OUTSIDE, tunnel).await?;
    let name = OUTSIDE.trim_start_matches("https://");
    let local = deployment.origin().trim_start_matches("http://").to_owned();
    let paths = [
        "/sandbox",
        "/sandbox/posts.json",
        "/sandbox/switches",
        "/%73andbox",
        "//sandbox",
        "/dev/events",
        "/dev-issuer/authorize",
        "/dev-issuer/.well-known/openid-configuration",
    ];
    // A tunnel forwards its public host name, its target's, or the visitor's, and may add the
    // original host.
    let (target, forwarded) = (tunnel.to_string(), [None, Some(("x-forwarded-host", name))]);
    for host in [name, &target, &local] {
        for extra_header in forwarded {
            let get_status = async |path: &str| {
                let request = deployment.http().get(format!("http://{tunnel}{path}")).header(header::HOST, host);
                let request = extra_header.into_iter().fold(request, |it, (name, value)| it.header(name, value));
                Ok::<_, TestError>(request.send().await?.status())
            };
            for path in paths {
                let status = get_status(path).await?;
                ensure!(status == StatusCode::NOT_FOUND, "{path} as {host}, {extra_header:?}: {status}");
            }
            for path in ["/docs", "/account", "/device"] {
                let status = get_status(path).await?;
                ensure!(status.is_success() || status.is_redirection(), "{path} as {host}, {extra_header:?}: {status}");
            }
        }
    }
    for (header, value) in [("host", name), ("x-forwarded-for", "203.0.113.9")] {
        let status = deployment
            .http()
            .get(format!("{}/sandbox", deployment.origin()))
            .header(header, value)
            .send()
            .await?
            .status();
        ensure!(status == StatusCode::MISDIRECTED_REQUEST, "a tunnel to the port of this machine, {header}: {status}");
    }
    Ok(format!("404 to all {} under three names, and the pages are there", paths.len()))
}

async fn well_known_file_secret(deployments: &AttackTargets) -> Result<String> {
    let deployment = deployments.lifted();
    let user = deployment.new_user().await?;
    let path = user.upload("image/png", &picture::png(4, 4, [0, 0, 0])).await?;
    let url = format!("{}/social-publishing-media/{path}", deployment.origin());
    let status = signed(&Method::GET, &url, "s3", ("local", "local-secret"), None, "")?.send().await?.status();
    ensure!(status == StatusCode::FORBIDDEN, "with a well-known secret: {status}");
    let status = deployment.http().get(&url).send().await?.status();
    ensure!(status == StatusCode::FORBIDDEN, "without a signature: {status}");
    Ok("403, and without a signature likewise".to_owned())
}

/// The browser uses the tunnel.
async fn sign_in_through_tunnel(_: &AttackTargets) -> Result<String> {
    let (name, tunnel) = ("app.sps-tunnel.example", free_tunnel_address()?);
    let origin = format!("http://{name}:{}", tunnel.port());
    let (_stack, deployment) = start_behind_tunnel(&origin, tunnel).await?;
    let http = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).resolve(name, tunnel);
    let mut browser = Browser::new(http.build()?);
    let page = deployment.sign_in(&mut browser, &format!("{origin}/account"), &unique_email()).await?;
    ensure!(page.status.is_success(), "{}", page.test_error("not signed in"));
    let ended_at = page.url.origin().ascii_serialization();
    ensure!(ended_at == origin, "the person ended on {}", page.url);
    Ok(format!("{} on {}", page.status, page.url))
}
