//! The posts function on Lambda.

use api::Api;
use posts::config::Config;
use posts::{App, router};
use publishing::Publishing;
use storage::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    cloud::aws::init_logs();

    // Created once per process and shared by every request.
    let aws = cloud::aws::config()?;
    let api = Api::from_env(&aws)?;
    let publishing = Publishing { budgets: Config::from_env()?.budgets, ..Publishing::from_env(&aws)? };
    let app = App { api: api.clone(), publishing };
    cloud::aws::warm_up(api.store.warm_up(Table::Grants)).await;

    lambda_http::run(api::lambda::with_client_ip(api::finish(router(app), api))).await
}
