//! The auth function: settings, clients, routes, hand over.

use api::Api;
use auth::config::Config;
use auth::{App, Oidc, router};

#[tokio::main]
async fn main() -> Result<(), lambda_http::Error> {
    cloud::aws::init_logs();

    // Once per process; every request shares it.
    let config = Config::from_env()?;
    let aws = cloud::aws::config().await;
    let api = Api::from_env(&aws)?;
    let oidc = Oidc::new(config.oidc, &api.origin, Oidc::http_client()?);
    let app = App { api: api.clone(), oidc, sign_up: config.sign_up };

    lambda_http::run(api::lambda::with_client_ip(api::finish(router(app), api))).await
}
