use api::Api;
use posts::{App, router};
use scheduling::Scheduling;
use storage::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    cloud::aws::init_logs();

    // Created once per process and shared by every request.
    let aws = cloud::aws::config()?;
    let api = Api::from_env(&aws)?;
    let scheduling = Scheduling::from_env(&aws, api.store.clone())?;
    let app = App { api: api.clone(), scheduling };
    cloud::aws::warm_up(api.store.warm_up(Table::Grants)).await;

    lambda_http::run(api::lambda::with_client_ip(api::finish(router(app), api))).await
}
