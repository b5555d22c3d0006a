//! Whom the SDK's clients trust: Amazon's own certification authorities for
//! AWS, those that the machine knows for a store elsewhere.
//!
//! Five roots are read in a fraction of the time of a machine's hundred and
//! more, and nobody but Amazon can speak for AWS.

use std::sync::Arc;

use http::Uri;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ConfigBuilder, Error, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt;

/// All five that Amazon recommends to whoever has a trust store of their own:
/// <https://www.amazontrust.com/repository/>. The first of them ends in
/// December 2037.
const AMAZON: [&[u8]; 5] = [
    include_bytes!("trust/amazon_root_ca_1.der"),
    include_bytes!("trust/amazon_root_ca_2.der"),
    include_bytes!("trust/amazon_root_ca_3.der"),
    include_bytes!("trust/amazon_root_ca_4.der"),
    include_bytes!("trust/starfield_services_root_g2.der"),
];

/// TLS with AWS.
pub(crate) fn amazon() -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    for root in AMAZON {
        roots.add(CertificateDer::from(root))?;
    }
    Ok(tls()?.with_root_certificates(roots).with_no_client_auth())
}

/// TLS with whoever the machine trusts.
pub(crate) fn machine() -> Result<ClientConfig, Error> {
    Ok(tls()?.with_platform_verifier()?.with_no_client_auth())
}

fn tls() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, Error> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions()
}

/// Whether it takes other roots than Amazon's: TLS with a host that is not of
/// AWS. China's regions (`amazonaws.com.cn`) count among them, as nothing says
/// who certifies those.
pub(crate) fn is_elsewhere(uri: &Uri) -> bool {
    uri.scheme_str() == Some("https") && !uri.host().is_some_and(|it| it.ends_with(".amazonaws.com"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_amazons_roots_can_be_read() {
        assert!(amazon().is_ok());
    }

    #[test]
    fn other_roots_are_for_tls_with_others() {
        let is_elsewhere = |uri: &'static str| is_elsewhere(&Uri::from_static(uri));
        for aws in ["https://dynamodb.eu-central-1.amazonaws.com/", "https://media.s3.eu-central-1.amazonaws.com/a?b=c"]
        {
            assert!(!is_elsewhere(aws), "{aws}");
        }
        assert!(!is_elsewhere("http://127.0.0.1:4566/"), "without TLS nobody is trusted");
        for other in [
            "https://store.example/media",
            "https://amazonaws.com.store.example/",
            "https://store.example/.amazonaws.com",
            "https://notamazonaws.com:443/",
            "https://kms.cn-north-1.amazonaws.com.cn/",
        ] {
            assert!(is_elsewhere(other), "{other}");
        }
    }
}
