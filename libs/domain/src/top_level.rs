//! The top-level domains. They decide whether a name without a scheme is a link: `example.com` is,
//! `node.js` is not.

/// The longest label of a domain in bytes (RFC 1035, section 2.3.4).
const LONGEST: usize = 63;

/// Whether this label, the last of a domain, is a top-level domain. It may be in any case, and in
/// another script as written or as `xn--…`.
///
/// Source: the list of IANA, of which the crate `tld` publishes a new version with each change;
/// `cargo update -p tld` updates it.
pub fn is_known(label: &str) -> bool {
    if LONGEST < label.len() {
        return false;
    }
    let label = label.to_lowercase();
    if label.is_ascii() {
        return tld::exist(&label);
    }
    idna::punycode::encode_str(&label).is_some_and(|it| tld::exist(&format!("xn--{it}")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn country_and_generic_domains_are_known_in_every_script() {
        for label in
            ["com", "COM", "de", "dev", "bayern", "museum", "xn--p1ai", "XN--P1AI", "рф", "РФ", "中国", "भारत", "한국"]
        {
            assert!(is_known(label), "{label}");
        }
        for label in
            ["", "js", "txt", "exe", "html", "start", "com.", ".com", "xn--", "рфф", "例え", "cóm", "1", "local"]
        {
            assert!(!is_known(label), "{label}");
        }
    }

    #[test]
    fn label_has_at_most_63_bytes() {
        assert!(is_known("vermögensberatung"));
        assert!(!is_known(&"ä".repeat(65_000)));
        assert!(!is_known(&"com".repeat(65_000)));
    }

    proptest! {
        #[test]
        fn any_label_is_checked_without_a_panic(label in "\\PC{0,70}") {
            let known = is_known(&label);
            prop_assert_eq!(known, is_known(&label.to_lowercase()));
        }
    }
}
