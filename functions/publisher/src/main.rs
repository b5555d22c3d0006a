//! The publisher function on Lambda, invoked by a schedule.

use housekeeping::Outbox;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use publishing::Planner;
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    cloud::aws::init_logs();
    let aws = cloud::aws::config()?;
    let planner = Planner::from_env(&aws)?;
    let outbox = Outbox::from_env(&aws, planner.store.clone())?;

    lambda_runtime::run(service_fn(async |_: LambdaEvent<Value>| {
        publisher::tick(&planner, &outbox).await?;
        Ok::<(), Error>(())
    }))
    .await
}
