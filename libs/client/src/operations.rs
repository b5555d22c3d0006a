//! One function for each operation of the OpenAPI document, in its order.

use secrecy::SecretString;

use crate::{
    AccessTokenBody, ApiResponse, AttemptList, ChoiceList, Client, ConnectLink, ConnectionDetails, ConnectionList,
    ConnectionRequest, ConnectionRequestStatus, CreateMedium, DeviceAuthorization, DeviceCodeRequest, Error,
    IdempotencyKey, ListPosts, ListProfiles, MediumView, NewConnectLink, NewPost, NewProfile, NewWebhook, PlatformList,
    Post, PostChanges, PostList, Profile, ProfileChanges, ProfileList, TokenRequest, User, Validation, Webhook,
    WebhookChanges, WebhookDelivery, WebhookDeliveryList, WebhookKey, WebhookList, WebhookWithSecret,
};

type CallResult<T> = Result<ApiResponse<T>, Error>;

/// `None` means all.
#[derive(Clone, Debug, Default)]
pub struct ListConnections {
    pub provider: Option<String>,
    /// `active` or `needs_reconnection`.
    pub status: Option<String>,
    pub profile_id: Option<u64>,
}

/// `None` means the service's default.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListAttempts {
    /// 1 to 100, default 15.
    pub per_page: Option<u64>,
    /// From 1.
    pub page: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct ListDeliveries {
    /// 1 to 100, default 15.
    pub per_page: Option<u64>,
    /// The value of `meta.next` of the page before.
    pub before: Option<String>,
}

impl Client {
    /// `deviceCode.store`: starts the device flow.
    pub async fn create_device_code(&self, request: &DeviceCodeRequest) -> CallResult<DeviceAuthorization> {
        self.post(&["auth", "device", "code"]).json(request)?.read().await
    }

    /// `deviceCode.token`: exchanges a device code for a token. Until the user has decided, the API
    /// refuses with the code `authorization_pending`.
    pub async fn exchange_device_code(&self, device_code: &SecretString) -> CallResult<AccessTokenBody> {
        let body = TokenRequest { device_code: device_code.clone() };
        self.post(&["auth", "device", "token"]).json(&body)?.read().await
    }

    /// `connectLink.store`: a page on which a customer connects accounts for a profile.
    pub async fn create_connect_link(&self, link: &NewConnectLink) -> CallResult<ConnectLink> {
        self.post(&["connect-links"]).json(link)?.read().await
    }

    /// `connection.index`
    pub async fn list_connections(&self, filter: &ListConnections) -> CallResult<ConnectionList> {
        let call = self.get(&["connections"]).query("provider", filter.provider.as_deref());
        let call = call.query("status", filter.status.as_deref());
        call.query("profile_id", filter.profile_id).read().await
    }

    /// `connectionOAuth.store`: starts to connect an account, of a profile or your own.
    pub async fn begin_connection(&self, platform: &str, profile: Option<u64>) -> CallResult<ConnectionRequest> {
        self.post(&["connections", "connect", platform]).query("profile_id", profile).read().await
    }

    /// `connectionOAuth.status`
    pub async fn poll_connection(&self, platform: &str, state_token: &str) -> CallResult<ConnectionRequestStatus> {
        self.get(&["connections", "connect", platform, "status", state_token]).read().await
    }

    /// `connection.destroy`
    pub async fn delete_connection(&self, connection: u64) -> Result<(), Error> {
        self.delete(&["connections", &connection.to_string()]).expect_success().await
    }

    /// `connection.show`
    pub async fn show_connection(&self, connection: u64) -> CallResult<ConnectionDetails> {
        self.get(&["connections", &connection.to_string()]).read().await
    }

    /// `connection.choices`: the values of an option.
    pub async fn list_choices(&self, connection: u64, option: &str, query: Option<&str>) -> CallResult<ChoiceList> {
        let call = self.get(&["connections", &connection.to_string(), "choices", option]);
        call.query("query", query).read().await
    }

    /// `media.store`: requests an upload URL, or has the service fetch a file.
    pub async fn create_medium(&self, medium: &CreateMedium, key: Option<&IdempotencyKey>) -> CallResult<MediumView> {
        self.post(&["media"]).key(key).json(medium)?.read().await
    }

    /// `platform.index`
    pub async fn list_platforms(&self) -> CallResult<PlatformList> {
        self.get(&["platforms"]).read().await
    }

    /// `post.index`
    pub async fn list_posts(&self, filter: &ListPosts) -> CallResult<PostList> {
        self.get(&["posts"]).parameters(filter)?.read().await
    }

    /// `post.store`. With a key, the call is repeated when there is no response, and never creates
    /// a second post.
    pub async fn create_post(&self, post: &NewPost, key: Option<&IdempotencyKey>) -> CallResult<Post> {
        self.post(&["posts"]).key(key).json(post)?.read().await
    }

    /// `post.validate`: checks whether a post could be scheduled, and stores nothing.
    pub async fn validate_post(&self, post: &NewPost) -> CallResult<Validation> {
        self.post(&["posts", "validate"]).repeatable().json(post)?.read().await
    }

    /// `post.destroy`. Conditional on the revision, if there is one.
    pub async fn delete_post(&self, post: u64, revision: Option<u64>) -> Result<(), Error> {
        self.delete(&["posts", &post.to_string()]).if_match(revision).expect_success().await
    }

    /// `post.show`
    pub async fn show_post(&self, post: u64) -> CallResult<Post> {
        self.get(&["posts", &post.to_string()]).read().await
    }

    /// `post.update`. Conditional on the revision, if there is one.
    pub async fn change_post(&self, post: u64, changes: &PostChanges, revision: Option<u64>) -> CallResult<Post> {
        self.patch(&["posts", &post.to_string()]).if_match(revision).json(changes)?.read().await
    }

    /// `post.attempts`: the calls to platforms, newest first.
    pub async fn list_attempts(&self, post: u64, which: &ListAttempts) -> CallResult<AttemptList> {
        let call = self.get(&["posts", &post.to_string(), "attempts"]);
        call.query("per_page", which.per_page).query("page", which.page).read().await
    }

    /// `profile.index`
    pub async fn list_profiles(&self, filter: &ListProfiles) -> CallResult<ProfileList> {
        self.get(&["profiles"]).parameters(filter)?.read().await
    }

    /// `profile.store`
    pub async fn create_profile(&self, profile: &NewProfile) -> CallResult<Profile> {
        self.post(&["profiles"]).json(profile)?.read().await
    }

    /// `profile.destroy`. With `erase`, the service also deletes the posts, files and records of the profile.
    pub async fn delete_profile(&self, profile: u64, erase: bool) -> Result<(), Error> {
        let call = self.delete(&["profiles", &profile.to_string()]);
        call.query("erase", erase.then_some(true)).expect_success().await
    }

    /// `profile.show`
    pub async fn show_profile(&self, profile: u64) -> CallResult<Profile> {
        self.get(&["profiles", &profile.to_string()]).read().await
    }

    /// `profile.update`
    pub async fn change_profile(&self, profile: u64, changes: &ProfileChanges) -> CallResult<Profile> {
        self.patch(&["profiles", &profile.to_string()]).json(changes)?.read().await
    }

    /// `user.show`: the owner of the token.
    pub async fn show_user(&self) -> CallResult<User> {
        self.get(&["user"]).read().await
    }

    /// `webhook.index`
    pub async fn list_webhooks(&self) -> CallResult<WebhookList> {
        self.get(&["webhooks"]).read().await
    }

    /// `webhook.store`. Only this response and that of `rotate_secret` contain the secret.
    pub async fn create_webhook(&self, webhook: &NewWebhook) -> CallResult<WebhookWithSecret> {
        self.post(&["webhooks"]).json(webhook)?.read().await
    }

    /// `webhook.key`: the key with which the deployment signs.
    pub async fn show_webhook_key(&self) -> CallResult<WebhookKey> {
        self.get(&["webhooks", "key"]).read().await
    }

    /// `webhook.destroy`
    pub async fn delete_webhook(&self, webhook: u64) -> Result<(), Error> {
        self.delete(&["webhooks", &webhook.to_string()]).expect_success().await
    }

    /// `webhook.show`
    pub async fn show_webhook(&self, webhook: u64) -> CallResult<Webhook> {
        self.get(&["webhooks", &webhook.to_string()]).read().await
    }

    /// `webhook.update`
    pub async fn change_webhook(&self, webhook: u64, changes: &WebhookChanges) -> CallResult<Webhook> {
        self.patch(&["webhooks", &webhook.to_string()]).json(changes)?.read().await
    }

    /// `webhook.deliveries`: the messages to a webhook endpoint.
    pub async fn list_deliveries(&self, webhook: u64, filter: &ListDeliveries) -> CallResult<WebhookDeliveryList> {
        let call = self.get(&["webhooks", &webhook.to_string(), "deliveries"]).query("per_page", filter.per_page);
        call.query("before", filter.before.as_deref()).read().await
    }

    /// `webhook.redeliver`
    pub async fn redeliver(&self, webhook: u64, delivery: &str) -> CallResult<WebhookDelivery> {
        self.post(&["webhooks", &webhook.to_string(), "deliveries", delivery, "redeliver"]).read().await
    }

    /// `webhook.rotate`
    pub async fn rotate_secret(&self, webhook: u64) -> CallResult<WebhookWithSecret> {
        self.post(&["webhooks", &webhook.to_string(), "rotate"]).read().await
    }

    /// `webhook.test`
    pub async fn test_webhook(&self, webhook: u64) -> CallResult<WebhookDelivery> {
        self.post(&["webhooks", &webhook.to_string(), "test"]).read().await
    }
}
