//! Revokes grants that a connect flow received and does not store, because the user cancelled or
//! the plan's limit is reached.

use connecting::revoke_grant;
use futures::future::join_all;
use platforms::{Account, Connect};
use secrecy::ExposeSecret;
use storage::{CredentialsRecord, grant_context, grant_name};

use crate::App;
use crate::connect_flow::LoadedFlow;
use crate::error::ConnectionsError;

impl App {
    /// Revokes the grants of accounts that were not stored. Revokes nothing if the user has
    /// connected one of them, because the grant may serve that connection too.
    pub(crate) async fn revoke_unused(
        &self,
        loaded: &LoadedFlow,
        platform: &dyn Connect,
        accounts: &[Account],
    ) -> Result<(), ConnectionsError> {
        let (store, user) = (&self.api.store, loaded.flow.user_id);
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
            });
        }
        let stored = store.grants_by_name(user, records.iter().map(|it| it.grant_name.as_str())).await?;
        records.retain(|it| !stored.contains_key(&it.grant_name));
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
    async fn cancelling_the_choice_revokes_each_grant_once() {
        let harness = Harness::new().await;
        let begun = harness.begin("plain").await;
        harness.callback(&begun, "7@one,8@one,9").await;

        harness.send(&begun, "cancel=1").await;

        assert_eq!(harness.platform.revoked(), ["access-7@one", "access-9"]);
        assert_eq!(harness.poll(&begun).await.body, json!({"status": "failed"}));
    }

    #[tokio::test]
    async fn grant_beyond_the_plan_limit_is_revoked() {
        let harness = Harness::with_plan(json!({"default": {"max_connections": 1}})).await;
        let begun = harness.begin("plain").await;
        harness.connect("7").await;

        harness.callback(&begun, "8").await;

        assert_eq!(harness.platform.revoked(), ["access-8"]);
        assert_eq!(harness.poll(&begun).await.body, json!({"status": "failed"}));
    }

    #[tokio::test]
    async fn grant_of_a_connected_account_is_not_revoked() {
        let harness = Harness::new().await;
        harness.connect("7").await;
        let begun = harness.begin("plain").await;
        harness.callback(&begun, "7,8").await;

        harness.send(&begun, "cancel=1").await;

        assert!(harness.platform.revoked().is_empty());
    }
}
