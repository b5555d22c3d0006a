//! A site, as a user names it, and the URL of its REST API.

use std::time::Duration;

use http::header::{LINK, LOCATION};
use reqwest::{Method, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

use super::json::find_json;
use crate::connect_flow::ConnectError;
use crate::html::{self, plain};
use crate::http_clients::{self, HttpClients};
use crate::named_site::{self, host_of};
use crate::response;

pub(super) const FIELD: &str = "site";

pub(super) const EXAMPLE: &str = "blog.example.com";

const RELATION: &str = "https://api.w.org/";

/// The query parameter with the API path, on sites without permalinks.
const ROUTE: &str = "rest_route";

const TIMEOUT: Duration = Duration::from_secs(14);

const EACH: Duration = Duration::from_secs(6);

const MAX_HOPS: usize = 3;

/// The most bytes that are read of a page, and of the API's index, which older versions do not
/// shorten.
const MAX_BYTES: usize = 2 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Root(Url);

#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) root: Root,
    pub(super) approval: Approval,
}

#[derive(Clone, Debug)]
pub(super) enum Approval {
    Page(Url),
    None,
    /// The page is at this host, which is not that of the API.
    Elsewhere(String),
}

/// `GET {root}`, in part.
#[derive(Deserialize)]
pub(super) struct Index {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) home: String,
    #[serde(default)]
    namespaces: Vec<String>,
    /// An empty list if there are no methods.
    #[serde(default)]
    authentication: Value,
    #[serde(default)]
    pub(super) site_icon_url: Option<String>,
}

impl Index {
    pub(super) const FIELDS: &str = "name,home,namespaces,authentication,site_icon_url";
}

impl Root {
    pub(super) fn at(url: Url) -> Self {
        Self(url)
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }

    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(super) fn host(&self) -> &str {
        host_of(&self.0)
    }

    pub(super) fn is_origin_of(&self, url: &Url) -> bool {
        self.0.origin() == url.origin()
    }

    /// Whether the connection is not encrypted.
    pub(super) fn is_open(&self) -> bool {
        self.0.scheme() == "http"
    }

    pub(super) fn route(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        if self.0.query_pairs().any(|(name, _)| name == ROUTE) {
            let others = self.0.query_pairs().filter(|(name, _)| name != ROUTE);
            url.query_pairs_mut().clear().extend_pairs(others).append_pair(ROUTE, &format!("/{path}"));
        } else {
            url.set_path(&format!("{}/{path}", self.0.path().trim_end_matches('/')));
        }
        url
    }
}

fn parse(typed: &str) -> Option<Url> {
    named_site::parse(typed, &["/wp-admin/", "/wp-login.php/", "/wp-json/", "/index.php/"])
}

pub(super) fn parse_host(typed: &str) -> Option<String> {
    parse(typed).map(|it| host_of(&it).to_owned())
}

pub(super) fn refused(message: String) -> ConnectError {
    ConnectError::Field { name: FIELD, message }
}

pub(super) async fn discover(http: &HttpClients, typed: &str) -> Result<Site, ConnectError> {
    let typed = parse(typed).ok_or_else(|| refused(format!("Type the URL of your site, such as {EXAMPLE}.")))?;
    let name = host_of(&typed);
    let late = |_| refused(format!("{name} took too long to respond. Check the URL, or try again later."));
    timeout(TIMEOUT, find(http, &typed)).await.map_err(late)?
}

async fn find(http: &HttpClients, typed: &Url) -> Result<Site, ConnectError> {
    let (page, response) = get(http, typed).await?;
    let root_by_parameter = {
        let mut url = page.clone();
        url.query_pairs_mut().append_pair(ROUTE, "/");
        url
    };
    // The page may name no API although the site has one: themes omit the link.
    let named = linked_api_root(&page, response).await;
    for root in named.into_iter().chain([root_by_parameter]) {
        let Ok((root, response)) = get(http, &with_fields(&root)).await else { continue };
        let Ok(body) = response::body_up_to(response, MAX_BYTES).await else { continue };
        let Ok(index) = serde_json::from_slice::<Index>(find_json(&body)) else { continue };
        if index.namespaces.iter().any(|it| it == "wp/v2") {
            let root = Root::at(without_fields(&root));
            let approval = match index.authorization() {
                Some(page) if root.is_origin_of(&page) => Approval::Page(page),
                Some(page) => Approval::Elsewhere(host_of(&page).to_owned()),
                None => Approval::None,
            };
            return Ok(Site { root, approval });
        }
    }
    Err(refused(format!(
        "{} has no WordPress REST API. Type the URL of your site's front page. If the URL is right, a plugin may have \
         closed the REST API, which has to be open.",
        host_of(&page)
    )))
}

fn with_fields(root: &Url) -> Url {
    let mut url = root.clone();
    url.query_pairs_mut().append_pair("_fields", Index::FIELDS);
    url
}

fn without_fields(url: &Url) -> Url {
    let mut root = url.clone();
    root.query_pairs_mut().clear().extend_pairs(url.query_pairs().filter(|(name, _)| name != "_fields"));
    if root.query() == Some("") {
        root.set_query(None);
    }
    root
}

impl Index {
    fn authorization(&self) -> Option<Url> {
        Url::parse(self.authentication["application-passwords"]["endpoints"]["authorization"].as_str()?).ok()
    }
}

/// Redirects are followed by this code, because each target has to be checked like the first.
async fn get(http: &HttpClients, url: &Url) -> Result<(Url, Response), ConnectError> {
    let mut url = url.clone();
    for _ in 0..=MAX_HOPS {
        let unreachable = |why: String| {
            refused(format!("{} could not be reached: {why}. Check the URL, or try again later.", host_of(&url)))
        };
        let request = http.request_named_host(Method::GET, url.clone()).map_err(|it| unreachable(it.to_string()))?;
        let response = http_clients::send(request.timeout(EACH)).await.map_err(|error| {
            let refusal = egress::Egress::refusal(&error);
            unreachable(refusal.map_or_else(|| "it did not respond".to_owned(), |it| it.to_string()))
        })?;
        let location = response.headers().get(LOCATION).filter(|_| response.status().is_redirection());
        let Some(location) = location.and_then(|it| it.to_str().ok()) else { return Ok((url, response)) };
        url = url.join(location).map_err(|_| unreachable("it redirects without a target".to_owned()))?;
    }
    Err(refused(format!("{} redirects too many times. Type the URL where the redirects end.", host_of(&url))))
}

/// The API that a page names: in a header, or in its head.
async fn linked_api_root(page: &Url, response: Response) -> Option<Url> {
    let headers = response.headers().get_all(LINK).iter().filter_map(|it| it.to_str().ok());
    let mut named = headers.flat_map(|it| it.split(',')).find_map(|it| {
        let (target, parameters) = it.trim().strip_prefix('<')?.split_once('>')?;
        parameters.contains(RELATION).then(|| target.to_owned())
    });
    if named.is_none() {
        let start = response::start(response, MAX_BYTES).await;
        html::visit_head_tags(&String::from_utf8_lossy(&start), |tag, _| {
            if named.is_none() && tag.name() == "link" && tag.attribute("rel") == Some(RELATION) {
                named = tag.attribute("href").map(plain);
            }
        });
    }
    let mut url = page.join(&named?).ok()?;
    // Behind a proxy, a site may not know that it is reached by https.
    if page.scheme() == "https" && url.scheme() == "http" && url.host() == page.host() && url.port().is_none() {
        url.set_scheme("https").ok()?;
    }
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_urls_work_with_and_without_permalinks() {
        let route = |root: &str| String::from(Root::at(Url::parse(root).unwrap()).route("wp/v2/posts/7"));
        for (root, address) in [
            ("https://example.com/wp-json/", "https://example.com/wp-json/wp/v2/posts/7"),
            ("https://example.com/blog/wp-json", "https://example.com/blog/wp-json/wp/v2/posts/7"),
            ("https://example.com/?rest_route=/", "https://example.com/?rest_route=%2Fwp%2Fv2%2Fposts%2F7"),
            (
                "https://example.com/blog/index.php?lang=de&rest_route=/",
                "https://example.com/blog/index.php?lang=de&rest_route=%2Fwp%2Fv2%2Fposts%2F7",
            ),
        ] {
            assert_eq!(route(root), address);
        }
    }
}
