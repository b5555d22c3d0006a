//! Runs named checks, several at a time.

use std::{sync::Arc, time::Duration, time::Instant};

use futures::{StreamExt, future::BoxFuture, stream};

use crate::{
    deployment::Deployment,
    error::{Result, TestError},
    report::{Line, Report},
};

pub struct Check {
    pub area: &'static str,
    /// The claim that holds when the check passes.
    pub name: &'static str,
    /// Checks of one lane run one after the other; those without a lane run at any time.
    pub lane: Option<&'static str>,
    pub run: fn(Arc<Deployment>) -> BoxFuture<'static, Result>,
}

impl Check {
    pub fn title(&self) -> String {
        format!("{}: {}", self.area, self.name.replace('_', " "))
    }
}

/// Names the checks after their functions.
#[macro_export]
macro_rules! checks {
    ($area:literal, [$($name:ident),* $(,)?]) => { $crate::checks!($area, None, [$($name),*]) };
    ($area:literal, $lane:expr, [$($name:ident),* $(,)?]) => {
        vec![$($crate::runner::Check {
            area: $area,
            name: stringify!($name),
            lane: $lane,
            run: |deployment| Box::pin(async move { $name(&deployment).await }),
        }),*]
    };
}

const AT_MOST: Duration = Duration::from_mins(8);

pub async fn run(deployment: Arc<Deployment>, checks: Vec<Check>, jobs: usize, report: &mut Report) {
    let mut queues: Vec<Vec<Check>> = Vec::new();
    for check in checks {
        let same = check.lane.and_then(|lane| queues.iter_mut().find(|it| it[0].lane == Some(lane)));
        match same {
            Some(queue) => queue.push(check),
            None => queues.push(vec![check]),
        }
    }
    // The longest lanes begin first, so that none of them still runs alone at the end.
    queues.sort_by_key(|it| std::cmp::Reverse(it.len()));
    let queues = queues.into_iter().map(|queue| {
        let deployment = Arc::clone(&deployment);
        stream::iter(queue).then(move |check| run_one(Arc::clone(&deployment), check)).boxed()
    });
    let mut lines = stream::iter(queues).flatten_unordered(jobs);
    while let Some(line) = lines.next().await {
        report.add(line);
    }
}

async fn run_one(deployment: Arc<Deployment>, check: Check) -> Line {
    let started = Instant::now();
    // Each check is a task, so that a panic fails only this check.
    let task = tokio::spawn(tokio::time::timeout(AT_MOST, (check.run)(deployment)));
    let error = match task.await {
        Ok(Ok(Ok(()))) => None,
        Ok(Ok(Err(error))) => Some(error),
        Ok(Err(_)) => Some(TestError::new(format!("did not end within {AT_MOST:?}"))),
        Err(panic) => Some(TestError::from(panic)),
    };
    let name = check.title();
    Line { name, took: started.elapsed(), error }
}
