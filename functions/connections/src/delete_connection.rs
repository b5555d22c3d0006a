use std::net::IpAddr;

use api::openapi::{CONNECTIONS, Missing, Refused};
use api::scope_guard::ConnectionsWrite;
use api::{ApiError, ApiResult, Caller, ErrorBody, Id, Params};
use axum::extract::State;
use axum::http::StatusCode;
use cloud::audit;
use cloud::events::publish_event;
use connecting::revoke_grant;
use domain::event::Event;
use domain::id::ConnectionId;
use domain::owner::Owner;
use storage::{Disconnected, StorageError};

use crate::App;

/// Disconnects an account. The service revokes the platform's token where it can and deletes the
/// stored credentials.
#[utoipa::path(
    delete,
    path = "/api/v1/connections/{connection}",
    tag = CONNECTIONS,
    operation_id = "connection.destroy",
    summary = "Disconnect an account",
    params(("connection" = u64, Path, description = "The connection's id")),
    responses(
        (status = 204, description = "The account is disconnected"),
        (
            status = 422,
            body = ErrorBody,
            description = "Scheduled or publishing posts use this account",
            example = json!({
                "error": "has_pending_posts",
                "error_description": "2 scheduled or publishing posts use this account. Unschedule or delete the scheduled posts first: GET /api/v1/posts?status=scheduled lists them.",
            }),
        ),
        Refused,
        Missing,
    ),
    security(("token" = [])),
)]
pub(crate) async fn delete_connection(
    caller: Caller<ConnectionsWrite>,
    Id(id): Id<ConnectionId>,
    params: Params,
    State(app): State<App>,
) -> ApiResult<StatusCode> {
    if let Err(error) = params.none() {
        // A connection that does not exist or is another user's returns 404, whatever else is wrong
        // with the request.
        app.api.store.connection(caller.owner, id).await?.ok_or(ApiError::NotFound)?;
        return Err(error);
    }
    match app.disconnect(caller.owner, id, caller.ip).await? {
        DisconnectOutcome::Done => Ok(StatusCode::NO_CONTENT),
        DisconnectOutcome::Needed(why) => Err(ApiError::OAuth {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            error: "has_pending_posts",
            description: format!(
                "{why} Unschedule or delete the scheduled posts first: GET /api/v1/posts?status=scheduled lists them."
            ),
        }),
        DisconnectOutcome::NotThere => Err(ApiError::NotFound),
    }
}

pub(crate) enum DisconnectOutcome {
    Done,
    /// With the number of posts.
    Needed(String),
    /// Or belongs to another user.
    NotThere,
}

impl App {
    /// `address` is the user's, for the audit log.
    pub(crate) async fn disconnect(
        &self,
        owner: impl Into<Owner>,
        id: ConnectionId,
        address: IpAddr,
    ) -> Result<DisconnectOutcome, StorageError> {
        // Deletes the connection before it revokes the grant: the deletion fails when a post is
        // being scheduled at the same moment, and that post needs the grant.
        let (owner, now) = (owner.into(), self.api.clock.now());
        match self.api.store.delete_connection(owner, id, now).await? {
            Disconnected::Deleted { connection, ended } => {
                let entry = audit::Entry::new(audit::Event::ConnectionRemoved).user(owner.user_id).connection(id);
                entry.address(address).write();
                let Self { api, platforms, sealer, .. } = self;
                if let Some(record) = ended {
                    revoke_grant(&api.store, sealer.as_ref(), platforms, &record, now).await;
                }
                publish_event(self.events.as_ref(), &Event::disconnected(&connection, now)).await;
                Ok(DisconnectOutcome::Done)
            }
            Disconnected::Pending(count) => Ok(DisconnectOutcome::Needed(pending_posts_message(count))),
            Disconnected::NotThere => Ok(DisconnectOutcome::NotThere),
        }
    }
}

fn pending_posts_message(count: u32) -> String {
    let posts = match count {
        1 => "1 scheduled or publishing post uses".to_owned(),
        more => format!("{more} scheduled or publishing posts use"),
    };
    format!("{posts} this account.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Harness, PlatformBehavior};

    #[tokio::test]
    async fn deleted_connection_revokes_the_token_that_was_stored() {
        let harness = Harness::new().await;
        let id = harness.connect("7").await;

        let response = harness.delete(&format!("/api/v1/connections/{id}")).await;

        assert_eq!(response.status, 204);
        assert_eq!(harness.platform.revoked(), ["access-7"]);
        assert_eq!(harness.events.names(), ["connection.created", "connection.deleted"]);
        assert_eq!(harness.delete(&format!("/api/v1/connections/{id}")).await.status, 404);
    }

    #[tokio::test]
    async fn shared_token_is_revoked_with_its_last_connection() {
        let harness = Harness::new().await;
        let mine = harness.connect("7").await;
        let theirs = harness.connect_as_another("7").await;

        assert_eq!(harness.delete(&format!("/api/v1/connections/{mine}")).await.status, 204);
        assert!(harness.platform.revoked().is_empty(), "the platform gave both the same");
        assert_eq!(harness.delete_as_another(&format!("/api/v1/connections/{theirs}")).await.status, 204);
        assert_eq!(harness.platform.revoked(), ["access-7"]);

        // Another user connects the same account and gets another token.
        let mine = harness.connect("7").await;
        harness.connect_as_another("7~theirs").await;
        assert_eq!(harness.delete(&format!("/api/v1/connections/{mine}")).await.status, 204);
        assert_eq!(harness.platform.revoked().len(), 2);
    }

    #[tokio::test]
    async fn failed_revocation_does_not_stop_the_deletion() {
        let harness = Harness::new().await;
        let id = harness.connect("7").await;
        harness.platform.set_behavior(PlatformBehavior::Broken);

        assert_eq!(harness.delete(&format!("/api/v1/connections/{id}")).await.status, 204);
        assert_eq!(harness.get("/api/v1/connections").await.body["data"], serde_json::json!([]));
    }

    #[test]
    fn one_post_is_named_in_the_singular() {
        let sentence = pending_posts_message(1);
        assert!(sentence.starts_with("1 scheduled or publishing post uses this account."), "{sentence}");
    }
}
