//! The delivery function on Lambda, invoked by the queue.

use std::sync::Arc;

use aws_lambda_events::sqs::SqsEvent;
use delivery::config::file_addresses;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use platforms::AppUnavailable;
use publishing::Publishing;
use storage::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    cloud::aws::init_logs();
    let aws = cloud::aws::config()?;
    let platforms = platform_config::platforms(&aws, Arc::new(AppUnavailable))?;
    let publishing = Publishing::from_env(&aws, file_addresses(&platforms)?)?;
    cloud::aws::warm_up(publishing.store.warm_up(Table::Connections)).await;

    lambda_runtime::run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        Ok::<_, Error>(delivery::deliver(&publishing, &platforms, event.payload).await)
    }))
    .await
}
