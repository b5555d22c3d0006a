//! Whether Meta can reach this deployment: it fetches files from public URLs only, and redirects
//! users only to them.

use url::{Host, Url};

use super::graph::Graph;
use crate::connect_flow::{CallbackUrls, ConnectError};

impl Graph {
    /// Refuses a connect flow that could not succeed, because only this machine reaches this
    /// deployment, like `cargo dev` without a tunnel.
    pub(crate) fn check_reach(&self, urls: &CallbackUrls) -> Result<(), ConnectError> {
        if !is_local(&urls.origin) || is_local(&self.base_url) {
            return Ok(());
        }
        let (title, origin) = (self.title(), &urls.origin);
        Err(ConnectError::Unsupported(format!(
            "{title} fetches files and redirects users only at public https URLs, but {origin} is reachable only from \
             this machine. Start the service with --origin and a public https URL. Instagram and Threads do not fetch \
             files through Cloudflare tunnels"
        )))
    }
}

fn is_local(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use egress::AddressPolicy;

    use super::*;
    use crate::http_clients::HttpClients;
    use crate::kit::ErrorTable;
    use crate::meta::{Version, errors};

    static ERRORS: ErrorTable = errors::table("Threads");

    #[test]
    fn unreachable_deployment_connects_only_local_fakes() {
        let check = |origin: &str, platform: &str| {
            let graph = Graph::new(HttpClients::new(AddressPolicy::PublicOnly), platform, Version::THREADS, &ERRORS);
            graph.check_reach(&CallbackUrls::new(origin, "threads")).map_err(|it| it.to_string())
        };
        let real = "https://graph.threads.net";
        for origin in ["http://127.0.0.1:3000", "http://localhost:3000", "http://[::1]:3000", "http://a.localhost"] {
            let message = check(origin, real).unwrap_err();
            assert!(
                message.contains("Threads") && message.contains(origin) && message.contains("--origin"),
                "{message}"
            );
            assert_eq!(check(origin, "http://127.0.0.1:4000"), Ok(()), "a fake");
        }
        assert_eq!(check("https://social.example", real), Ok(()));
    }
}
