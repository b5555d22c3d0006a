//! Servers that echo secrets of a request.

use std::time::Duration;

use domain::clock::Clock;
use fakes::conformance::fake_platform::{Call, FakePlatform, InjectedFault};
use fakes::mastodon::Server;

use super::{Attack, AttackTargets};
use crate::{
    attacks,
    deployment::{Deployment, fresh},
    ensure,
    error::Result,
    harness::{Harness, LIFTED},
    http_response::text,
    moment,
    platforms::connecting::connect,
};

pub(super) fn attacks() -> Vec<Attack> {
    attacks!(11, [
        "a server echoes token and text of a post in its error", "the message is shown without both, and the log has neither" => secrets_in_error_message;
    ])
}

async fn secrets_in_error_message(_: &AttackTargets) -> Result<String> {
    let server: Server = Server::start(Clock::System).await;
    let addresses: Vec<_> = server.addresses().iter().map(ToString::to_string).collect();
    let mut arguments: Vec<_> = addresses.iter().flat_map(|it| ["--allow-fetch-from", it]).collect();
    arguments.extend(LIFTED);
    let stack = Harness::start(&arguments).await?;
    let deployment = Deployment::new(stack.ready().clone()).await?;
    let user = deployment.new_user().await?;
    let account = connect(&user, &server).await?;
    let tokens = server.access_tokens();
    ensure!(!tokens.is_empty(), "the server gave no token");
    ensure!(server.echo_requests(), "the server's errors have no message");
    server.inject_fault(Call::Publish, InjectedFault::Refused, usize::MAX);

    let content = fresh("a secret until it is out");
    let id = user.schedule(&content, &[&account], 1).await?;
    let failed = moment::eventually(Duration::from_mins(1), "a refused post", || async {
        let post = user.show(id).await?;
        Ok((post["status"] == "failed").then_some(post))
    })
    .await?;

    let message = text(&failed["platforms"][0], "error_message")?;
    ensure!(message.contains("[…]"), "the server's message is not shown: {message}");
    let log = stack.log();
    for secret in tokens.iter().chain([&content]) {
        ensure!(!message.contains(secret.as_str()), "the message has {secret}: {message}");
        ensure!(!log.contains(secret.as_str()), "the log has {secret}");
    }
    Ok(message.to_owned())
}
