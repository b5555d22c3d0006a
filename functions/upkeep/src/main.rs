//! The upkeep function, woken by a schedule.

use std::sync::Arc;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use platforms::Withheld;
use publishing::Publishing;
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    cloud::aws::init_logs();
    let aws = cloud::aws::config()?;
    let publishing = Publishing::from_env(&aws)?;
    let platforms = deployment::platforms(&aws, Arc::new(Withheld))?;

    lambda_runtime::run(service_fn(async |_: LambdaEvent<Value>| {
        upkeep::round(&publishing, &platforms).await?;
        Ok::<(), Error>(())
    }))
    .await
}
