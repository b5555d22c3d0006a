use std::collections::BTreeSet;

use api::openapi::{BadBody, PROFILES, Refused};
use api::scope_guard::ConnectionsWrite;
use api::{ApiError, ApiResult, Caller, FieldValue, Fields, RequestBody};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use chrono::TimeDelta;
use cloud::audit;
use contract::{NewConnectLink, Timestamp};
use domain::connect_link::{ConnectLink, DEFAULT_LIFETIME, LinkConsents, MAX_LIFETIME, MIN_LIFETIME};
use domain::id::{PostId, ProfileId, UserId};
use domain::owner::Owner;
use domain::post::TargetStatus;
use domain::profile::ProfileRef;
use domain::scope::Scope;
use secrecy::ExposeSecret;
use serde_json::Value;
use storage::StorageError;

use crate::App;
use crate::error::ConnectionsError;

/// More than there are platforms.
const MAX_PLATFORMS: usize = 50;

#[utoipa::path(
    post,
    path = "/api/v1/connect-links",
    operation_id = "connectLink.store",
    tag = PROFILES,
    summary = "Create a connect link",
    description = "Send your customer to `url`. The customer connects accounts for the profile, without an account of this service, and returns to `return_url`. With `post_id`, the customer instead agrees to the terms of the platforms for a post. Only the first browser in which the customer continues can use the link. The response is 403 if the operator has set no `ReturnOrigins`.",
    security(("token" = [])),
    request_body(content = NewConnectLink),
    responses((status = 201, description = "The link", body = contract::ConnectLink), Refused, BadBody)
)]
pub(crate) async fn create_connect_link(
    State(app): State<App>,
    caller: Caller<ConnectionsWrite>,
    incoming: RequestBody,
) -> ApiResult<(StatusCode, Json<contract::ConnectLink>)> {
    let origins = &app.connect_links.return_origins;
    if origins.is_empty() {
        let reason = "This deployment has no connect links. Ask its operator to set ReturnOrigins.";
        return Err(ApiError::Forbidden(reason.to_owned()));
    }
    let mut fields = incoming.fields(&["profile_id", "platforms", "post_id", "return_url", "expires_in"])?;
    let of_profile = app.required_profile(caller.owner, &mut fields).await?;
    let platforms = app.listed_platforms(&mut fields);
    let consents = match fields.integer("post_id") {
        FieldValue::Value(_) if !caller.scopes.permit(Scope::PostsWrite) => {
            let reason = "The token lacks the scope posts:write, which post_id requires. Ask for a token that has it.";
            return Err(ApiError::Forbidden(reason.to_owned()));
        }
        FieldValue::Value(id) => {
            if !platforms.is_empty() {
                fields.add("platforms", "may not be given with post_id, because such a link connects no accounts");
            }
            app.requested_consents(caller.user_id(), of_profile.as_ref(), id, &mut fields).await?
        }
        FieldValue::Absent | FieldValue::Null | FieldValue::Invalid => None,
    };
    let return_url = fields.required_text("return_url").and_then(|raw| match origins.return_url(&raw) {
        Ok(url) => Some(url),
        Err(error) => {
            fields.add("return_url", error);
            None
        }
    });
    let lifetime = lifetime(&mut fields);
    // A profile or URL that is missing is an error of the fields.
    let (Some(of_profile), Some(return_url)) = fields.finish((of_profile, return_url))? else {
        return Err(ApiError::Internal);
    };

    let now = app.api.clock.now();
    let link = ConnectLink {
        link_id: app.api.ids.fresh(),
        user_id: caller.user_id(),
        of_profile,
        platforms,
        consents,
        return_url,
        created_at: now,
        expires_at: now + lifetime,
        revision: 0,
        browser: None,
        flows: Vec::new(),
        has_ended: false,
    };
    let secret = app.connect_flows().create_link(&link).await.map_err(ConnectionsError::from)?;
    audit::Entry::new(audit::Event::ConnectLinkMade).user(caller.user_id()).address(caller.ip).write();
    let response = contract::ConnectLink {
        id: link.link_id.get(),
        url: format!("{}/connect-links/{}", app.api.origin, secret.expose_secret()).into(),
        expires_at: Timestamp(link.expires_at),
    };
    Ok((StatusCode::CREATED, Json(response)))
}

fn lifetime(fields: &mut Fields) -> TimeDelta {
    let (min, max) = (MIN_LIFETIME.num_seconds(), MAX_LIFETIME.num_seconds());
    let FieldValue::Value(seconds) = fields.integer("expires_in") else { return DEFAULT_LIFETIME };
    match i64::try_from(seconds) {
        Ok(seconds) if (min..=max).contains(&seconds) => TimeDelta::seconds(seconds),
        _ => {
            fields.add("expires_in", format_args!("must be from {min} to {max} seconds"));
            DEFAULT_LIFETIME
        }
    }
}

impl App {
    async fn required_profile(&self, owner: Owner, fields: &mut Fields) -> Result<Option<ProfileRef>, StorageError> {
        let id = match fields.integer("profile_id") {
            FieldValue::Value(id) => id,
            FieldValue::Invalid => return Ok(None),
            FieldValue::Absent | FieldValue::Null => {
                fields.add("profile_id", "is required");
                return Ok(None);
            }
        };
        self.found_profile(owner, ProfileId::new(id), fields).await
    }

    /// `None` if the post needs no consent.
    async fn requested_consents(
        &self,
        user_id: UserId,
        of_profile: Option<&ProfileRef>,
        id: u64,
        fields: &mut Fields,
    ) -> Result<Option<LinkConsents>, StorageError> {
        // `profile_id` has an error of its own.
        let Some(profile) = of_profile else { return Ok(None) };
        let owner = Owner { user_id, limited_to: Some(profile.profile_id) };
        let post = match PostId::new(id) {
            Some(id) => self.api.store.post(owner, id).await?,
            None => None,
        };
        let Some(post) = post else {
            fields.add("post_id", "is not a post of this profile; GET /posts?profile_id= lists them");
            return Ok(None);
        };
        if !post.accepts_consents() {
            fields.add(
                "post_id",
                format_args!("is {}; only a draft or a failed post waits for a consent", post.status.as_str()),
            );
            return Ok(None);
        }
        let connections = self.api.store.connections(owner).await?;
        let accounts = post.accounts_awaiting_consent(&connections);
        let account = |id| connections.iter().find(|it| it.connection_id == id);
        let mut unpublished = post.targets.iter().filter(|it| it.status != TargetStatus::Published);
        let reason = if unpublished.any(|it| account(it.connection_id).is_none()) {
            "has an account that is no longer connected; remove the account from the post"
        } else if accounts.is_empty() {
            "needs no consent: every account has one, or its platform has no consent_options for this post"
        } else if accounts.iter().any(|it| account(*it).is_some_and(|it| it.needs_reconnection)) {
            "has an account with needs_reconnection; ask your customer to connect it again with a link without post_id"
        } else {
            return Ok(Some(LinkConsents { post_id: post.post_id, accounts, are_given: false }));
        };
        fields.add("post_id", reason);
        Ok(None)
    }

    /// The platforms of a link; none for all.
    fn listed_platforms(&self, fields: &mut Fields) -> Vec<String> {
        let Some(entries) = fields.bounded_list("platforms", MAX_PLATFORMS).value() else { return Vec::new() };
        if entries.is_empty() {
            fields.add("platforms", "may not be empty; without the field, the customer may choose any platform");
        }
        let mut platforms = BTreeSet::new();
        for (index, entry) in entries.into_iter().enumerate() {
            match entry {
                Value::String(name) if self.platforms.get(&name).is_some() => {
                    platforms.insert(name);
                }
                _ => {
                    let names = self.platforms.names().join(", ");
                    fields.add(&format!("platforms.{index}"), format_args!("must be one of: {names}"));
                }
            }
        }
        platforms.into_iter().collect()
    }
}
