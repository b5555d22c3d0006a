//! Address policy: which IP addresses an outgoing call may connect to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// For hosts that users name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AddressPolicy {
    #[default]
    PublicOnly,
    /// Addresses of the public internet and exactly these exceptions, for tests and the local
    /// stack. A host name is called only if all of its addresses are permitted, so `localhost` may
    /// need two entries.
    Also(Vec<SocketAddr>),
}

impl AddressPolicy {
    /// Without a port, no exception applies.
    pub(crate) fn permits(&self, address: IpAddr, port: Option<u16>) -> bool {
        is_public(address) || port.is_some_and(|it| self.is_exception(address, it))
    }

    pub(crate) fn is_exception(&self, address: IpAddr, port: u16) -> bool {
        self.exceptions().contains(&SocketAddr::new(address, port))
    }

    pub(crate) fn excepted_ports(&self) -> impl Iterator<Item = u16> {
        self.exceptions().iter().map(SocketAddr::port)
    }

    fn exceptions(&self) -> &[SocketAddr] {
        match self {
            Self::PublicOnly => &[],
            Self::Also(exceptions) => exceptions,
        }
    }
}

/// Whether an address is on the public internet: globally reachable, of one host, and not an
/// encoding of an address that is not public.
///
/// Sources: the IANA special-purpose registries of IPv4 and IPv6; Azure, "What is IP address
/// 168.63.129.16?" (only hosts on Azure reach that address).
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !SPECIAL_V4.iter().any(|(network, length)| {
        let differing = address.to_bits() ^ network.to_bits();
        differing.leading_zeros() >= *length
    })
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(embedded) = embedded_v4(address) {
        return is_public_v4(embedded);
    }
    is_within(address, &GLOBAL_UNICAST) && !SPECIAL_V6.iter().any(|it| is_within(address, it))
}

/// The IPv4 address at which a connection to this address ends: this machine translates the
/// mapped form, the network's translator the NAT64 form.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., a, b, c, d] = address.octets();
    let has_embedded = is_within(address, &MAPPED) || is_within(address, &NAT64);
    has_embedded.then(|| Ipv4Addr::new(a, b, c, d))
}

fn is_within(address: Ipv6Addr, (network, length): &(Ipv6Addr, u32)) -> bool {
    let differing = address.to_bits() ^ network.to_bits();
    differing.leading_zeros() >= *length
}

/// Networks that are not public: first address, prefix length in bits.
const SPECIAL_V4: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::UNSPECIFIED, 8),            // this host
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // shared by customers of a provider
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // loopback
    (Ipv4Addr::new(168, 63, 129, 16), 32), // the platform's own services on Azure
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // link-local, with the metadata service
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // IETF protocols
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // documentation (TEST-NET-1)
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // benchmarking
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // documentation (TEST-NET-2)
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // documentation (TEST-NET-3)
    (Ipv4Addr::new(224, 0, 0, 0), 4),      // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),      // reserved, and broadcast
];

const MAPPED: (Ipv6Addr, u32) = (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96);
const NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// The range that is allocated to hosts on the internet. Outside of it are loopback, the
/// compatible and translated forms of IPv4 addresses, local NAT64, discard, segment routing,
/// unique local, link-local, site-local and multicast.
const GLOBAL_UNICAST: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

const SPECIAL_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // IETF protocols, with Teredo
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn public(address: &str) -> bool {
        is_public(address.parse().unwrap())
    }

    /// Checks the first and last address of every special range, and their public neighbors.
    #[test]
    fn special_ipv4_ranges_are_not_public_but_their_neighbors_are() {
        let special = [
            ("0.0.0.0", "0.255.255.255"),
            ("10.0.0.0", "10.255.255.255"),
            ("100.64.0.0", "100.127.255.255"),
            ("127.0.0.0", "127.255.255.255"),
            ("168.63.129.16", "168.63.129.16"),
            ("169.254.0.0", "169.254.255.255"),
            ("172.16.0.0", "172.31.255.255"),
            ("192.0.0.0", "192.0.0.255"),
            ("192.0.2.0", "192.0.2.255"),
            ("192.88.99.0", "192.88.99.255"),
            ("192.168.0.0", "192.168.255.255"),
            ("198.18.0.0", "198.19.255.255"),
            ("198.51.100.0", "198.51.100.255"),
            ("203.0.113.0", "203.0.113.255"),
            ("224.0.0.0", "255.255.255.255"),
        ];
        for (first, last) in special {
            let (first, last): (Ipv4Addr, Ipv4Addr) = (first.parse().unwrap(), last.parse().unwrap());
            assert!(!is_public(first.into()), "{first}");
            assert!(!is_public(last.into()), "{last}");
            if let Some(before) = first.to_bits().checked_sub(1).map(Ipv4Addr::from_bits) {
                assert!(is_public(before.into()), "{before}");
            }
            if let Some(after) = last.to_bits().checked_add(1).map(Ipv4Addr::from_bits) {
                assert!(is_public(after.into()), "{after}");
            }
        }
        assert!(!public("239.255.255.255") && !public("240.0.0.0"));
    }

    #[test]
    fn special_ipv6_ranges_are_not_public() {
        let special = [
            "::",
            "::1",
            "::8.8.8.8",
            "::ffff:0:8.8.8.8",
            "64:ff9b:1::8.8.8.8",
            "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
            "100::",
            "100:0:0:1::1",
            "1fff:ffff::1",
            "2001::",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:1::1",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:db8::1",
            "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
            "2002::",
            "2002:0808:0808::1",
            "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "3fff::1",
            "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "febf:ffff::1",
            "fec0::1",
            "feff::1",
            "ff02::1",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ];
        for address in special {
            assert!(!public(address), "{address}");
        }
    }

    #[test]
    fn addresses_of_real_hosts_are_public() {
        let real = [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.215.14",
            "2000::1",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2001:db7:ffff::1",
            "2001:db9::1",
            "2003::1",
            "2606:4700:4700::1111",
            "2a00:1450:4001:82a::200e",
            "3fff:1000::1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
        ];
        for address in real {
            assert!(public(address), "{address}");
        }
    }

    #[test]
    fn exception_is_one_address_with_one_port() {
        let policy = AddressPolicy::Also(vec!["127.0.0.1:3000".parse().unwrap()]);
        let permits = |address: &str, port| policy.permits(address.parse().unwrap(), port);
        assert!(permits("127.0.0.1", Some(3000)));
        assert!(permits("8.8.8.8", Some(80)));
        for (address, port) in
            [("127.0.0.1", Some(3001)), ("127.0.0.1", None), ("127.0.0.2", Some(3000)), ("::1", Some(3000))]
        {
            assert!(!permits(address, port), "{address} {port:?}");
        }
    }

    /// Special according to the standard library, which knows fewer ranges.
    fn is_special_in_std(address: Ipv4Addr) -> bool {
        address.is_private()
            || address.is_loopback()
            || address.is_link_local()
            || address.is_multicast()
            || address.is_broadcast()
            || address.is_documentation()
            || address.is_unspecified()
    }

    /// Any address, often in or near a special range.
    fn v4() -> impl Strategy<Value = Ipv4Addr> {
        let near = (proptest::sample::select(SPECIAL_V4.to_vec()), any::<u32>())
            .prop_map(|((network, _), bits)| Ipv4Addr::from_bits(network.to_bits() ^ (bits >> 7)));
        prop_oneof![any::<Ipv4Addr>(), near]
    }

    proptest! {
        #[test]
        fn mapped_and_nat64_addresses_are_public_if_their_ipv4_address_is(v4_address in v4()) {
            let nat64 = Ipv6Addr::from_bits(NAT64.0.to_bits() | u128::from(v4_address.to_bits()));
            prop_assert_eq!(is_public(v4_address.to_ipv6_mapped().into()), is_public(v4_address.into()));
            prop_assert_eq!(is_public(nat64.into()), is_public(v4_address.into()));
        }

        #[test]
        fn other_encodings_of_ipv4_addresses_are_not_public(v4_address in v4()) {
            let bits = u128::from(v4_address.to_bits());
            let encodings = [
                bits,
                0xffff << 48 | bits,
                0x2002 << 112 | bits << 80,
                0x2001 << 112 | bits,
                0x2001 << 112 | (bits ^ 0xffff_ffff),
            ];
            for encoding in encodings.map(Ipv6Addr::from_bits) {
                prop_assert!(!is_public(encoding.into()), "{}", encoding);
            }
        }

        #[test]
        fn special_addresses_of_std_are_not_public(address in v4()) {
            prop_assert!(!(is_special_in_std(address) && is_public(address.into())), "{}", address);
        }

        #[test]
        fn only_global_unicast_is_public_in_ipv6(address in any::<Ipv6Addr>()) {
            if embedded_v4(address).is_none() && is_public(address.into()) {
                prop_assert_eq!(address.segments()[0] >> 13, 1);
            }
        }
    }
}
