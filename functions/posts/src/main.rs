//! The posts function: settings, clients, routes, hand over.

use api::Api;
use posts::{App, router};
use publishing::Publishing;

#[tokio::main]
async fn main() -> Result<(), lambda_http::Error> {
    cloud::aws::init_logs();

    // Once per process; every request shares it.
    let aws = cloud::aws::config().await;
    let api = Api::from_env(&aws)?;
    let app = App { api: api.clone(), publishing: Publishing::from_env(&aws)? };

    lambda_http::run(api::lambda::with_client_ip(api::finish(router(app), api))).await
}
