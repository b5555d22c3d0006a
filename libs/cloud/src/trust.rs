//! Whom the SDK's clients trust: Amazon's own certification authorities for
//! AWS, those that the machine knows for a store elsewhere.
//!
//! Five roots are read in a fraction of the time of a machine's hundred and
//! more, and nobody but Amazon can speak for AWS.

use aws_smithy_http_client::tls::{TlsContext, TrustStore};
use http::Uri;

/// All five that Amazon recommends to whoever has a trust store of their own:
/// <https://www.amazontrust.com/repository/>. The first of them ends in
/// December 2037.
const AMAZON: [&[u8]; 5] = [
    include_bytes!("trust/amazon_root_ca_1.pem"),
    include_bytes!("trust/amazon_root_ca_2.pem"),
    include_bytes!("trust/amazon_root_ca_3.pem"),
    include_bytes!("trust/amazon_root_ca_4.pem"),
    include_bytes!("trust/starfield_services_root_g2.pem"),
];

/// For AWS.
#[expect(clippy::expect_used, reason = "a context only holds what it is given; nothing of it can fail")]
pub(crate) fn amazon() -> TlsContext {
    let roots = AMAZON.into_iter().fold(TrustStore::empty(), TrustStore::with_pem_certificate);
    TlsContext::builder().with_trust_store(roots).build().expect("a TLS context")
}

/// For a store elsewhere.
pub(crate) fn machine() -> TlsContext {
    TlsContext::default()
}

/// Whether a call of this URL needs the machine's roots: it is encrypted, and
/// its host is not one of AWS.
///
/// China's regions (`amazonaws.com.cn`) count as elsewhere, because nothing
/// says who certifies those.
pub(crate) fn is_elsewhere(url: &str) -> bool {
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
    fn each_of_amazons_roots_can_be_read() {
        for root in AMAZON {
            let certificate = CertificateDer::from_pem_slice(root).unwrap();

            RootCertStore::empty().add(certificate).unwrap();
        }
    }

    #[test]
    fn other_roots_are_for_tls_with_others() {
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
