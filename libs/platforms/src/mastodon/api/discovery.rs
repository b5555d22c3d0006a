//! Finding the server that a user means, and reading its description.

use std::time::Duration;

use domain::rules::Rules;
use http::StatusCode;
use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use super::{Api, SHORT};
use crate::connect_flow::ConnectError;
use crate::mastodon::errors::WHO;
use crate::mastodon::grant::{App, Endpoints, Grant};
use crate::mastodon::instance::Instance;
use crate::mastodon::server::{self, Server, TypedServer};
use crate::mastodon::software::Software;
use crate::response;
use crate::transport_error::TransportError;

const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct Discovered {
    pub(crate) server: Server,
    pub(crate) software: Software,
    /// The domain of the server's accounts as the server states it, if that is not its own name.
    /// [`Api::names`] checks it at the domain.
    pub(crate) domain: Option<Server>,
    pub(crate) rules: Rules,
    pub(crate) endpoints: Endpoints,
    /// The scopes that the server lists; `None` if it lists none.
    pub(crate) scopes: Option<Vec<String>>,
    /// The issuer that the server promises to send with its response.
    pub(crate) issuer: Option<String>,
}

impl Discovered {
    pub(crate) fn grant(&self, app: App) -> Grant {
        let (server, endpoints) = (self.server.clone(), self.endpoints.clone());
        Grant { server, software: self.software, endpoints, app }
    }
}

/// `/.well-known/oauth-authorization-server`
#[derive(Deserialize)]
pub(crate) struct Metadata {
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

enum Public<T> {
    Found(T),
    Moved(Server),
    Nothing,
}

enum DiscoveryError {
    NotCalled(ConnectError),
    /// The server responds, but with an error that may pass.
    Failing(ConnectError),
}

impl Api {
    /// Finds the server that the user means. If it redirects to another server, or its domain names
    /// another server for its accounts, that one is used: many users know the domain of their
    /// handle but not the name of the server.
    pub(crate) async fn discover(&self, typed: &TypedServer) -> Result<Discovered, ConnectError> {
        let name = typed.server.name();
        let late = |_| server::refused(format!("{name} took too long to respond. Check its name, or try again later."));
        timeout(TIMEOUT, async {
            let (server, instance) = self.find(typed).await?;
            let metadata = self.metadata(&server).await?;
            let (endpoints, issuer, scopes) = match metadata {
                Some(it) => (it.endpoints(&server)?, it.issuer(&server)?, it.scopes_supported),
                None => (Endpoints::default(), None, None),
            };
            let (software, rules) = (instance.software, instance.rules(server.name()));
            let domain = instance.domain().and_then(|it| server.called(it)).filter(|it| *it != server);
            Ok(Discovered { server, software, domain, rules, endpoints, scopes, issuer })
        })
        .await
        .map_err(late)?
    }

    async fn find(&self, typed: &TypedServer) -> Result<(Server, Instance), ConnectError> {
        let server = &typed.server;
        let mut refusal = no_instance(server);
        match self.instance(server).await {
            Ok(Public::Found(instance)) => return Ok((server.clone(), instance)),
            Ok(Public::Moved(other)) => match self.instance(&other).await {
                Ok(Public::Found(instance)) => return Ok((other, instance)),
                Ok(Public::Moved(_) | Public::Nothing) => refusal = no_instance(&other),
                Err(DiscoveryError::NotCalled(failed) | DiscoveryError::Failing(failed)) => refusal = failed,
            },
            Ok(Public::Nothing) => {}
            Err(DiscoveryError::NotCalled(failed)) => return Err(failed),
            Err(DiscoveryError::Failing(failed)) => refusal = failed,
        }
        let Some(account_server) = self.find_server(server, typed.username.as_deref()).await else {
            return Err(refusal);
        };
        match self.instance(&account_server).await {
            Ok(Public::Found(instance)) => Ok((account_server, instance)),
            Ok(Public::Moved(_) | Public::Nothing) => Err(no_instance(&account_server)),
            Err(DiscoveryError::NotCalled(refusal) | DiscoveryError::Failing(refusal)) => Err(refusal),
        }
    }

    /// The current rules of a server; `None` if it cannot be reached.
    pub(crate) async fn rules_of(&self, server: &Server) -> Option<Rules> {
        match timeout(TIMEOUT, self.instance(server)).await {
            Ok(Ok(Public::Found(instance))) => Some(instance.rules(server.name())),
            _ => None,
        }
    }

    async fn instance(&self, server: &Server) -> Result<Public<Instance>, DiscoveryError> {
        for path in ["/api/v2/instance", "/api/v1/instance"] {
            match self.public(server, path).await? {
                Public::Found(answer) => {
                    if let Some(instance) = Instance::read(answer) {
                        return Ok(Public::Found(instance));
                    }
                }
                Public::Moved(other) => return Ok(Public::Moved(other)),
                Public::Nothing => {}
            }
        }
        Ok(Public::Nothing)
    }

    async fn metadata(&self, server: &Server) -> Result<Option<Metadata>, ConnectError> {
        match self.public(server, "/.well-known/oauth-authorization-server").await {
            Ok(Public::Found(answer)) => Ok(serde_json::from_value(answer).ok()),
            Ok(Public::Moved(_) | Public::Nothing) => Ok(None),
            Err(DiscoveryError::NotCalled(refusal) | DiscoveryError::Failing(refusal)) => Err(refusal),
        }
    }

    async fn public(&self, server: &Server, path: &str) -> Result<Public<Value>, DiscoveryError> {
        let url = server.url(path);
        let name = server.name();
        let response = self.send(&url, Method::GET, |it| it.timeout(SHORT)).await.map_err(|it| {
            let advice = match it {
                TransportError::Forbidden(_) => format!("Type the name of your server, such as {}.", server::EXAMPLE),
                _ => "Check its name, or try again later.".to_owned(),
            };
            DiscoveryError::NotCalled(server::refused(format!(
                "{name} could not be reached: {}. {advice}",
                it.message(WHO)
            )))
        })?;
        let status = response.status();
        if status.is_redirection() {
            let location = response.headers().get(http::header::LOCATION).and_then(|it| it.to_str().ok());
            let other = location.and_then(|it| url.join(it).ok()).and_then(|it| Server::from_url(&it));
            return Ok(other.filter(|it| it != server).map_or(Public::Nothing, Public::Moved));
        }
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            let message = format!("{name} returned {status}. Check its name, or try again later.");
            return Err(DiscoveryError::Failing(server::refused(message)));
        }
        if !status.is_success() {
            return Ok(Public::Nothing);
        }
        // Servers with another API return an HTML page for every path.
        Ok(response::json(response).await.map_or(Public::Nothing, Public::Found))
    }
}

impl Metadata {
    /// The server's OAuth paths. A URL on another server is refused, because our secret or a user's
    /// code would be sent there.
    fn endpoints(&self, server: &Server) -> Result<Endpoints, ConnectError> {
        let usual = Endpoints::default();
        let path_on_server = |named: &str| {
            let on_another_server =
                || ConnectError::Refused(format!("{} signs users in at another server", server.name()));
            server.path_of(named).ok_or_else(on_another_server)
        };
        let path_or_default = |named: Option<&String>, usual: String| named.map_or(Ok(usual), |it| path_on_server(it));
        Ok(Endpoints {
            authorization: path_on_server(&self.authorization_endpoint)?,
            token: path_on_server(&self.token_endpoint)?,
            revocation: path_or_default(self.revocation_endpoint.as_ref(), usual.revocation)?,
            registration: path_or_default(self.app_registration_endpoint.as_ref(), usual.registration)?,
        })
    }

    /// The issuer that the server promises to send. It has to be this server, or its responses
    /// could not be distinguished from another server's.
    fn issuer(&self, server: &Server) -> Result<Option<String>, ConnectError> {
        if !self.authorization_response_iss_parameter_supported {
            return Ok(None);
        }
        let issuer = self.issuer.clone().filter(|it| Server::named(it).as_ref() == Some(server));
        let name = server.name();
        let refused = || {
            server::refused(format!(
                "{name} reports that it is another server. Type the name of that \
                                                  server."
            ))
        };
        issuer.map(Some).ok_or_else(refused)
    }
}

fn no_instance(server: &Server) -> ConnectError {
    let name = server.name();
    server::refused(format!(
        "{name} does not support Mastodon's API. Type the name of the server that has your \
                             account."
    ))
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
    fn oauth_endpoints_on_another_server_are_refused() {
        let server = Server::named("https://harbour.example").unwrap();

        let found = metadata("https://harbour.example/oauth/token").endpoints(&server).unwrap();
        assert_eq!((found.token.as_str(), found.revocation.as_str()), ("/oauth/token", "/oauth/end"));
        assert_eq!(found.registration, "/api/v1/apps");
        for elsewhere in ["https://other.example/oauth/token", "http://harbour.example/oauth/token", "/oauth/token"] {
            let refused = metadata(elsewhere).endpoints(&server);
            assert!(matches!(refused, Err(ConnectError::Refused(_))), "{elsewhere}");
        }
    }
}
