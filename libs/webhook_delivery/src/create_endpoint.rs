use domain::id::UserId;
use domain::profile::ProfileRef;
use domain::webhook::{Creator, EndpointUrl, EventKind, WebhookEndpoint, WebhookSecret, WebhookSecrets};
use storage::{EndpointAdded, EndpointRecord};

use crate::WebhookService;
use crate::error::WebhooksError;

impl WebhookService {
    /// The endpoint is unverified. `None` if the user already has
    /// [`domain::webhook::MAX_ENDPOINTS`]. `created_by` is `None` for an endpoint that is created
    /// in a browser session.
    pub async fn create_endpoint(
        &self,
        user: UserId,
        of_profile: Option<ProfileRef>,
        url: EndpointUrl,
        events: Vec<EventKind>,
        created_by: Option<Creator>,
    ) -> Result<Option<(EndpointRecord, WebhookSecret)>, WebhooksError> {
        let endpoint = WebhookEndpoint::new(user, self.ids.fresh(), url, events, created_by, self.clock.now());
        let endpoint = WebhookEndpoint { of_profile, ..endpoint };
        let secret = WebhookSecret::random();
        let sealed = self.seal_secret(&endpoint, &secret).await?;
        let record = EndpointRecord { endpoint, secrets: WebhookSecrets::new(sealed) };
        let added = self.store.add_webhook(&record).await?;
        Ok((added == EndpointAdded::Added).then_some((record, secret)))
    }
}
