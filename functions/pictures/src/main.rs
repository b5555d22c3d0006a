//! The pictures function on Lambda, invoked by its queue.

use aws_lambda_events::sqs::SqsEvent;
use cloud::bucket::Bucket;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use pictures::config::Config;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    cloud::aws::init_logs();
    let aws = cloud::aws::config()?;
    let bucket = Bucket::new(&aws, &Config::from_env()?.bucket);

    lambda_runtime::run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        pictures::handle(&bucket, event.payload).await?;
        Ok::<_, Error>(())
    }))
    .await
}
