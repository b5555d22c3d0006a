use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{AddressPolicy, FetchError};

/// Resolves names to addresses that may be connected to, or refuses.
///
/// It is the connector's own resolver: the addresses that it lets pass are the
/// ones connected to, and no second look-up can answer differently.
#[derive(Clone, Debug)]
pub(super) struct CheckedResolver {
    policy: AddressPolicy,
    /// The port that will be connected to, if an exception depends on it.
    port: Option<u16>,
}

impl CheckedResolver {
    pub(super) fn new(policy: AddressPolicy, port: Option<u16>) -> Self {
        Self { policy, port }
    }

    async fn addresses(&self, name: &str) -> Result<Vec<SocketAddr>, FetchError> {
        // Port 0 stands for the URL's own.
        let found = tokio::net::lookup_host((name, 0)).await;
        self.pass(found.map_err(|_| FetchError::UnknownHost)?.collect())
    }

    /// All of these or none: a name that also has an address of ours is no
    /// honest public name.
    fn pass(&self, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, FetchError> {
        let permitted = |address: IpAddr| self.policy.permits(address, self.port);
        if found.is_empty() {
            Err(FetchError::UnknownHost)
        } else if found.iter().all(|it| permitted(it.ip())) {
            Ok(found)
        } else {
            Err(FetchError::NotPublic)
        }
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
    fn a_name_with_public_addresses_passes() {
        let addresses = found(&["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]);
        let resolver = CheckedResolver::new(AddressPolicy::PublicOnly, None);
        assert_eq!(resolver.pass(addresses.clone()), Ok(addresses));
    }

    #[test]
    fn one_address_that_is_not_public_refuses_the_name() {
        let resolver = CheckedResolver::new(AddressPolicy::PublicOnly, None);
        for other in ["127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1"] {
            for order in [["93.184.215.14", other], [other, "93.184.215.14"]] {
                assert_eq!(resolver.pass(found(&order)), Err(FetchError::NotPublic), "{order:?}");
            }
        }
    }

    #[test]
    fn a_name_without_addresses_is_not_found() {
        let resolver = CheckedResolver::new(AddressPolicy::PublicOnly, None);
        assert_eq!(resolver.pass(Vec::new()), Err(FetchError::UnknownHost));
    }

    #[test]
    fn an_exception_holds_for_its_port_only() {
        let policy = AddressPolicy::Also(vec!["127.0.0.1:3000".parse().unwrap()]);
        let pass = |port| CheckedResolver::new(policy.clone(), port).pass(found(&["127.0.0.1"]));
        assert!(pass(Some(3000)).is_ok());
        assert_eq!(pass(Some(3001)), Err(FetchError::NotPublic));
        assert_eq!(pass(None), Err(FetchError::NotPublic));
    }
}
