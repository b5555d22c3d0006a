//! The consents that a post needs: for each account whose platform requires one, a person agrees to its terms.

use super::{Post, PostStatus, TargetStatus};
use crate::connection::Connection;
use crate::id::ConnectionId;

impl Post {
    /// Whether a person can be asked to agree to the post: it is neither scheduled nor on its way.
    pub fn accepts_consents(&self) -> bool {
        matches!(self.status, PostStatus::Draft | PostStatus::Failed)
    }

    /// The accounts for which a person has yet to agree to the terms of the platform, in the order of the post.
    /// `connections` are those of its owner.
    pub fn accounts_awaiting_consent(&self, connections: &[Connection]) -> Vec<ConnectionId> {
        let waiting =
            self.targets.iter().filter(|it| it.status != TargetStatus::Published && it.consented_at.is_none());
        let needing_consent = waiting.filter(|target| {
            let account = connections.iter().find(|it| it.connection_id == target.connection_id);
            account.is_some_and(|it| it.rules.consent_options(&target.options).is_some())
        });
        needing_consent.map(|it| it.connection_id).collect()
    }

    pub fn has_consents(&self, accounts: &[ConnectionId]) -> bool {
        let has_consent =
            |id: &ConnectionId| self.targets.iter().any(|it| it.connection_id == *id && it.consented_at.is_some());
        accounts.iter().all(has_consent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{PostRule, Rule};
    use crate::testing::{a_connection, a_post, a_user, noon};

    fn an_account_with_consents(account: &Connection) -> Connection {
        let mut account = account.clone();
        account.rules.rules.push(Rule::OfPost(PostRule::ConsentOptions { options: vec!["visibility".to_owned()] }));
        account
    }

    #[test]
    fn accounts_without_a_consent_wait_for_one() {
        let user = a_user();
        let plain = a_connection(&user);
        let [given, published, missing, gone] = [(); 4].map(|()| an_account_with_consents(&a_connection(&user)));
        let accounts = [plain, given, published, missing, gone];
        let mut post = a_post(&user, None, &accounts);
        post.targets[1].consented_at = Some(noon());
        post.targets[2].status = TargetStatus::Published;

        let waiting = post.accounts_awaiting_consent(&accounts[..4]);

        assert_eq!(waiting, [accounts[3].connection_id], "a disconnected account publishes nothing");
        let [_, given, _, missing, _] = accounts.map(|it| it.connection_id);
        assert!(post.has_consents(&[given]) && !post.has_consents(&[given, missing]));
        post.targets.remove(1);
        assert!(!post.has_consents(&[given]), "the account left the post");
    }

    #[test]
    fn drafts_and_failed_posts_accept_consents() {
        let accepting = PostStatus::ALL.into_iter().filter(|status| {
            let post = Post { status: *status, ..a_post(&a_user(), None, &[]) };
            post.accepts_consents()
        });
        assert_eq!(accepting.collect::<Vec<_>>(), [PostStatus::Draft, PostStatus::Failed]);
    }
}
