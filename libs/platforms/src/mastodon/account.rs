use domain::connection::AccountInfo;
use domain::web_address::is_web_address;

use super::api::oauth::Me;
use super::server::Server;

/// The account's info, with its handle in this domain. Its id begins with the server, because two
/// servers may use the same id.
pub(super) fn profile(server: &Server, domain: &Server, me: Me) -> AccountInfo {
    AccountInfo {
        account_id: format!("{}/{}", server.name(), me.id),
        username: Some(format!("{}@{}", me.username, domain.name())),
        display_name: me.display_name.filter(|it| !it.trim().is_empty()),
        avatar: me.avatar.filter(|it| is_web_address(it)),
        profile_url: me.url.filter(|it| is_web_address(it)),
    }
}

pub(super) fn id_on_server(profile: &AccountInfo) -> Option<&str> {
    profile.account_id.split_once('/').map(|(_, id)| id)
}
