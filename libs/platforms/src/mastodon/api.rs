//! The addresses and answers of servers that speak Mastodon's API: what a
//! server says of itself is here, calls for grants and for statuses are below.

pub(super) mod oauth;
pub(super) mod statuses;

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::rules::Rules;
use http::StatusCode;
use reqwest::{Method, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::Url;

use super::grant::{App, Endpoints, Grant};
use super::instance::Instance;
use super::refused::{Failure, NoAnswer, Refused};
use super::server::{self, Server};
use super::software::Software;
use crate::answer;
use crate::handoff::HandOffRefusal;
use crate::http_clients::HttpClients;

/// For the other calls. While an account is connected a person waits for several
/// of them in a row.
const SHORT: Duration = Duration::from_secs(6);

/// The most of an answer that is read: more than a status takes that has the
/// longest text of this service in it twice, and escaped.
const MAX_STATUS_BYTES: usize = 1 << 20;

/// The HTTP API of any server.
#[derive(Clone)]
pub(super) struct Api {
    http: HttpClients,
}

/// A server, and what it says of itself.
pub(super) struct Discovered {
    pub(super) server: Server,
    pub(super) software: Software,
    pub(super) rules: Rules,
    pub(super) endpoints: Endpoints,
    /// The scopes that it knows, where it says so.
    pub(super) scopes: Option<Vec<String>>,
    /// How it names itself when it answers, where it promises to.
    pub(super) issuer: Option<String>,
}

/// `/.well-known/oauth-authorization-server`
#[derive(Deserialize)]
struct Metadata {
    authorization_endpoint: String,
    token_endpoint: String,
    revocation_endpoint: Option<String>,
    app_registration_endpoint: Option<String>,
    scopes_supported: Option<Vec<String>>,
    issuer: Option<String>,
    /// RFC 9207, section 3.
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl Metadata {
    /// How the server names itself when it answers, where it promises to. It
    /// has to be this server, or its answers could not be told from another's.
    fn issuer(&self, server: &Server) -> Result<Option<String>, HandOffRefusal> {
        if !self.authorization_response_iss_parameter_supported {
            return Ok(None);
        }
        let issuer = self.issuer.clone().filter(|it| Server::named(it).as_ref() == Some(server));
        let name = server.name();
        let refused = || server::refused(format!("{name} says that it is another server. Type the name of that one."));
        issuer.map(Some).ok_or_else(refused)
    }
}

/// What is at an address that needs no token.
enum Public {
    Json(Value),
    /// Another server.
    Moved(Server),
    /// Nothing that belongs to the API.
    Nothing,
}

impl Discovered {
    /// The grant that whoever says yes at this server gives to our app.
    pub(super) fn grant(&self, app: App) -> Grant {
        let (server, endpoints) = (self.server.clone(), self.endpoints.clone());
        Grant { server, software: self.software, endpoints, app }
    }
}

impl Api {
    pub(super) fn new(http: HttpClients) -> Self {
        Self { http }
    }

    /// What a server says of itself. Where it redirects to another server, that
    /// one is taken: many people know the domain of their handle and not the
    /// name of the server behind it.
    pub(super) async fn discover(&self, typed: Server) -> Result<Discovered, HandOffRefusal> {
        let (server, instance) = match self.instance(typed).await? {
            (server, Ok(instance)) => (server, instance),
            (_, Err(moved)) => match self.instance(moved).await? {
                (server, Ok(instance)) => (server, instance),
                (server, Err(_)) => return Err(no_instance(&server)),
            },
        };
        let metadata = self.metadata(&server).await?;
        let (endpoints, issuer, scopes) = match metadata {
            Some(it) => (endpoints(&server, &it)?, it.issuer(&server)?, it.scopes_supported),
            None => (Endpoints::default(), None, None),
        };
        let (software, rules) = (instance.software, instance.rules(server.name()));
        Ok(Discovered { server, software, rules, endpoints, scopes, issuer })
    }

    /// A server's description of itself, or the server that it redirects to.
    async fn instance(&self, server: Server) -> Result<(Server, Result<Instance, Server>), HandOffRefusal> {
        for path in ["/api/v2/instance", "/api/v1/instance"] {
            match self.public(&server, path).await? {
                Public::Json(answer) => {
                    if let Some(instance) = Instance::read(answer) {
                        return Ok((server, Ok(instance)));
                    }
                }
                Public::Moved(other) => return Ok((server, Err(other))),
                Public::Nothing => {}
            }
        }
        Err(no_instance(&server))
    }

    async fn metadata(&self, server: &Server) -> Result<Option<Metadata>, HandOffRefusal> {
        Ok(match self.public(server, "/.well-known/oauth-authorization-server").await? {
            Public::Json(answer) => serde_json::from_value(answer).ok(),
            Public::Moved(_) | Public::Nothing => None,
        })
    }

    async fn public(&self, server: &Server, path: &str) -> Result<Public, HandOffRefusal> {
        let url = server.url(path);
        let name = server.name();
        let response = self.send(&url, Method::GET, |it| it.timeout(SHORT)).await.map_err(|it| {
            let advice = match it {
                NoAnswer::Forbidden(_) => format!("Type the name of your server, such as {}.", server::EXAMPLE),
                _ => "Check its name, or try again later.".to_owned(),
            };
            server::refused(format!("{name} was not called: {}. {advice}", it.reason()))
        })?;
        let status = response.status();
        if status.is_redirection() {
            let location = response.headers().get(http::header::LOCATION).and_then(|it| it.to_str().ok());
            let other = location.and_then(|it| url.join(it).ok()).and_then(|it| Server::of(&it));
            return Ok(other.filter(|it| it != server).map_or(Public::Nothing, Public::Moved));
        }
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Err(server::refused(format!("{name} answered {status}. Check its name, or try again later.")));
        }
        if !status.is_success() {
            return Ok(Public::Nothing);
        }
        // Servers that speak another API answer every path with a page for people.
        Ok(answer::json(response).await.map_or(Public::Nothing, Public::Json))
    }

    async fn send(
        &self,
        url: &Url,
        method: Method,
        fill: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, NoAnswer> {
        let request = self.http.to_named(method, url.clone())?;
        // Without it, Pixelfed answers with redirects and pages.
        let request = request.header(http::header::ACCEPT, "application/json");
        Ok(fill(request).send().await?)
    }
}

/// Reads an id of a server: short enough for our tables, and without characters
/// that have a meaning in an address.
fn id<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    const MAX: usize = 200;
    let id = String::deserialize(from)?;
    let is_plain = id.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.'));
    if id.is_empty() || MAX < id.len() || !is_plain {
        return Err(serde::de::Error::custom("an id that is none"));
    }
    Ok(id)
}

/// The answer of a call that went well.
async fn expected<T: DeserializeOwned>(response: Response, now: DateTime<Utc>) -> Result<T, Failure> {
    if !response.status().is_success() {
        return Err(Failure::Refused(Refused::read(response, now).await));
    }
    answer::json_up_to(response, MAX_STATUS_BYTES).await.map_err(|_| Failure::Unreadable)
}

/// The paths that a server names. An address on another server is refused,
/// because our secret or a person's code would be sent there.
fn endpoints(server: &Server, metadata: &Metadata) -> Result<Endpoints, HandOffRefusal> {
    let usual = Endpoints::default();
    let here = |named: &str| {
        let elsewhere = || HandOffRefusal::Refused(format!("{} signs people in at another server", server.name()));
        server.path_of(named).ok_or_else(elsewhere)
    };
    let or_usual = |named: Option<&String>, usual: String| named.map_or(Ok(usual), |it| here(it));
    Ok(Endpoints {
        authorization: here(&metadata.authorization_endpoint)?,
        token: here(&metadata.token_endpoint)?,
        revocation: or_usual(metadata.revocation_endpoint.as_ref(), usual.revocation)?,
        registration: or_usual(metadata.app_registration_endpoint.as_ref(), usual.registration)?,
    })
}

fn no_instance(server: &Server) -> HandOffRefusal {
    let name = server.name();
    server::refused(format!("{name} does not speak Mastodon's API. Type the name of the server where your account is."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(token_endpoint: &str) -> Metadata {
        serde_json::from_value(serde_json::json!({
            "authorization_endpoint": "https://harbour.example/oauth/authorize",
            "token_endpoint": token_endpoint,
            "revocation_endpoint": "https://harbour.example/oauth/end",
        }))
        .unwrap()
    }

    #[test]
    fn a_server_says_where_its_oauth_is_and_not_elsewhere() {
        let server = Server::parse("harbour.example").unwrap();

        let found = endpoints(&server, &metadata("https://harbour.example/oauth/token")).unwrap();
        assert_eq!((found.token.as_str(), found.revocation.as_str()), ("/oauth/token", "/oauth/end"));
        assert_eq!(found.registration, "/api/v1/apps");
        for elsewhere in ["https://other.example/oauth/token", "http://harbour.example/oauth/token", "/oauth/token"] {
            let refused = endpoints(&server, &metadata(elsewhere));
            assert!(matches!(refused, Err(HandOffRefusal::Refused(_))), "{elsewhere}");
        }
    }
}
