use domain::connection::AccountInfo;
use serde::Deserialize;

use crate::caller::Caller;
use crate::connect_flow::ConnectError;
use crate::kit::{CallError, Effect};
use crate::meta::Graph;

const OF_ME: &str = "user_id,username,name,account_type,profile_picture_url";

const OF_ONE: &str = "id,username,name,profile_picture_url";

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Member {
    /// The id that calls accept.
    user_id: Option<String>,
    /// Like `user_id` where the account is read by that id; where it is read by its token, an id
    /// that is known to this app only and that no call accepts.
    id: Option<String>,
    username: String,
    name: Option<String>,
    account_type: Option<String>,
    profile_picture_url: Option<String>,
}

/// A response, which some calls wrap in a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum MeResponse {
    Wrapped { data: Vec<Member> },
    Plain(Member),
}

pub(super) async fn me(graph: &Graph, caller: Caller<'_>) -> Result<Member, CallError> {
    let response = graph.get::<MeResponse>(caller, "/me", &[("fields", OF_ME)]).await?.body;
    let me = match response {
        MeResponse::Plain(member) => Some(member),
        MeResponse::Wrapped { data } => data.into_iter().next(),
    };
    // The other id is not accepted by any call.
    me.map(|it| Member { id: None, ..it }).ok_or_else(|| CallError::unreadable(graph.title(), Effect::Read))
}

pub(super) async fn one(graph: &Graph, caller: Caller<'_>, id: &str) -> Result<Member, CallError> {
    Ok(graph.get(caller, &format!("/{id}"), &[("fields", OF_ONE)]).await?.body)
}

impl Member {
    pub(super) fn check(&self) -> Result<(), ConnectError> {
        let is_personal = self.account_type.as_deref().is_some_and(|it| it.eq_ignore_ascii_case("personal"));
        if !is_personal {
            return Ok(());
        }
        let message = format!(
            "{} is a personal account, and Instagram does not permit apps to post to it: switch it to a professional \
             account in Instagram's settings, then connect it again",
            self.username
        );
        Err(ConnectError::Refused(message))
    }

    /// `None` if it has no id or no name.
    pub(super) fn profile(self) -> Option<AccountInfo> {
        profile(self.user_id.or(self.id)?, self.username, self.name, self.profile_picture_url)
    }
}

pub(super) fn profile(
    id: String,
    username: String,
    name: Option<String>,
    picture: Option<String>,
) -> Option<AccountInfo> {
    let is_id = (1..=30).contains(&id.len()) && id.bytes().all(|it| it.is_ascii_digit());
    let is_name = (1..=30).contains(&username.len())
        && username.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_'));
    (is_id && is_name).then(|| AccountInfo {
        account_id: id,
        profile_url: Some(format!("https://www.instagram.com/{username}/")),
        username: Some(username),
        display_name: name.filter(|it| !it.trim().is_empty()),
        avatar: picture,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn account_id_is_the_one_that_calls_accept() {
        let member: Member = serde_json::from_value(json!({
            "id": "99", "user_id": "17841400000000001", "username": "keeper_ada", "name": " ", "account_type": "Business",
        }))
        .unwrap();
        assert!(member.check().is_ok());
        let profile = member.profile().unwrap();
        assert_eq!(profile.account_id, "17841400000000001");
        assert_eq!(profile.profile_url.as_deref(), Some("https://www.instagram.com/keeper_ada/"));
        assert_eq!(profile.display_name, None);
        for (id, name) in [("", "ada"), ("1/2", "ada"), ("1", ""), ("1", "a/b"), ("1", "a b")] {
            assert!(super::profile(id.to_owned(), name.to_owned(), None, None).is_none(), "{id} {name}");
        }
    }

    #[test]
    fn personal_account_is_refused_with_advice() {
        let member: Member =
            serde_json::from_value(json!({ "user_id": "1", "username": "ada", "account_type": "PERSONAL" })).unwrap();
        assert!(member.check().unwrap_err().to_string().contains("switch it to a professional"));
    }
}
