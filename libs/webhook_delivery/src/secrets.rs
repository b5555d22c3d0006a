use chrono::{DateTime, Utc};
use domain::webhook::{WebhookEndpoint, WebhookSecret};
use storage::{EndpointRecord, webhook_context};

use crate::WebhookService;
use crate::error::WebhooksError;

impl WebhookService {
    /// Bound to this endpoint.
    pub async fn seal_secret(
        &self,
        endpoint: &WebhookEndpoint,
        secret: &WebhookSecret,
    ) -> Result<Vec<u8>, WebhooksError> {
        let context = webhook_context(endpoint.user_id, endpoint.webhook_id);
        Ok(self.sealer.seal(secret.expose().as_bytes(), &context).await?)
    }

    /// Newest first.
    pub(crate) async fn secrets(
        &self,
        record: &EndpointRecord,
        now: DateTime<Utc>,
    ) -> Result<Vec<WebhookSecret>, WebhooksError> {
        let endpoint = &record.endpoint;
        let context = webhook_context(endpoint.user_id, endpoint.webhook_id);
        let mut secrets = Vec::new();
        for sealed in record.secrets.signing(now) {
            let plain = self.sealer.open(sealed, &context).await?;
            let text = String::from_utf8(plain).map_err(|_| WebhooksError::Unreadable)?;
            secrets.push(WebhookSecret::parse(text.into()).ok_or(WebhooksError::Unreadable)?);
        }
        Ok(secrets)
    }
}
