//! The list of e-mail addresses and domains that may sign up.

use crate::oidc::IssuerUser;

/// Who may sign up: everyone, or those with a listed e-mail address or
/// an address of a listed domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignUp {
    listed: Vec<String>,
}

impl SignUp {
    /// Reads a list like `one@example.com, example.org`. With an empty list,
    /// everyone may sign up.
    pub fn parse(list: &str) -> Self {
        let listed = list.split(',').map(|it| it.trim().trim_start_matches('@').to_lowercase());
        Self { listed: listed.filter(|it| !it.is_empty()).collect() }
    }

    /// Whether this person may become a user. Where a list decides, the issuer
    /// has to have verified the address: otherwise anybody could claim a listed
    /// one.
    pub(crate) fn admits(&self, oidc_user: &IssuerUser) -> bool {
        if self.listed.is_empty() {
            return true;
        }
        let email = oidc_user.email.to_lowercase();
        let Some((_, domain)) = email.rsplit_once('@') else {
            return false;
        };
        oidc_user.email_verified && self.listed.iter().any(|it| *it == email || it == domain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(email: &str, email_verified: bool) -> IssuerUser {
        IssuerUser { subject: "1".to_owned(), name: "Test User".to_owned(), email: email.to_owned(), email_verified }
    }

    #[test]
    fn empty_list_allows_everyone() {
        assert!(SignUp::parse("").admits(&person("one@example.com", false)));
        assert!(SignUp::parse(" , ").admits(&person("one@example.com", false)));
    }

    #[test]
    fn list_allows_its_addresses_and_domains() {
        let sign_up = SignUp::parse("one@example.com, @Example.org");
        assert!(sign_up.admits(&person("One@Example.com", true)));
        assert!(sign_up.admits(&person("anyone@example.org", true)));
        for email in
            ["two@example.com", "x@sub.example.org", "x@notexample.org", "example.org", "one@example.com@evil.net"]
        {
            assert!(!sign_up.admits(&person(email, true)), "{email}");
        }
    }

    #[test]
    fn unverified_address_cannot_sign_up() {
        assert!(!SignUp::parse("example.org").admits(&person("one@example.org", false)));
    }
}
