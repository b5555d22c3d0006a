//! The webhooks function on Lambda: woken by the gateway, by its queue, and by a
//! schedule.

use std::sync::Arc;

use api::Api;
use cloud::aws;
use cloud::events::EventBridge;
use cloud::notices::SqsNotices;
use cloud::seal::{Envelope, KmsKeys};
use lambda_http::{Adapter, Error, LambdaEvent, Service, service_fn};
use outbound::AddressPolicy;
use publishing::Places;
use storage::Table;
use webhooks::config::Config;
use webhooks::{App, OverHttp, SigningKeys, Woken, outbound_clients, router};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    aws::init_logs();

    // Made once per process and shared by all that wakes it.
    let config = Config::from_env()?;
    let aws = aws::config()?;
    let api = Api::from_env(&aws)?;
    let keys = KmsKeys::new(aws_sdk_kms::Client::new(&aws), config.kms_key_id);
    let sealer = Envelope::new(keys, api.clock.clone());
    let outbound = outbound_clients(AddressPolicy::PublicOnly);
    let app = App {
        keys: SigningKeys::new(api.store.clone(), sealer.clone()),
        sealer,
        calls: Arc::new(OverHttp(outbound.clone())),
        outbound,
        queue: Arc::new(SqsNotices::new(aws_sdk_sqs::Client::new(&aws), config.queue_url, api.clock.clone())),
        events: Arc::new(EventBridge::new(aws_sdk_eventbridge::Client::new(&aws), config.event_bus)),
        places: Places::default(),
        api: api.clone(),
    };
    aws::warm_up(api.store.warm_up(Table::Grants)).await;

    let routes = api::lambda::with_client_ip(api::finish(router(app.clone()), api));
    lambda_runtime::run(service_fn(async |event: LambdaEvent<Woken>| {
        let LambdaEvent { payload, context, .. } = event;
        Ok::<_, Error>(match payload {
            Woken::Request(request) => {
                let answer = Adapter::from(routes.clone()).call(LambdaEvent::new(*request, context)).await;
                serde_json::to_value(answer?)?
            }
            Woken::Batch(batch) => serde_json::to_value(webhooks::take(&app, batch).await)?,
            Woken::Tick => {
                app.tick().await?;
                serde_json::Value::Null
            }
        })
    }))
    .await
}
