//! The webhooks function on Lambda. The gateway, its queue and a schedule invoke it.

use std::sync::Arc;

use api::Api;
use cloud::aws;
use cloud::events::EventBridge;
use cloud::seal::{Envelope, KmsKeys};
use cloud::webhook_queue::SqsWebhookQueue;
use egress::AddressPolicy;
use lambda_http::{Adapter, Error, LambdaEvent, Service, service_fn};
use permits::HeldPermits;
use storage::Table;
use webhook_delivery::{HttpEndpointClient, SigningKeys, WebhookService, egress_clients};
use webhooks::config::Config;
use webhooks::{App, Invocation, router};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    aws::init_logs();

    // Created once per process and shared by all invocations.
    let config = Config::from_env()?;
    let aws = aws::config()?;
    let api = Api::from_env(&aws)?;
    let keys = KmsKeys::new(aws_sdk_kms::Client::new(&aws), config.kms_key_id);
    let sealer = Envelope::new(keys, api.clock.clone());
    let egress = egress_clients(AddressPolicy::PublicOnly);
    let webhooks = WebhookService {
        store: api.store.clone(),
        clock: api.clock.clone(),
        random: api.random.clone(),
        ids: api.ids.clone(),
        keys: SigningKeys::new(api.store.clone(), sealer.clone()),
        sealer,
        client: Arc::new(HttpEndpointClient(egress.clone())),
        queue: Arc::new(SqsWebhookQueue::new(aws_sdk_sqs::Client::new(&aws), config.queue_url, api.clock.clone())),
        events: Arc::new(EventBridge::new(&aws, config.event_bus)),
        held_permits: HeldPermits::new(api.random.clone()),
    };
    let app = App { api: api.clone(), egress, webhooks: webhooks.clone() };
    aws::warm_up(api.store.warm_up(Table::Grants)).await;

    let routes = api::lambda::with_client_ip(api::finish(router(app), api));
    lambda_runtime::run(service_fn(async |event: LambdaEvent<Invocation>| {
        let LambdaEvent { payload, context, .. } = event;
        Ok::<_, Error>(match payload {
            Invocation::Request(request) => {
                let response = Adapter::from(routes.clone()).call(LambdaEvent::new(*request, context)).await;
                serde_json::to_value(response?)?
            }
            Invocation::Batch(batch) => serde_json::to_value(webhook_delivery::take(&webhooks, batch).await)?,
            Invocation::Tick => {
                webhooks.tick().await?;
                serde_json::Value::Null
            }
        })
    }))
    .await
}
