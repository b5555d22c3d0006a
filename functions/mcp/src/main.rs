use cloud::aws;
use mcp::config::Config;
use mcp::{App, router};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    aws::init_logs();
    aws::install_tls();

    // Made once per process and shared by every request.
    let config = Config::from_env()?;
    let app = App::new(config)?;

    lambda_http::run(api::lambda::with_client_ip(router(app))).await
}
