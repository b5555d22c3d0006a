//! Finding the server of a handle's domain. Accounts may be named by `example.com` while their
//! server is at `social.example.com`.
//!
//! Sources: RFC 7033 (`WebFinger`), RFC 6415 (host-meta), Mastodon's documentation of `WEB_DOMAIN`
//! and `GoToSocial`'s of split domains: the domain redirects either or both of them to the server.

use std::time::Duration;

use http::header::LOCATION;
use reqwest::{Method, Response};
use serde::Deserialize;
use tokio::time::timeout;
use url::Url;

use super::{Api, SHORT};
use crate::mastodon::server::Server;
use crate::response;

/// How often each of the two may be redirected.
const REDIRECTS: usize = 3;

const TIMEOUT: Duration = Duration::from_secs(8);

/// The description of an account or a host (a JRD: RFC 7033, section 4.4).
#[derive(Deserialize)]
struct Descriptor {
    links: Vec<Link>,
}

#[derive(Deserialize)]
struct Link {
    rel: Option<String>,
    r#type: Option<String>,
    href: Option<String>,
    template: Option<String>,
}

impl Api {
    /// The server whose accounts have this domain in their handles, if it is another one. Without a
    /// username, the account of the server itself is requested, which is named by its domain.
    pub(crate) async fn find_server(&self, domain: &Server, username: Option<&str>) -> Option<Server> {
        let found = timeout(TIMEOUT, async {
            match self.by_web_finger(domain, username.unwrap_or(domain.name())).await {
                Some(server) => Some(server),
                None => self.by_host_meta(domain).await,
            }
        });
        found.await.ok().flatten().filter(|it| it != domain)
    }

    /// Whether the domain itself confirms that its account of this name is on this server.
    pub(crate) async fn names(&self, domain: &Server, username: &str, server: &Server) -> bool {
        let found = timeout(TIMEOUT, self.by_web_finger(domain, username)).await;
        found.is_ok_and(|it| it.as_ref() == Some(server))
    }

    /// The server of the account's own URL, else the server that responds to `WebFinger`.
    async fn by_web_finger(&self, domain: &Server, username: &str) -> Option<Server> {
        let mut url = domain.url("/.well-known/webfinger");
        url.query_pairs_mut().append_pair("resource", &format!("acct:{username}@{}", domain.name()));
        let (responding_server, answer) = self.get_following_redirects(url).await?;
        let descriptor = serde_json::from_slice(&response::body(answer).await.ok()?).ok();
        let own = |Descriptor { links }: Descriptor| links.into_iter().find(Link::is_self)?.href;
        let own = descriptor.and_then(own).and_then(|it| Server::named(&it));
        own.or(Some(responding_server)).filter(|it| it != domain)
    }

    /// The server that answers `WebFinger` for the accounts of a domain.
    async fn by_host_meta(&self, domain: &Server) -> Option<Server> {
        let (responding_server, answer) = self.get_following_redirects(domain.url("/.well-known/host-meta")).await?;
        let body = response::body(answer).await.ok()?;
        let template = match serde_json::from_slice(&body) {
            Ok(Descriptor { links }) => links.into_iter().find(|it| it.rel.as_deref() == Some("lrdd"))?.template,
            Err(_) => template(std::str::from_utf8(&body).ok()?),
        };
        template.and_then(|it| Server::named(&it)).or(Some(responding_server)).filter(|it| it != domain)
    }

    /// The response at the end of all redirects, and the server that sent it. Each redirect target
    /// is checked before it is called.
    async fn get_following_redirects(&self, mut url: Url) -> Option<(Server, Response)> {
        for _ in 0..=REDIRECTS {
            let response = self.send(&url, Method::GET, |it| it.timeout(SHORT)).await.ok()?;
            if !response.status().is_redirection() {
                return Some((Server::from_url(&url)?, response));
            }
            url = url.join(response.headers().get(LOCATION)?.to_str().ok()?).ok()?;
        }
        None
    }
}

impl Link {
    /// Whether the link is the account itself, as other servers know it.
    fn is_self(&self) -> bool {
        let is_activity = |it: &str| it.contains("activity+json") || it.contains("w3.org/ns/activitystreams");
        self.rel.as_deref() == Some("self") && self.r#type.as_deref().is_some_and(is_activity)
    }
}

/// The URL template of `WebFinger` in a host-meta document as XML: `<Link rel="lrdd"
/// template="https://…?resource={uri}"/>`.
fn template(xml: &str) -> Option<String> {
    let links = xml.split("<Link").skip(1).filter_map(|it| it.split('>').next());
    let template = links.filter(|it| attribute(it, "rel") == Some("lrdd")).find_map(|it| attribute(it, "template"))?;
    Some(template.replace("&amp;", "&"))
}

fn attribute<'a>(link: &'a str, name: &str) -> Option<&'a str> {
    let mut named = link.match_indices(name).filter(|(at, _)| link[..*at].ends_with(char::is_whitespace));
    let value = named.find_map(|(at, _)| link[at + name.len()..].strip_prefix('='))?;
    let quote = value.chars().next().filter(|it| matches!(it, '"' | '\''))?;
    value[1..].split_once(quote).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webfinger_template_is_found_in_host_meta() {
        let address = Some("https://social.example/.well-known/webfinger?resource={uri}&x=1".to_owned());
        for xml in [
            r#"<?xml version="1.0"?><XRD xmlns="http://docs.oasis-open.org/ns/xri/xrd-1.0">
                <Link rel="other" template="https://other.example/"></Link>
                <Link rel="lrdd" type="application/xrd+xml"
                 template="https://social.example/.well-known/webfinger?resource={uri}&amp;x=1"></Link></XRD>"#,
            "<XRD><Link rel='lrdd' template='https://social.example/.well-known/webfinger?resource={uri}&amp;x=1'/></XRD>",
        ] {
            assert_eq!(template(xml), address, "{xml}");
        }
        for xml in ["", "<XRD/>", "<Link rel=\"lrdd\"/>", "<Link rel=lrdd template=x>", "<Link template=\"", "<Link"] {
            assert_eq!(template(xml), None, "{xml}");
        }
    }
}
