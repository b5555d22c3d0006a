use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::{AddressPolicy, EgressError};

/// Resolves a name to permitted addresses, or returns a [`EgressError`].
///
/// The connector uses this resolver, so the checked addresses are the ones that are connected
/// to. A second look-up cannot return others (DNS rebinding).
#[derive(Clone, Debug)]
pub(crate) struct CheckedResolver {
    policy: AddressPolicy,
    reach: AllowedAddresses,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum AllowedAddresses {
    Public,
    /// Public addresses, and the exceptions with this port.
    AlsoExceptions {
        port: u16,
    },
    /// Only the exceptions with this port, because the call is not encrypted.
    OnlyExceptions {
        port: u16,
    },
}

impl CheckedResolver {
    pub(crate) fn new(policy: AddressPolicy, allowed: AllowedAddresses) -> Self {
        Self { policy, reach: allowed }
    }

    async fn addresses(&self, name: &str) -> Result<Vec<SocketAddr>, EgressError> {
        // With port 0, the connector uses the port of the URL.
        let found = tokio::net::lookup_host((name, 0)).await;
        self.check(found.map_err(|_| EgressError::UnknownHost)?.collect())
    }

    /// Returns all addresses or none. A name with both private and public addresses is
    /// misconfigured or an attempt to bypass the check.
    fn check(&self, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, EgressError> {
        let error = found.iter().find_map(|it| self.refuse(it.ip()));
        match error {
            _ if found.is_empty() => Err(EgressError::UnknownHost),
            Some(refusal) => Err(refusal),
            None => Ok(found),
        }
    }

    fn refuse(&self, address: IpAddr) -> Option<EgressError> {
        let (is_permitted, error) = match self.reach {
            AllowedAddresses::Public => (self.policy.permits(address, None), EgressError::NotPublic),
            AllowedAddresses::AlsoExceptions { port } => {
                (self.policy.permits(address, Some(port)), EgressError::NotPublic)
            }
            AllowedAddresses::OnlyExceptions { port } => (self.policy.is_exception(address, port), EgressError::Scheme),
        };
        (!is_permitted).then_some(error)
    }
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let addresses = resolver.addresses(name.as_str()).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(addresses: &[&str]) -> Vec<SocketAddr> {
        addresses.iter().map(|it| SocketAddr::new(it.parse().unwrap(), 0)).collect()
    }

    #[test]
    fn name_with_public_addresses_is_resolved() {
        let addresses = found(&["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]);
        let resolver = CheckedResolver::new(AddressPolicy::PublicOnly, AllowedAddresses::Public);
        assert_eq!(resolver.check(addresses.clone()), Ok(addresses));
    }

    #[test]
    fn name_with_one_private_address_is_refused() {
        let resolver = CheckedResolver::new(AddressPolicy::PublicOnly, AllowedAddresses::Public);
        for other in ["127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1"] {
            for order in [["93.184.215.14", other], [other, "93.184.215.14"]] {
                assert_eq!(resolver.check(found(&order)), Err(EgressError::NotPublic), "{order:?}");
            }
        }
    }

    #[test]
    fn name_without_addresses_is_not_found() {
        let resolver = CheckedResolver::new(AddressPolicy::PublicOnly, AllowedAddresses::Public);
        assert_eq!(resolver.check(Vec::new()), Err(EgressError::UnknownHost));
    }

    #[test]
    fn exception_applies_to_its_port_only() {
        let policy = AddressPolicy::Also(vec!["127.0.0.1:3000".parse().unwrap()]);
        let check = |allowed| CheckedResolver::new(policy.clone(), allowed).check(found(&["127.0.0.1"]));
        assert!(check(AllowedAddresses::AlsoExceptions { port: 3000 }).is_ok());
        assert_eq!(check(AllowedAddresses::AlsoExceptions { port: 3001 }), Err(EgressError::NotPublic));
        assert_eq!(check(AllowedAddresses::Public), Err(EgressError::NotPublic));
    }

    #[test]
    fn unencrypted_call_reaches_exceptions_only() {
        let policy = AddressPolicy::Also(vec!["127.0.0.1:3000".parse().unwrap(), "[::1]:3000".parse().unwrap()]);
        let resolver = CheckedResolver::new(policy, AllowedAddresses::OnlyExceptions { port: 3000 });
        assert!(resolver.check(found(&["127.0.0.1", "::1"])).is_ok());
        for other in ["93.184.215.14", "127.0.0.2", "10.0.0.1"] {
            assert_eq!(resolver.check(found(&["127.0.0.1", other])), Err(EgressError::Scheme), "{other}");
        }
        assert_eq!(resolver.check(Vec::new()), Err(EgressError::UnknownHost));
    }
}
