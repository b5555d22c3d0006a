//! Plays scenes and reports the result of each.

use std::time::Instant;

use crate::{
    error::Result,
    report::{Line, Report},
};

pub type Figures = Vec<(&'static str, i64)>;

pub struct Scenes<'a> {
    pub part: &'static str,
    pub report: &'a mut Report,
}

impl Scenes<'_> {
    /// Plays a scene; returns its result, `None` when it failed.
    pub async fn play<T>(&mut self, name: &str, scene: impl Future<Output = Result<T>>) -> Option<T> {
        let started = Instant::now();
        let (ended, error) = match scene.await {
            Ok(ended) => (Some(ended), None),
            Err(error) => (None, Some(error)),
        };
        self.report.add(Line { name: format!("{}: {name}", self.part), took: started.elapsed(), error });
        ended
    }

    /// Plays a scene that measures something, and reports its figures below this name.
    pub async fn measure(&mut self, name: &str, scene: impl Future<Output = Result<Figures>>) {
        for (what, value) in self.play(name, scene).await.unwrap_or_default() {
            self.report.add_figure(format!("{}: {name}: {what}", self.part), value);
        }
    }
}
