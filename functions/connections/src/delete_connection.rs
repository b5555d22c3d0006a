//! `DELETE /connections/{connection}`

use std::net::IpAddr;

use api::openapi::{CONNECTIONS, Missing, Refused};
use api::scope_guard::ConnectionsWrite;
use api::{ApiError, ApiResult, Caller, ErrorBody, Id, Params};
use axum::extract::State;
use axum::http::StatusCode;
use cloud::audit;
use domain::event::Event;
use domain::id::{ConnectionId, UserId};
use publishing::{publish_event, revoke_grant};
use storage::{Disconnected, StorageError};

use crate::App;

/// Disconnects an account: the platform's token is revoked where it can be,
/// and what we stored to act for the account is destroyed.
#[utoipa::path(
    delete,
    path = "/api/v1/connections/{connection}",
    tag = CONNECTIONS,
    operation_id = "connection.destroy",
    summary = "Disconnect an account",
    params(("connection" = u64, Path, description = "The connection's id")),
    responses(
        (status = 204, description = "It is gone"),
        (
            status = 422,
            body = ErrorBody,
            description = "Scheduled or publishing posts name this account",
            example = json!({
                "error": "has_pending_posts",
                "error_description": "2 scheduled or publishing posts use this account. Unschedule or delete them first: GET /api/v1/posts?status=scheduled lists them.",
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
    if let Err(refusal) = params.none() {
        // A connection that does not exist, or that is somebody else's, is
        // answered with 404 whatever else is wrong with the request.
        app.api.store.connection(caller.user, id).await?.ok_or(ApiError::NotFound)?;
        return Err(refusal);
    }
    match app.disconnect(caller.user, id, caller.ip).await? {
        Disconnection::Done => Ok(StatusCode::NO_CONTENT),
        Disconnection::Needed(why) => Err(ApiError::OAuth {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            error: "has_pending_posts",
            description: why,
        }),
        Disconnection::NotThere => Err(ApiError::NotFound),
    }
}

/// What became of the wish to disconnect an account.
pub(crate) enum Disconnection {
    /// It is gone.
    Done,
    /// Posts need it, as this sentence says.
    Needed(String),
    /// There is none, or it is somebody else's.
    NotThere,
}

impl App {
    /// Disconnects an account of this user, who is at this address.
    pub(crate) async fn disconnect(
        &self,
        user: UserId,
        id: ConnectionId,
        address: IpAddr,
    ) -> Result<Disconnection, StorageError> {
        // The connection is deleted before the grant is revoked: the deletion fails
        // when a post is being scheduled at this moment, which then still needs the
        // grant.
        let now = self.api.clock.now();
        match self.api.store.delete_connection(user, id, now).await? {
            Disconnected::Deleted { connection, ended } => {
                let entry = audit::Entry::new(audit::Event::ConnectionRemoved).user(user).connection(id);
                entry.address(address).write();
                let Self { api, platforms, sealer, .. } = self;
                if let Some(record) = ended {
                    revoke_grant(&api.store, sealer.as_ref(), platforms, &record, now).await;
                }
                publish_event(&api.store, self.events.as_ref(), &Event::disconnected(&connection, now)).await;
                Ok(Disconnection::Done)
            }
            Disconnected::Pending(count) => Ok(Disconnection::Needed(needed_by(count))),
            Disconnected::NotThere => Ok(Disconnection::NotThere),
        }
    }
}

fn needed_by(count: u32) -> String {
    let posts = match count {
        1 => "1 scheduled or publishing post uses".to_owned(),
        more => format!("{more} scheduled or publishing posts use"),
    };
    format!("{posts} this account. Unschedule or delete them first: GET /api/v1/posts?status=scheduled lists them.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Harness, PlatformBehavior};

    #[tokio::test]
    async fn a_deleted_connection_is_revoked_with_what_was_sealed() {
        let world = Harness::new().await;
        let id = world.connect("7").await;

        let answer = world.delete(&format!("/api/v1/connections/{id}")).await;

        assert_eq!(answer.status, 204);
        assert_eq!(world.platform.revoked(), ["access-7"]);
        assert_eq!(world.events.names(), ["connection.created", "connection.deleted"]);
        assert_eq!(world.delete(&format!("/api/v1/connections/{id}")).await.status, 404);
    }

    #[tokio::test]
    async fn a_token_that_another_user_needs_is_given_back_with_the_last_connection() {
        let world = Harness::new().await;
        let mine = world.connect("7").await;
        let theirs = world.connect_as_another("7").await;

        assert_eq!(world.delete(&format!("/api/v1/connections/{mine}")).await.status, 204);
        assert!(world.platform.revoked().is_empty(), "the platform gave both the same");
        assert_eq!(world.delete_as_another(&format!("/api/v1/connections/{theirs}")).await.status, 204);
        assert_eq!(world.platform.revoked(), ["access-7"]);

        // Another user connects the same account and gets another token.
        let mine = world.connect("7").await;
        world.connect_as_another("7~theirs").await;
        assert_eq!(world.delete(&format!("/api/v1/connections/{mine}")).await.status, 204);
        assert_eq!(world.platform.revoked().len(), 2);
    }

    #[tokio::test]
    async fn a_platform_that_fails_to_revoke_does_not_stop_the_deletion() {
        let world = Harness::new().await;
        let id = world.connect("7").await;
        world.platform.set_mood(PlatformBehavior::Broken);

        assert_eq!(world.delete(&format!("/api/v1/connections/{id}")).await.status, 204);
        assert_eq!(world.get("/api/v1/connections").await.body["data"], serde_json::json!([]));
    }

    #[test]
    fn one_post_is_not_told_as_many() {
        let sentence = needed_by(1);
        assert!(sentence.starts_with("1 scheduled or publishing post uses this account."), "{sentence}");
    }
}
