//! The list of e-mail addresses and domains that may sign up.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SignUp {
    #[default]
    Everyone,
    /// Those with a listed e-mail address, or an address of a listed domain.
    Listed(Vec<String>),
}

impl SignUp {
    /// Reads a list like `one@example.com, example.org`.
    pub fn listed(list: &str) -> Self {
        let listed = list.split(',').map(|it| it.trim().trim_start_matches('@').to_lowercase());
        Self::Listed(listed.filter(|it| !it.is_empty()).collect())
    }

    /// A listed address has to be verified: otherwise anyone could claim it.
    pub(crate) fn admits(&self, email: &str, is_verified: bool) -> bool {
        let Self::Listed(listed) = self else { return true };
        let email = email.to_lowercase();
        let Some((_, domain)) = email.rsplit_once('@') else {
            return false;
        };
        is_verified && listed.iter().any(|it| *it == email || it == domain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_list_allows_no_address() {
        assert!(SignUp::default().admits("one@example.com", false));
        assert!(!SignUp::listed(" , ").admits("one@example.com", true));
    }

    #[test]
    fn list_allows_its_addresses_and_domains() {
        let sign_up = SignUp::listed("one@example.com, @Example.org");
        assert!(sign_up.admits("One@Example.com", true));
        assert!(sign_up.admits("anyone@example.org", true));
        for email in
            ["two@example.com", "x@sub.example.org", "x@notexample.org", "example.org", "one@example.com@evil.net"]
        {
            assert!(!sign_up.admits(email, true), "{email}");
        }
    }

    #[test]
    fn unverified_address_cannot_sign_up() {
        assert!(!SignUp::listed("example.org").admits("one@example.org", false));
    }
}
