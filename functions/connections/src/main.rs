//! Connections on Lambda.

use std::sync::Arc;

use api::Api;
use cloud::aws;
use cloud::events::EventBridge;
use cloud::seal::{Envelope, KmsKeys};
use connections::App;
use connections::config::Config;

#[tokio::main]
async fn main() -> Result<(), lambda_http::Error> {
    aws::init_logs();
    let aws = aws::config().await;
    let config = Config::from_env()?;
    let api = Api::from_env(&aws)?;
    let app = App {
        platforms: publishing::registry()?,
        sealer: Envelope::new(KmsKeys::new(aws_sdk_kms::Client::new(&aws), config.kms_key_id), api.clock.clone()),
        events: Arc::new(EventBridge::new(aws_sdk_eventbridge::Client::new(&aws), config.event_bus)),
        plans: config.plans,
        api: api.clone(),
    };
    lambda_http::run(api::lambda::with_client_ip(api::finish(connections::router(app), api))).await
}
