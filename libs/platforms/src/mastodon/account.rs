//! An account of a server, as this service names and shows it.

use domain::connection::Profile;
use url::Url;

use super::api::oauth::Me;
use super::server::Server;

/// More than any address of a picture or page of an account.
const MAX_ADDRESS: usize = 2048;

/// The account's profile. Its id begins with the server, because two servers may
/// give the same id.
pub(super) fn profile(server: &Server, me: Me) -> Profile {
    let host = server.name();
    Profile {
        account_id: format!("{host}/{}", me.id),
        username: Some(format!("{}@{host}", me.username)),
        display_name: me.display_name.filter(|it| !it.trim().is_empty()),
        avatar: me.avatar.filter(|it| is_web_address(it)),
        profile_url: me.url.filter(|it| is_web_address(it)),
    }
}

/// The account's id on its server.
pub(super) fn id_on_server(profile: &Profile) -> Option<&str> {
    profile.account_id.split_once('/').map(|(_, id)| id)
}

/// Whether this can be shown to people as the address of a picture or a page.
fn is_web_address(address: &str) -> bool {
    let is_web = |it: Url| matches!(it.scheme(), "http" | "https");
    address.len() <= MAX_ADDRESS && Url::parse(address).is_ok_and(is_web)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leads_to_the_web_is_shown_as_an_address() {
        let long = format!("https://harbour.example/{}", "a".repeat(MAX_ADDRESS));
        for (address, is_web) in [
            ("https://harbour.example/@keeper", true),
            ("http://harbour.example/avatar.png", true),
            ("javascript:alert(1)", false),
            ("data:image/png;base64,AAAA", false),
            ("/avatars/original/missing.png", false),
            (&long, false),
        ] {
            assert_eq!(is_web_address(address), is_web, "{address}");
        }
    }
}
