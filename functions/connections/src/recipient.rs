//! The user who receives an account, as every page of a connect flow names them.

use std::fmt;

use domain::name;
use domain::user::User;

/// The user who receives an account, shown as name and e-mail address: any user can choose a name,
/// but a verified address belongs to one person.
pub(crate) struct Recipient {
    name: Option<String>,
    email: String,
}

impl Recipient {
    pub(crate) fn new(user: &User) -> Self {
        let email = name::display_name(&user.email).unwrap_or_default();
        Self { name: name::display_name(&user.name).filter(|it| *it != email), email }
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name} ({})", self.email),
            None => f.write_str(&self.email),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::testing::a_user;

    use super::*;

    #[test]
    fn recipient_is_shown_with_name_and_email() {
        let named = |name: &str| {
            let user = User { name: name.to_owned(), email: "jane@example.com".to_owned(), ..a_user() };
            Recipient::new(&user).to_string()
        };
        assert_eq!(named("Jane"), "Jane (jane@example.com)");
        assert_eq!(named("jane@example.com"), "jane@example.com");
        assert_eq!(named("\u{202e}moc.knab@pleh"), "moc.knab@pleh (jane@example.com)");
    }
}
