use std::collections::HashMap;
use std::sync::OnceLock;

use reqwest::{Client, ClientBuilder, redirect};

use crate::resolver::{AllowedAddresses, CheckedResolver};
use crate::{AddressPolicy, EgressError};

/// One client for each set of permitted addresses, because a resolver receives neither the port
/// nor the scheme.
#[derive(Debug)]
pub(crate) struct Clients {
    build: fn() -> ClientBuilder,
    /// For URLs whose port has no exception.
    public: LazyClient,
    by_port: HashMap<u16, PortClients>,
}

#[derive(Debug)]
struct PortClients {
    also_exceptions: LazyClient,
    only_exceptions: LazyClient,
}

#[derive(Debug)]
struct LazyClient {
    resolver: CheckedResolver,
    client: OnceLock<Client>,
}

impl Clients {
    pub(crate) fn new(policy: &AddressPolicy, build: fn() -> ClientBuilder) -> Self {
        let lazy =
            |allowed| LazyClient { resolver: CheckedResolver::new(policy.clone(), allowed), client: OnceLock::new() };
        let port_clients = |port| PortClients {
            also_exceptions: lazy(AllowedAddresses::AlsoExceptions { port }),
            only_exceptions: lazy(AllowedAddresses::OnlyExceptions { port }),
        };
        let by_port = policy.excepted_ports().map(|port| (port, port_clients(port))).collect();
        Self { build, public: lazy(AllowedAddresses::Public), by_port }
    }

    /// The client for a port. With `only_exceptions`, the client connects only to the policy's
    /// exceptions, and a port without exceptions returns [`EgressError::Scheme`].
    pub(crate) fn for_port(&self, port: u16, only_exceptions: bool) -> Result<&Client, EgressError> {
        let lazy = match self.by_port.get(&port) {
            Some(clients) if only_exceptions => &clients.only_exceptions,
            Some(clients) => &clients.also_exceptions,
            None if only_exceptions => return Err(EgressError::Scheme),
            None => &self.public,
        };
        lazy.client(self.build)
    }
}

impl LazyClient {
    fn client(&self, build: fn() -> ClientBuilder) -> Result<&Client, EgressError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = build_client(build, self.resolver.clone()).map_err(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "HTTP client not created");
            EgressError::Broken
        })?;
        // If another thread created one first, that client is used: it has the same settings.
        Ok(self.client.get_or_init(|| client))
    }
}

/// Builds a client without the features that would bypass the checks. Fails on a machine without
/// root certificates.
fn build_client(build: fn() -> ClientBuilder, resolver: CheckedResolver) -> Result<Client, reqwest::Error> {
    // Fails if another client of this process has installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    build()
        .dns_resolver(resolver)
        // The caller checks the target of a redirect like any URL.
        .redirect(redirect::Policy::none())
        // A proxy would resolve the name and connect to an unchecked address.
        .no_proxy()
        .referer(false)
        // Only the caller knows whether a call may be repeated.
        .retry(reqwest::retry::never())
        .build()
}
