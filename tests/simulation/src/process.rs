//! A process: one invocation of a function, from its first call to its response. It may die at any
//! call, and then none of its code runs any further.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

tokio::task_local! {
    static CURRENT: Arc<Process>;
}

#[derive(Debug)]
pub(crate) struct Process {
    /// With a number, for the trace.
    pub(crate) name: String,
    dead: AtomicBool,
}

impl Process {
    /// Never returns.
    pub(crate) async fn die(&self) {
        self.dead.store(true, Ordering::Relaxed);
        std::future::pending::<()>().await;
    }
}

/// `None` for the simulation itself, which meets no faults.
pub(crate) fn current() -> Option<Arc<Process>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// `None` when the process died or exceeded the time limit of its function.
pub(crate) async fn run<T>(name: String, limit: Duration, work: Pin<Box<impl Future<Output = T>>>) -> Option<T> {
    let process = Arc::new(Process { name, dead: AtomicBool::new(false) });
    let mortal = KillableFuture { process: Arc::clone(&process), work: Some(work) };
    CURRENT.scope(process, tokio::time::timeout(limit, mortal)).await.ok().flatten()
}

struct KillableFuture<F> {
    process: Arc<Process>,
    work: Option<Pin<Box<F>>>,
}

impl<F: Future> Future for KillableFuture<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = &mut self.work else { return Poll::Ready(None) };
        let polled = work.as_mut().poll(context);
        if self.process.dead.load(Ordering::Relaxed) {
            self.work = None;
            return Poll::Ready(None);
        }
        polled.map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn killed_process_runs_nothing_more() {
        let has_continued = AtomicBool::new(false);
        let work = async {
            let other = async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                has_continued.store(true, Ordering::Relaxed);
            };
            let end = async {
                current().unwrap().die().await;
            };
            tokio::join!(other, end);
        };

        assert_eq!(run("posts#1".to_owned(), Duration::from_secs(9), Box::pin(work)).await, None);
        tokio::time::sleep(Duration::from_secs(2)).await;

        assert!(!has_continued.load(Ordering::Relaxed));
    }

    #[tokio::test(start_paused = true)]
    async fn process_is_stopped_at_its_time_limit() {
        let slow = tokio::time::sleep(Duration::from_secs(61));

        assert_eq!(run("delivery#1".to_owned(), Duration::from_mins(1), Box::pin(slow)).await, None);
        assert!(current().is_none());
    }
}
