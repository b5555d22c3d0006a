//! The HTTP clients, each made at its first use.

use std::collections::HashMap;
use std::sync::OnceLock;

use reqwest::{Client, ClientBuilder, redirect};

use crate::resolver::{CheckedResolver, Reach};
use crate::{AddressPolicy, Refusal};

/// One client for each set of addresses that may be connected to, because a
/// resolver is told neither the port nor the scheme.
#[derive(Debug)]
pub(crate) struct Clients {
    build: fn() -> ClientBuilder,
    /// For URLs whose port has no exception.
    public: LazyClient,
    by_port: HashMap<u16, ClientsOfPort>,
}

#[derive(Debug)]
struct ClientsOfPort {
    also_exceptions: LazyClient,
    only_exceptions: LazyClient,
}

#[derive(Debug)]
struct LazyClient {
    resolver: CheckedResolver,
    made: OnceLock<Client>,
}

impl Clients {
    pub(crate) fn new(policy: &AddressPolicy, build: fn() -> ClientBuilder) -> Self {
        let lazy = |reach| LazyClient { resolver: CheckedResolver::new(policy.clone(), reach), made: OnceLock::new() };
        let of_port = |port| ClientsOfPort {
            also_exceptions: lazy(Reach::AlsoExceptions { port }),
            only_exceptions: lazy(Reach::OnlyExceptions { port }),
        };
        let by_port = policy.excepted_ports().map(|port| (port, of_port(port))).collect();
        Self { build, public: lazy(Reach::Public), by_port }
    }

    /// The client for a port. With `only_exceptions` it connects to nothing
    /// but the policy's exceptions, and a port without any has no client.
    pub(crate) fn of(&self, port: u16, only_exceptions: bool) -> Result<&Client, Refusal> {
        let lazy = match self.by_port.get(&port) {
            Some(clients) if only_exceptions => &clients.only_exceptions,
            Some(clients) => &clients.also_exceptions,
            None if only_exceptions => return Err(Refusal::Scheme),
            None => &self.public,
        };
        lazy.client(self.build)
    }
}

impl LazyClient {
    fn client(&self, build: fn() -> ClientBuilder) -> Result<&Client, Refusal> {
        if let Some(client) = self.made.get() {
            return Ok(client);
        }
        let client = make(build, self.resolver.clone()).map_err(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "an HTTP client could not be made");
            Refusal::Broken
        })?;
        // If another thread has made one meanwhile, that one is used: it has the
        // same settings.
        Ok(self.made.get_or_init(|| client))
    }
}

/// A client without what would get around the checks. It cannot be made on a
/// machine that has no root certificates.
fn make(build: fn() -> ClientBuilder, resolver: CheckedResolver) -> Result<Client, reqwest::Error> {
    // Another client of this process may have installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    build()
        .dns_resolver(resolver)
        // A redirect is not followed here: its target has to be checked first,
        // like any URL.
        .redirect(redirect::Policy::none())
        // A proxy would resolve the name itself and connect to an address that
        // was not checked.
        .no_proxy()
        .referer(false)
        // Only the caller knows whether a call may be made twice.
        .retry(reqwest::retry::never())
        .build()
}
