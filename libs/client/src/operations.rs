//! A function for each operation of the API's document, in its order.

use secrecy::SecretString;

use crate::{
    AccessTokenBody, ApiResponse, ChoiceList, Client, ConnectionDetails, ConnectionList, ConnectionRequest,
    ConnectionRequestStatus, CreateMedium, DeviceAuthorization, DeviceCodeRequest, Error, IdempotencyKey, MediumView,
    NewPost, NewWebhook, PlatformList, Post, PostChanges, PostList, PostStatus, TokenRequest, User, Validation,
    Webhook, WebhookChanges, WebhookDelivery, WebhookDeliveryList, WebhookKey, WebhookList, WebhookWithSecret,
};

/// What an operation answers.
type Answered<T> = Result<ApiResponse<T>, Error>;

/// Which accounts are listed; `None` is all.
#[derive(Clone, Debug, Default)]
pub struct ListConnections {
    /// Of this platform.
    pub provider: Option<String>,
    /// `active` or `needs_reconnection`.
    pub status: Option<String>,
}

/// Which posts are listed; `None` is as the service has it.
#[derive(Clone, Debug, Default)]
pub struct ListPosts {
    /// That stand there.
    pub status: Option<PostStatus>,
    /// How many on a page, 1 to 100; 15 without.
    pub per_page: Option<u64>,
    /// Which page, from 1.
    pub page: Option<u64>,
    /// `created_at` (without) or `scheduled_at`.
    pub sort: Option<String>,
    /// `desc` (without) or `asc`.
    pub direction: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct ListDeliveries {
    /// How many, 1 to 100; 15 without.
    pub per_page: Option<u64>,
    /// What `meta.next` of the page before said.
    pub before: Option<String>,
}

impl Client {
    /// Starts the device flow: `deviceCode.store`.
    pub async fn create_device_code(&self, request: &DeviceCodeRequest) -> Answered<DeviceAuthorization> {
        self.post(&["auth", "device", "code"]).json(request)?.read().await
    }

    /// Exchanges a device code for a token: `deviceCode.token`. Until the user
    /// has decided, it is refused with the code `authorization_pending`.
    pub async fn exchange_device_code(&self, device_code: &SecretString) -> Answered<AccessTokenBody> {
        let body = TokenRequest { device_code: device_code.clone() };
        self.post(&["auth", "device", "token"]).json(&body)?.read().await
    }

    /// Lists accounts: `connection.index`.
    pub async fn list_connections(&self, which: &ListConnections) -> Answered<ConnectionList> {
        let call = self.get(&["connections"]).query("provider", which.provider.as_deref());
        call.query("status", which.status.as_deref()).read().await
    }

    /// Begins to connect an account: `connectionOAuth.store`.
    pub async fn begin_connection(&self, platform: &str) -> Answered<ConnectionRequest> {
        self.post(&["connections", "connect", platform]).read().await
    }

    /// Tells how a request to connect stands: `connectionOAuth.status`.
    pub async fn poll_connection(&self, platform: &str, state_token: &str) -> Answered<ConnectionRequestStatus> {
        self.get(&["connections", "connect", platform, "status", state_token]).read().await
    }

    /// Disconnects an account: `connection.destroy`.
    pub async fn delete_connection(&self, connection: u64) -> Result<(), Error> {
        self.delete(&["connections", &connection.to_string()]).done().await
    }

    /// Shows an account: `connection.show`.
    pub async fn show_connection(&self, connection: u64) -> Answered<ConnectionDetails> {
        self.get(&["connections", &connection.to_string()]).read().await
    }

    /// Lists the values of an option: `connection.choices`.
    pub async fn list_choices(&self, connection: u64, option: &str, query: Option<&str>) -> Answered<ChoiceList> {
        let call = self.get(&["connections", &connection.to_string(), "choices", option]);
        call.query("query", query).read().await
    }

    /// Asks where to upload a file, or has one fetched: `media.store`.
    pub async fn create_medium(&self, medium: &CreateMedium, key: Option<&IdempotencyKey>) -> Answered<MediumView> {
        self.post(&["media"]).key(key).json(medium)?.read().await
    }

    /// Lists the platforms: `platform.index`.
    pub async fn list_platforms(&self) -> Answered<PlatformList> {
        self.get(&["platforms"]).read().await
    }

    /// Lists posts: `post.index`.
    pub async fn list_posts(&self, which: &ListPosts) -> Answered<PostList> {
        let call = self.get(&["posts"]).query("status", which.status.as_ref().map(PostStatus::as_str));
        let call = call.query("per_page", which.per_page).query("page", which.page);
        call.query("sort", which.sort.as_deref()).query("direction", which.direction.as_deref()).read().await
    }

    /// Creates a post: `post.store`. With a key it is tried again when no
    /// answer came, and never made twice.
    pub async fn create_post(&self, post: &NewPost, key: Option<&IdempotencyKey>) -> Answered<Post> {
        self.post(&["posts"]).key(key).json(post)?.read().await
    }

    /// Says whether a post would be scheduled, and keeps nothing: `post.validate`.
    pub async fn validate_post(&self, post: &NewPost) -> Answered<Validation> {
        self.post(&["posts", "validate"]).repeatable().json(post)?.read().await
    }

    /// Deletes a post, if it still has this revision: `post.destroy`.
    pub async fn delete_post(&self, post: u64, revision: Option<u64>) -> Result<(), Error> {
        self.delete(&["posts", &post.to_string()]).if_match(revision).done().await
    }

    /// Shows a post: `post.show`.
    pub async fn show_post(&self, post: u64) -> Answered<Post> {
        self.get(&["posts", &post.to_string()]).read().await
    }

    /// Changes a post, if it still has this revision: `post.update`.
    pub async fn change_post(&self, post: u64, changes: &PostChanges, revision: Option<u64>) -> Answered<Post> {
        self.patch(&["posts", &post.to_string()]).if_match(revision).json(changes)?.read().await
    }

    /// Shows whose the token is: `user.show`.
    pub async fn show_user(&self) -> Answered<User> {
        self.get(&["user"]).read().await
    }

    /// Lists webhooks: `webhook.index`.
    pub async fn list_webhooks(&self) -> Answered<WebhookList> {
        self.get(&["webhooks"]).read().await
    }

    /// Creates a webhook: `webhook.store`. Its secret is in the answer alone.
    pub async fn create_webhook(&self, webhook: &NewWebhook) -> Answered<WebhookWithSecret> {
        self.post(&["webhooks"]).json(webhook)?.read().await
    }

    /// Shows the key with which the deployment signs: `webhook.key`.
    pub async fn show_webhook_key(&self) -> Answered<WebhookKey> {
        self.get(&["webhooks", "key"]).read().await
    }

    /// Deletes a webhook: `webhook.destroy`.
    pub async fn delete_webhook(&self, webhook: u64) -> Result<(), Error> {
        self.delete(&["webhooks", &webhook.to_string()]).done().await
    }

    /// Shows a webhook: `webhook.show`.
    pub async fn show_webhook(&self, webhook: u64) -> Answered<Webhook> {
        self.get(&["webhooks", &webhook.to_string()]).read().await
    }

    /// Changes a webhook: `webhook.update`.
    pub async fn change_webhook(&self, webhook: u64, changes: &WebhookChanges) -> Answered<Webhook> {
        self.patch(&["webhooks", &webhook.to_string()]).json(changes)?.read().await
    }

    /// Lists what was sent to a webhook: `webhook.deliveries`.
    pub async fn list_deliveries(&self, webhook: u64, which: &ListDeliveries) -> Answered<WebhookDeliveryList> {
        let call = self.get(&["webhooks", &webhook.to_string(), "deliveries"]).query("per_page", which.per_page);
        call.query("before", which.before.as_deref()).read().await
    }

    /// Sends a delivery again: `webhook.redeliver`.
    pub async fn redeliver(&self, webhook: u64, delivery: &str) -> Answered<WebhookDelivery> {
        self.post(&["webhooks", &webhook.to_string(), "deliveries", delivery, "redeliver"]).read().await
    }

    /// Replaces the secret of a webhook: `webhook.rotate`.
    pub async fn rotate_secret(&self, webhook: u64) -> Answered<WebhookWithSecret> {
        self.post(&["webhooks", &webhook.to_string(), "rotate"]).read().await
    }

    /// Sends a test to a webhook: `webhook.test`.
    pub async fn test_webhook(&self, webhook: u64) -> Answered<WebhookDelivery> {
        self.post(&["webhooks", &webhook.to_string(), "test"]).read().await
    }
}
