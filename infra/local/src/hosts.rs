//! The host names that requests to this process may have.
//!
//! A web page can let its own domain name resolve to this machine and then read the responses (DNS rebinding). So the
//! port for this machine accepts only requests that name this machine. The port of `--origin-port`, to which a tunnel
//! points, accepts every name: it serves only public routes.

use std::net::IpAddr;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, Method, StatusCode, header};
use url::{Origin, Url};

use crate::error::LocalError;

/// The name by which containers reach the machine that they run on.
const FROM_CONTAINERS: &str = "host.docker.internal";

/// Headers that proxies and tunnels add.
const FORWARDED: [&str; 3] = ["forwarded", "x-forwarded-for", "x-forwarded-host"];

#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    names: Vec<String>,
    refuses_forwarded: bool,
}

impl Hosts {
    /// `also` is an address on the network of containers: adds that address, and the machine's name
    /// there.
    pub(crate) fn new(port: u16, also: Option<IpAddr>) -> Self {
        let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()];
        names.extend(also.iter().map(|it| match it {
            IpAddr::V4(it) => it.to_string(),
            IpAddr::V6(it) => format!("[{it}]"),
        }));
        names.extend(also.map(|_| FROM_CONTAINERS.to_owned()));
        // Browsers omit the default port of the scheme.
        let bare = if port == 80 { names.clone() } else { Vec::new() };
        let names = names.into_iter().map(|it| format!("{it}:{port}")).chain(bare).collect();
        Self { names, refuses_forwarded: false }
    }

    /// Makes [`Self::name`] reject requests that a proxy or tunnel marks as forwarded, so that a
    /// tunnel to the wrong port is noticed.
    pub(crate) fn refusing_forwarded(self, refuses_forwarded: bool) -> Self {
        Self { refuses_forwarded, ..self }
    }

    pub(crate) fn name<B>(&self, request: &http::Request<B>) -> bool {
        let is_forwarded = FORWARDED.iter().any(|it| request.headers().contains_key(*it));
        let is_ours = host(request).is_some_and(|it| self.names.contains(&it));
        is_ours && !(self.refuses_forwarded && is_forwarded)
    }
}

/// The host of a request, in lower case; `None` if the request names two different hosts.
fn host<B>(request: &http::Request<B>) -> Option<String> {
    let mut named = request.headers().get_all(header::HOST).iter();
    let (first, more) = (named.next().and_then(|it| it.to_str().ok()), named.next().is_some());
    let uri = request.uri().authority().map(http::uri::Authority::as_str);
    let is_contradictory = first.zip(uri).is_some_and(|(first, uri)| !first.eq_ignore_ascii_case(uri));
    (!more && !is_contradictory).then(|| first.or(uri).unwrap_or_default().to_ascii_lowercase())
}

/// Redirects a browser that opened a page by a loopback address: cookies, links and redirect URIs belong to `origin`,
/// which is on `localhost`. `None` for programs, and for anything but a page.
pub(crate) fn redirect_to_origin<B>(request: &http::Request<B>, origin: &str) -> Option<Response> {
    let host = host(request)?;
    let is_loopback = host.starts_with("127.0.0.1") || host.starts_with("[::1]");
    let accepted = request.headers().get(header::ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let is_page = matches!(*request.method(), Method::GET | Method::HEAD) && accepted.contains("text/html");
    let path = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    (is_loopback && is_page).then(|| Redirect::temporary(&format!("{origin}{path}")).into_response())
}

pub(crate) fn misdirected(origin: &str) -> Response {
    let text = format!(
        "cargo dev is served at {origin}. For another address, start it with --origin URL, and point the tunnel to the \
         port that it prints.\n"
    );
    (StatusCode::MISDIRECTED_REQUEST, text).into_response()
}

/// Rejects requests that a page of another origin makes a browser send. For routes that change
/// something without authentication.
pub(crate) async fn reject_cross_site(request: Request, next: Next) -> Response {
    if request.method() != Method::GET && request.method() != Method::HEAD && is_cross_site(request.headers()) {
        let text = "Only programs and the pages of cargo dev may send this request.\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    next.run(request).await
}

/// Browsers set `sec-fetch-site`, programs do not.
fn is_cross_site(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|it| it != "same-origin" && it != "none")
}

/// Parses the origin of `--origin`, in the form that browsers use.
pub(crate) fn parse_origin(raw: &str) -> Result<String, LocalError> {
    let invalid = || LocalError::Origin(raw.to_owned());
    let url = Url::parse(raw).map_err(|_| invalid())?;
    let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    match url.origin() {
        origin @ Origin::Tuple(..) if bare && matches!(url.scheme(), "http" | "https") => {
            Ok(origin.ascii_serialization())
        }
        _ => Err(invalid()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(hosts: &Hosts, host: &str) -> bool {
        hosts.name(&http::Request::builder().uri("/").header("host", host).body(()).unwrap())
    }

    #[test]
    fn only_own_host_names_and_port_match() {
        let hosts = Hosts::new(3000, None);
        for host in ["localhost:3000", "LocalHost:3000", "127.0.0.1:3000", "[::1]:3000"] {
            assert!(names(&hosts, host), "{host}");
        }
        let others = [
            "",
            "localhost",
            "localhost:3001",
            "localhost:80",
            "evil.example",
            "evil.example:3000",
            "localhost.evil.example:3000",
            "127.0.0.1.nip.io:3000",
            "127.0.0.2:3000",
            "0.0.0.0:3000",
            "host.docker.internal:3000",
            "localhost:3000@evil.example",
            "localhost.:3000",
        ];
        for host in others {
            assert!(!names(&hosts, host), "{host}");
        }
    }

    #[test]
    fn a_page_opened_by_a_loopback_address_is_redirected_to_localhost() {
        let redirected = |method, host, accept| {
            let request = http::Request::builder().method(method).uri("/account?a=b").header("host", host);
            let response =
                redirect_to_origin(&request.header("accept", accept).body(()).unwrap(), "http://localhost:3000");
            response.map(|it| it.headers()[header::LOCATION].to_str().unwrap().to_owned())
        };
        let page = "text/html,application/xhtml+xml";
        for host in ["127.0.0.1:3000", "[::1]:3000"] {
            assert_eq!(redirected("GET", host, page).as_deref(), Some("http://localhost:3000/account?a=b"));
        }
        assert_eq!(redirected("GET", "localhost:3000", page), None);
        assert_eq!(redirected("GET", "127.0.0.1:3000", "*/*"), None, "a program");
        assert_eq!(redirected("POST", "127.0.0.1:3000", page), None);
    }

    #[test]
    fn a_request_that_names_two_hosts_is_refused() {
        let hosts = Hosts::new(3000, None);
        let twice = http::Request::builder().uri("/").header("host", "localhost:3000").header("host", "evil.example");
        assert!(!hosts.name(&twice.body(()).unwrap()));
        let both = http::Request::builder().uri("http://evil.example/").header("host", "localhost:3000");
        assert!(!hosts.name(&both.body(()).unwrap()));
    }

    #[test]
    fn containers_may_use_the_listen_address() {
        let hosts = Hosts::new(8000, Some([172, 17, 0, 1].into()));
        for host in ["host.docker.internal:8000", "172.17.0.1:8000", "localhost:8000"] {
            assert!(names(&hosts, host), "{host}");
        }
    }

    #[test]
    fn a_tunnel_to_the_wrong_port_is_noticed() {
        for (refuses, is_served) in [(true, false), (false, true)] {
            let hosts = Hosts::new(3000, None).refusing_forwarded(refuses);
            assert!(names(&hosts, "localhost:3000"));
            for name in FORWARDED {
                let request = http::Request::builder().header("host", "localhost:3000").header(name, "203.0.113.9");
                assert_eq!(hosts.name(&request.body(()).unwrap()), is_served, "{name}");
            }
        }
    }

    #[test]
    fn an_origin_is_a_scheme_and_a_host() {
        assert_eq!(parse_origin("https://App.Example/").unwrap(), "https://app.example");
        assert_eq!(parse_origin("http://127.0.0.1:8080").unwrap(), "http://127.0.0.1:8080");
        for raw in ["app.example", "https://app.example/x", "https://me@app.example", "ftp://app.example", "https://?"]
        {
            assert!(parse_origin(raw).is_err(), "{raw}");
        }
    }

    #[test]
    fn cross_site_requests_are_detected() {
        for (site, foreign) in [("cross-site", true), ("same-site", true), ("same-origin", false), ("none", false)] {
            let headers = HeaderMap::from_iter([("sec-fetch-site".parse().unwrap(), site.parse().unwrap())]);
            assert_eq!(is_cross_site(&headers), foreign, "{site}");
        }
        assert!(!is_cross_site(&HeaderMap::new()));
    }
}
