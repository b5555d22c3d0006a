//! Clients: parsing and validating their metadata documents.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::{Value, json};
use url::{Host, Url};

use crate::bluesky::api_error::ApiError;
use crate::bluesky::jose::PublicKey;

/// A client with a valid document.
#[derive(Debug)]
pub(in crate::bluesky) struct Client {
    pub(in crate::bluesky) id: String,
    redirect_uris: Vec<String>,
    scopes: Vec<String>,
    grant_types: Vec<String>,
    /// The keys for client authentication; `None` for a public client.
    pub(in crate::bluesky) keys: Option<Vec<ClientKey>>,
}

/// A key from a client's document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::bluesky) struct ClientKey {
    pub(in crate::bluesky) kid: String,
    pub(in crate::bluesky) key: PublicKey,
}

/// How a client authenticated itself: not at all, or with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::bluesky) enum ClientAuth {
    None,
    PrivateKeyJwt(ClientKey),
}

type Checked<T> = Result<T, ApiError>;

impl Client {
    /// The client with this id.
    ///
    /// The id of a loopback development client contains its metadata. The documents
    /// of all other clients are in `documents`, which replaces the web.
    pub(in crate::bluesky) fn find(id: &str, documents: &BTreeMap<String, Value>) -> Checked<Self> {
        let loopback =
            id.strip_prefix("http://localhost").filter(|rest| matches!(rest.as_bytes(), [] | [b'?' | b'/', ..]));
        if let Some(rest) = loopback {
            let document = loopback_document(id, rest)?;
            return Self::read(id, &document, documents);
        }
        let url = parse_discoverable_id(id)?;
        let document = documents.get(id).ok_or_else(|| invalid("Unable to obtain client metadata"))?;
        let client = Self::read(id, document, documents)?;
        check_same_origin(&url, document, &client)?;
        Ok(client)
    }

    /// Whether the client registered this redirect URI.
    pub(in crate::bluesky) fn has_redirect_uri(&self, uri: &str) -> bool {
        self.redirect_uris.iter().any(|registered| is_same_redirect(registered, uri))
    }

    /// Whether the document declares exactly this scope string.
    pub(in crate::bluesky) fn declares(&self, scope: &str) -> bool {
        self.scopes.iter().any(|it| it == scope)
    }

    /// A declared scope that servers without granular scopes do not support.
    pub(in crate::bluesky) fn narrow_scope(&self) -> Option<&str> {
        self.scopes.iter().map(String::as_str).find(|it| *it != "atproto" && !it.starts_with("transition:"))
    }

    pub(in crate::bluesky) fn may(&self, grant_type: &str) -> bool {
        self.grant_types.iter().any(|it| it == grant_type)
    }

    fn read(id: &str, document: &Value, documents: &BTreeMap<String, Value>) -> Checked<Self> {
        require(document["client_id"] == id, "client_id does not match")?;
        require(document["dpop_bound_access_tokens"] == true, "\"dpop_bound_access_tokens\" must be true")?;

        let scopes = document["scope"].as_str().ok_or_else(|| invalid("Missing scope property"))?;
        let scopes: Vec<String> = scopes.split(' ').map(str::to_owned).collect();
        require(scopes.iter().any(|it| it == "atproto"), "Missing \"atproto\" scope")?;
        require(has_no_duplicates(&scopes), "Duplicate scope")?;

        let response_types = list(document, "response_types", &["code"])?;
        require(response_types.iter().any(|it| it == "code"), "response_types must include \"code\"")?;
        let grant_types = list(document, "grant_types", &["authorization_code"])?;
        require(
            grant_types.iter().any(|it| it == "authorization_code"),
            "grant_types must contain authorization_code",
        )?;
        let known = |it: &String| matches!(it.as_str(), "authorization_code" | "refresh_token");
        require(grant_types.iter().all(known) && has_no_duplicates(&grant_types), "Grant type is not supported")?;

        let native = match document["application_type"].as_str() {
            None | Some("web") => false,
            Some("native") => true,
            Some(_) => return Err(invalid("application_type must be web or native")),
        };
        let redirect_uris = list(document, "redirect_uris", &[])?;
        require(!redirect_uris.is_empty(), "At least one redirect_uri is required")?;
        for uri in &redirect_uris {
            check_redirect(uri, native)?;
        }
        let keys = keys(document, native, documents)?;
        Ok(Self { id: id.to_owned(), redirect_uris, scopes, grant_types, keys })
    }
}

/// The metadata in a loopback client's id: only redirect URIs and scope.
fn loopback_document(id: &str, rest: &str) -> Checked<Value> {
    let query = rest.strip_prefix('/').unwrap_or(rest);
    let query = match query.strip_prefix('?') {
        Some(query) => query,
        None if query.is_empty() => query,
        None => return Err(invalid("Loopback client id must not have a path")),
    };
    let (mut redirects, mut scope) = (Vec::new(), None);
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match name.as_ref() {
            "redirect_uri" => redirects.push(value.into_owned()),
            "scope" if scope.is_none() => scope = Some(value.into_owned()),
            _ => return Err(invalid(format!("Invalid query parameter \"{name}\" in client ID"))),
        }
    }
    if redirects.is_empty() {
        redirects = vec!["http://127.0.0.1/".to_owned(), "http://[::1]/".to_owned()];
    }
    for uri in &redirects {
        let on_loopback = Url::parse(uri).is_ok_and(|it| is_loopback(&it) && it.scheme() == "http");
        require(on_loopback, "Loopback clients redirect to http://127.0.0.1 or http://[::1]")?;
    }
    Ok(json!({
        "client_id": id,
        "application_type": "native",
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "redirect_uris": redirects,
        "scope": scope.unwrap_or_else(|| "atproto".to_owned()),
        "dpop_bound_access_tokens": true,
    }))
}

/// Parses a client id that is the URL of a document.
fn parse_discoverable_id(id: &str) -> Checked<Url> {
    let url = Url::parse(id).map_err(|_| invalid(format!("Invalid client ID \"{id}\"")))?;
    let host = match url.host() {
        Some(Host::Domain(host)) if url.scheme() == "https" => host,
        _ => return Err(invalid("client_id has to be an https URL with a domain")),
    };
    require(url.as_str() == id, "client_id must be in canonical form")?;
    require(url.path() != "/" && !url.path().ends_with('/'), "client_id must have a path that does not end in /")?;
    require(url.fragment().is_none() && url.username().is_empty(), "client_id must have no credentials or fragment")?;
    let reserved = ["example.com", "example.org", "example.net"].iter();
    let reserved = reserved.into_iter().any(|it| host == *it || host.ends_with(&format!(".{it}")));
    require(!reserved && !is_local(host), "Failed to fetch client metadata: the host is not public")?;
    Ok(url)
}

/// Checks the URLs in a document against the URL of the document.
fn check_same_origin(url: &Url, document: &Value, client: &Client) -> Checked<()> {
    if let Some(uri) = document["client_uri"].as_str() {
        let parent = Url::parse(uri).map_err(|_| invalid("client_uri is not a URL"))?;
        let folder = format!("{}/", parent.path().trim_end_matches('/'));
        require(parent.origin() == url.origin(), "client_uri must have the same origin as the client_id")?;
        require(url.path().starts_with(&folder), "client_uri must be a parent URL of the client_id")?;
    }
    for uri in &client.redirect_uris {
        let redirect = Url::parse(uri).map_err(|_| invalid("a redirect is not a URL"))?;
        let elsewhere = redirect.scheme() == "https" && redirect.origin() != url.origin();
        require(!elsewhere, "Redirect URIs must have the same origin as the client_id")?;
    }
    Ok(())
}

fn check_redirect(uri: &str, native: bool) -> Checked<()> {
    let wrong = |why: &str| Err(ApiError::oauth("invalid_redirect_uri", format!("Redirect URI {uri}: {why}")));
    let Ok(url) = Url::parse(uri) else { return wrong("not a URL") };
    let host = url.host_str().unwrap_or_default();
    if !url.username().is_empty() || url.password().is_some() {
        return wrong("must not contain credentials");
    }
    match url.scheme() {
        _ if host == "localhost" => wrong("use explicit IPs instead"),
        "http" if is_loopback(&url) && native => Ok(()),
        "http" if is_loopback(&url) => wrong("only allowed for native apps"),
        "http" => wrong("only loopback redirects may use http"),
        "https" if is_loopback(&url) => wrong("loopback redirects use http"),
        "https" if is_local(host) => wrong("the domain name must not be local"),
        "https" => Ok(()),
        scheme if scheme.contains('.') && native => Ok(()),
        _ => wrong("invalid scheme"),
    }
}

fn keys(document: &Value, native: bool, documents: &BTreeMap<String, Value>) -> Checked<Option<Vec<ClientKey>>> {
    let algorithm = &document["token_endpoint_auth_signing_alg"];
    match document["token_endpoint_auth_method"].as_str() {
        Some("none") => {
            require(algorithm.is_null(), "\"none\" must not have token_endpoint_auth_signing_alg")?;
            return Ok(None);
        }
        Some("private_key_jwt") => {}
        _ => return Err(invalid("Unsupported client authentication method")),
    }
    require(!native, "Native clients must authenticate using \"none\" method")?;
    require(algorithm == "ES256", "token_endpoint_auth_signing_alg has to be ES256")?;
    let set = match (&document["jwks"], &document["jwks_uri"]) {
        (Value::Null, Value::String(uri)) => documents.get(uri).ok_or_else(|| invalid("jwks_uri cannot be read"))?,
        (Value::Object(_), Value::Null) => &document["jwks"],
        (Value::Null, Value::Null) => return Err(invalid("private_key_jwt requires jwks or jwks_uri")),
        _ => return Err(invalid("jwks_uri and jwks are mutually exclusive")),
    };
    let read = |jwk: &Value| {
        let kid = jwk["kid"].as_str()?.to_owned();
        let signs = jwk["use"].is_null() || jwk["use"] == "sig";
        Some(ClientKey { kid, key: PublicKey::read(jwk).filter(|_| signs)? })
    };
    let keys: Option<Vec<ClientKey>> = set["keys"].as_array().and_then(|keys| keys.iter().map(read).collect());
    let keys = keys.ok_or_else(|| invalid("jwks holds a key that is not a public ES256 key with a kid"))?;
    require(!keys.is_empty(), "private_key_jwt requires at least one key in jwks")?;
    Ok(Some(keys))
}

/// Whether a redirect URI matches the registered one. On loopback, a registered
/// URI without a port matches every port.
fn is_same_redirect(registered: &str, asked: &str) -> bool {
    if registered == asked {
        return true;
    }
    let (Ok(registered), Ok(mut asked)) = (Url::parse(registered), Url::parse(asked)) else { return false };
    is_loopback(&registered)
        && registered.port().is_none()
        && asked.set_port(None).is_ok()
        && registered.as_str() == asked.as_str()
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(it)) => IpAddr::V4(it).is_loopback() && it.octets() == [127, 0, 0, 1],
        Some(Host::Ipv6(it)) => it.is_loopback(),
        _ => false,
    }
}

/// Whether a host name is not a public one.
fn is_local(host: &str) -> bool {
    let end = host.rsplit('.').next().unwrap_or(host);
    !host.contains('.') || ["test", "local", "localhost", "example", "invalid"].contains(&end)
}

fn list(document: &Value, name: &str, default: &[&str]) -> Checked<Vec<String>> {
    match &document[name] {
        Value::Null => Ok(default.iter().map(|it| (*it).to_owned()).collect()),
        Value::Array(items) => items
            .iter()
            .map(|it| it.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or_else(|| invalid(format!("{name} is not a list of strings"))),
        _ => Err(invalid(format!("{name} is not a list of strings"))),
    }
}

fn has_no_duplicates(items: &[String]) -> bool {
    items.iter().enumerate().all(|(index, it)| !items[..index].contains(it))
}

fn require(holds: bool, message: &str) -> Checked<()> {
    if holds { Ok(()) } else { Err(invalid(message)) }
}

fn invalid(why: impl Into<String>) -> ApiError {
    ApiError::oauth("invalid_client_metadata", why)
}
