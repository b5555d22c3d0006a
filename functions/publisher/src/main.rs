//! The publisher function on Lambda, invoked by a schedule.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use publishing::Publishing;
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    cloud::aws::init_logs();
    let aws = cloud::aws::config()?;
    let publishing = Publishing::from_env(&aws)?;

    lambda_runtime::run(service_fn(async |_: LambdaEvent<Value>| {
        publisher::tick(&publishing).await?;
        Ok::<(), Error>(())
    }))
    .await
}
