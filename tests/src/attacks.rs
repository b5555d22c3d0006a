//! Attacks on a running service, one file per attack surface.

mod bodies;
mod codes;
mod connect_flows;
mod connect_links;
mod echoes;
mod files;
mod isolation;
mod laptop;
mod link_consents;
mod mix_up;
mod pictures;
mod posts;
mod programs;
mod reach;
mod slow_servers;
mod struck;
mod submissions;
mod tenants;
mod tokens;
mod uploads;
mod webhooks;

use std::{sync::Arc, time::Duration, time::Instant};

use futures::{StreamExt, future::BoxFuture, stream};
use serde_json::{Value, json};

use crate::{
    deployment::Deployment,
    error::{Result, TestError},
    file_server,
    harness::{Harness, LIFTED},
    report::say,
};

pub struct Attack {
    /// Attacks on the same thing have the same number.
    pub number: u8,
    pub what: &'static str,
    pub expected: &'static str,
    /// Returns what was observed if the service is safe, otherwise an error.
    pub run: fn(Arc<AttackTargets>) -> BoxFuture<'static, Result<String>>,
}

/// Takes the number, and for each attack what is tried, what is expected, and the function that
/// tries it.
#[macro_export]
macro_rules! attacks {
    ($number:literal, [$($what:literal, $expected:literal => $name:ident);* $(;)?]) => {
        vec![$($crate::attacks::Attack {
            number: $number,
            what: $what,
            expected: $expected,
            run: |arena| Box::pin(async move { $name(&arena).await }),
        }),*]
    };
}

pub fn attacks() -> Vec<Attack> {
    let mut all: Vec<_> = [
        bodies::attacks(),
        codes::attacks(),
        echoes::attacks(),
        files::attacks(),
        isolation::attacks(),
        connect_flows::attacks(),
        connect_links::attacks(),
        laptop::attacks(),
        link_consents::attacks(),
        mix_up::attacks(),
        pictures::attacks(),
        posts::attacks(),
        programs::attacks(),
        reach::attacks(),
        slow_servers::attacks(),
        struck::attacks(),
        submissions::attacks(),
        tenants::attacks(),
        tokens::attacks(),
        uploads::attacks(),
        webhooks::attacks(),
    ]
    .into_iter()
    .flatten()
    .collect();
    all.sort_by_key(|it: &Attack| it.number);
    all
}

/// An attack that needs other settings starts a [`Harness`] of its own.
pub struct AttackTargets {
    lifted: Deployment,
    limited: Deployment,
    // The stacks run as long as these are not dropped.
    _stacks: [Harness; 2],
}

impl AttackTargets {
    pub async fn start() -> Result<Self> {
        let files = file_server::start().await?;
        let allowed = files.to_string();
        let mut arguments = vec!["--allow-fetch-from", &allowed];
        arguments.extend(LIFTED);
        let (lifted, limited) = (Harness::start(&arguments).await?, Harness::start(&[]).await?);
        Ok(Self {
            lifted: Deployment::new(lifted.ready().clone()).await?.with_files(files),
            limited: Deployment::new(limited.ready().clone()).await?,
            _stacks: [lifted, limited],
        })
    }

    /// Without rate limits, for attacks that are not about them.
    pub fn lifted(&self) -> &Deployment {
        &self.lifted
    }

    /// With the limits of the specification.
    pub fn limited(&self) -> &Deployment {
        &self.limited
    }
}

pub struct Outcome {
    attack: Attack,
    took: Duration,
    seen: Result<String>,
}

impl Outcome {
    pub fn held(&self) -> bool {
        self.seen.is_ok()
    }

    fn seen(&self) -> String {
        match &self.seen {
            Ok(seen) => seen.clone(),
            Err(error) => error.to_string(),
        }
    }

    pub fn json(&self) -> Value {
        json!({
            "number": self.attack.number,
            "attack": self.attack.what,
            "expected": self.attack.expected,
            "seen": self.seen(),
            "held": self.held(),
            "seconds": self.took.as_secs_f64(),
        })
    }
}

const AT_MOST: Duration = Duration::from_mins(5);

/// Runs a few at a time, and returns the outcomes in the order of the attacks.
pub async fn run(deployments: Arc<AttackTargets>, attacks: Vec<Attack>) -> Vec<Outcome> {
    let outcomes = attacks.into_iter().map(|attack| {
        let deployments = Arc::clone(&deployments);
        async move {
            let began = Instant::now();
            // A task, so that a panic ends only this attack.
            let observed = match tokio::spawn(tokio::time::timeout(AT_MOST, (attack.run)(deployments))).await {
                Ok(Ok(observed)) => observed,
                Ok(Err(_)) => Err(TestError::new(format!("did not end within {AT_MOST:?}"))),
                Err(panic) => Err(TestError::from(panic)),
            };
            Outcome { attack, took: began.elapsed(), seen: observed }
        }
    });
    stream::iter(outcomes).buffered(4).collect().await
}

pub fn print(outcomes: &[Outcome]) {
    say("|  # | attack | expected | seen | |\n|---:|---|---|---|---|");
    for it in outcomes {
        let mark = if it.held() { "held" } else { "WENT THROUGH" };
        let observed = it.seen().replace('|', "/").replace('\n', " ");
        say(&format!("| {:2} | {} | {} | {observed} | {mark} |", it.attack.number, it.attack.what, it.attack.expected));
    }
}
