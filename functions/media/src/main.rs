use api::Api;
use cloud::bucket::Bucket;
use domain::media::MAX_FETCHED_PICTURE_BYTES;
use egress::AddressPolicy;
use egress::fetch::{FETCH_TIMEOUT, Fetcher};
use media::config::Config;
use media::{App, router};
use storage::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    cloud::aws::init_logs();

    // Created once per process and shared by every request.
    let aws = cloud::aws::config()?;
    let config = Config::from_env()?;
    let api = Api::from_env(&aws)?;
    let app = App {
        api: api.clone(),
        bucket: Bucket::new(&aws, &config.bucket),
        fetcher: Fetcher::new(AddressPolicy::PublicOnly, FETCH_TIMEOUT),
        limits: config.limits,
        plans: config.plans,
        file_key: config.file_key,
        max_file_bytes: MAX_FETCHED_PICTURE_BYTES,
    };
    cloud::aws::warm_up(api.store.warm_up(Table::Grants)).await;

    lambda_http::run(api::lambda::with_client_ip(api::finish(router(app), api))).await
}
