use std::sync::Arc;

use api::Api;
use cloud::aws;
use cloud::events::EventBridge;
use cloud::seal::{Envelope, KmsKeys};
use connections::config::Config;
use connections::{App, StoredVault};
use storage::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    aws::init_logs();

    // Created once per process and shared by every request.
    let config = Config::from_env()?;
    let aws = aws::config()?;
    let api = Api::from_env(&aws)?;
    let keys = KmsKeys::new(aws_sdk_kms::Client::new(&aws), config.kms_key_id);
    let sealer = Envelope::new(keys, api.clock.clone());
    let vault = StoredVault::new(api.store.clone(), sealer.clone(), api.clock.clone());
    let app = App {
        platforms: platform_config::platforms(&aws, Arc::new(vault))?,
        vocabulary: platforms::vocabulary(),
        sealer,
        events: Arc::new(EventBridge::new(&aws, config.event_bus)),
        plans: config.plans,
        guests: config.guests,
        connect_links: config.connect_links,
        api: api.clone(),
    };
    aws::warm_up(api.store.warm_up(Table::Grants)).await;

    lambda_http::run(api::lambda::with_client_ip(api::finish(connections::router(app), api))).await
}
