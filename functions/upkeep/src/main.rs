//! The upkeep function on Lambda, invoked by a schedule or by the operator.

use std::sync::Arc;

use connecting::CredentialService;
use housekeeping::Housekeeping;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use platforms::AppUnavailable;
use upkeep::UpkeepEvent;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    cloud::aws::init_logs();
    let aws = cloud::aws::config()?;
    let credentials = CredentialService::from_env(&aws)?;
    let housekeeping = Housekeeping::from_env(&aws, &credentials)?;
    let platforms = platform_config::platforms(&aws, Arc::new(AppUnavailable))?;
    let connectable = platform_config::platforms(&aws, Arc::new(AppUnavailable))?;

    lambda_runtime::run(service_fn(async |event: LambdaEvent<UpkeepEvent>| {
        if let Some(user) = event.payload.erase_user {
            return Ok::<_, Error>(Some(upkeep::erase(&housekeeping, &connectable, user).await?));
        }
        upkeep::round(&housekeeping, &credentials, &platforms).await?;
        Ok(None)
    }))
    .await
}
