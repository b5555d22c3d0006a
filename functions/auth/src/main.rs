use api::Api;
use auth::config::Config;
use auth::{App, ClientDocuments, Oidc, SignInMethod, router};
use egress::AddressPolicy;
use storage::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    cloud::aws::init_logs();

    // Made once per process and shared by every request.
    let aws = cloud::aws::config()?;
    let config = Config::from_env(&aws)?;
    let api = Api::from_env(&aws)?;
    let method = SignInMethod::Oidc(Oidc::new(config.oidc, &api.origin));
    let clients = ClientDocuments::new(AddressPolicy::PublicOnly);
    let app = App { api: api.clone(), method, clients, sign_up: config.sign_up };
    cloud::aws::warm_up(api.store.warm_up(Table::Grants)).await;

    lambda_http::run(api::lambda::with_client_ip(api::finish(router(app), api))).await
}
