//! Root certificates of the SDK clients: Amazon's own authorities for AWS, those of the machine
//! for any other store.
//!
//! Reading five roots takes a fraction of the time of a machine's hundred and more, and only
//! Amazon can then issue a certificate for AWS.

use aws_smithy_http_client::tls::{TlsContext, TrustStore};
use http::Uri;

/// The five roots that Amazon recommends for a custom trust store:
/// <https://www.amazontrust.com/repository/>. The first to expire does so in December 2037.
const AMAZON: [&[u8]; 5] = [
    include_bytes!("trust/amazon_root_ca_1.pem"),
    include_bytes!("trust/amazon_root_ca_2.pem"),
    include_bytes!("trust/amazon_root_ca_3.pem"),
    include_bytes!("trust/amazon_root_ca_4.pem"),
    include_bytes!("trust/starfield_services_root_g2.pem"),
];

#[expect(clippy::expect_used, reason = "building a context from certificates cannot fail")]
pub(crate) fn amazon_roots() -> TlsContext {
    let roots = AMAZON.into_iter().fold(TrustStore::empty(), TrustStore::with_pem_certificate);
    TlsContext::builder().with_trust_store(roots).build().expect("a TLS context")
}

pub(crate) fn machine() -> TlsContext {
    TlsContext::default()
}

/// Whether a call of this URL needs the machine's roots: it is encrypted, and its host is not an
/// AWS host.
///
/// The regions in China (`amazonaws.com.cn`) need the machine's roots, because their authorities
/// are not documented.
pub(crate) fn needs_machine_roots(url: &str) -> bool {
    let Ok(url) = url.parse::<Uri>() else { return false };
    url.scheme_str() == Some("https") && !url.host().is_some_and(|it| it.ends_with(".amazonaws.com"))
}

#[cfg(test)]
mod tests {
    use rustls::RootCertStore;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;

    use super::*;

    #[test]
    fn amazon_roots_can_be_parsed() {
        for root in AMAZON {
            let certificate = CertificateDer::from_pem_slice(root).unwrap();

            RootCertStore::empty().add(certificate).unwrap();
        }
    }

    #[test]
    fn machine_roots_are_used_for_tls_outside_of_aws() {
        for aws in ["https://dynamodb.eu-central-1.amazonaws.com/", "https://media.s3.eu-central-1.amazonaws.com/a?b=c"]
        {
            assert!(!needs_machine_roots(aws), "{aws}");
        }
        assert!(!needs_machine_roots("http://127.0.0.1:4566/"), "no roots without TLS");
        for other in [
            "https://store.example/media",
            "https://amazonaws.com.store.example/",
            "https://store.example/.amazonaws.com",
            "https://notamazonaws.com:443/",
            "https://kms.cn-north-1.amazonaws.com.cn/",
        ] {
            assert!(needs_machine_roots(other), "{other}");
        }
    }
}
