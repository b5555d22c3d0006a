//! Grants that a connect flow was given and does not keep, because the person cancelled,
//! or the plan has no room: they are given back.

use futures::future::join_all;
use platforms::{Account, Connect};
use publishing::revoke_grant;
use secrecy::ExposeSecret;
use storage::{CredentialsRecord, grant_context, grant_name};

use crate::App;
use crate::connect_flow::LoadedFlow;
use crate::error::ConnectionsError;

impl App {
    /// Gives back what granted access to these accounts, which were not kept. Nothing
    /// is, if the user has connected one of them: it may act for that as well.
    pub(crate) async fn revoke_unused(
        &self,
        visit: &LoadedFlow,
        platform: &dyn Connect,
        accounts: &[Account],
    ) -> Result<(), ConnectionsError> {
        let (store, user) = (&self.api.store, visit.flow.user_id);
        let ids = accounts.iter().map(|it| it.profile.account_id.as_str());
        if !store.connected_accounts(user, platform.name(), ids).await?.is_empty() {
            return Ok(());
        }
        let mut records = Vec::<CredentialsRecord>::new();
        for account in accounts {
            let grant_name = grant_name(platform.name(), account.grant_name());
            if records.iter().any(|it| it.grant_name == grant_name) {
                continue;
            }
            let plain = account.credentials.to_bytes();
            let context = grant_context(user, &grant_name);
            records.push(CredentialsRecord {
                user_id: user,
                provider: platform.name().to_owned(),
                sealed: self.sealer.seal(plain.expose_secret().as_bytes(), &context).await?,
                grant_name,
                generation: 0,
                is_gone: false,
                token_expires_at: None,
                renewed_at: None,
                refresh_at: None,
                connections: [].into(),
                beside: None,
            });
        }
        let kept = store.grants_named(user, records.iter().map(|it| it.grant_name.as_str())).await?;
        records.retain(|it| !kept.contains_key(&it.grant_name));
        let now = self.api.clock.now();
        join_all(records.iter().map(|it| revoke_grant(store, self.sealer.as_ref(), &self.platforms, it, now))).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::Harness;

    #[tokio::test]
    async fn what_was_granted_and_cancelled_is_given_back() {
        let world = Harness::new().await;
        let begun = world.begin("plain").await;
        world.callback(&begun, "7@one,8@one,9").await;

        world.send(&begun, "cancel=1").await;

        assert_eq!(world.platform.revoked(), ["access-7@one", "access-9"]);
        assert_eq!(world.poll(&begun).await.body, json!({"status": "failed"}));
    }

    #[tokio::test]
    async fn what_the_plan_has_no_room_for_is_given_back() {
        let world = Harness::with_plan(json!({"default": {"max_connections": 1}})).await;
        let begun = world.begin("plain").await;
        world.connect("7").await;

        world.callback(&begun, "8").await;

        assert_eq!(world.platform.revoked(), ["access-8"]);
        assert_eq!(world.poll(&begun).await.body, json!({"status": "failed"}));
    }

    #[tokio::test]
    async fn what_acts_for_an_account_that_is_connected_is_not_given_back() {
        let world = Harness::new().await;
        world.connect("7").await;
        let begun = world.begin("plain").await;
        world.callback(&begun, "7,8").await;

        world.send(&begun, "cancel=1").await;

        assert!(world.platform.revoked().is_empty());
    }
}
