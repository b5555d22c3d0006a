//! `infra/action`: a workflow posts once, however often its job runs.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use steps::ROOT;
use tempfile::TempDir;

use crate::{
    checks,
    deployment::{Deployment, User, fresh},
    ensure,
    error::{Result, TestError, same},
    harness::binary,
    http_response::integer,
    moment,
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!("action", [rerun_job_does_not_post_again, old_run_is_not_continued])
}

/// A run of a workflow, with the file from which its age is read instead of GitHub's API.
struct Run {
    folder: TempDir,
    id: String,
    words: String,
    to: i64,
}

impl Run {
    fn new(content: &str, connection: &Value, began: DateTime<Utc>) -> Result<Self> {
        let (folder, id) = (TempDir::new()?, moment::now().timestamp_micros().to_string());
        let runs = folder.path().join("repos/harbour/site/actions/runs");
        fs::create_dir_all(&runs)?;
        let run_json = json!({ "created_at": began.format("%Y-%m-%dT%H:%M:%SZ").to_string() });
        fs::write(runs.join(&id), run_json.to_string())?;
        Ok(Self { folder, id, words: content.to_owned(), to: integer(connection, "id")? })
    }

    /// Runs the action's script, as attempt `number` of the job does.
    async fn attempt(&self, user: &User<'_>, number: u32) -> Result<Output> {
        let social = binary("social")?;
        let program_folder = social.parent().unwrap_or(Path::new("/")).display();
        let path = format!("{program_folder}:{}", std::env::var("PATH").unwrap_or_default());
        let folder = self.folder.path();
        let mut script = Command::new(Path::new(ROOT).join("infra/action/post"));
        script.env_clear().env("PATH", path).env("HOME", folder).current_dir(folder);
        script.envs([
            ("SOCIAL_URL", user.deployment.origin()),
            ("SOCIAL_TOKEN", user.api.token()),
            ("GITHUB_REPOSITORY", "harbour/site"),
            ("GITHUB_SHA", "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"),
            ("GITHUB_RUN_ID", &self.id),
            ("GITHUB_RUN_ATTEMPT", &number.to_string()),
            ("GITHUB_API_URL", &format!("file://{}", folder.display())),
            ("GITHUB_OUTPUT", &folder.join("output").display().to_string()),
            ("POST_NAME", "post"),
            ("POST_TEXT", &self.words),
            ("POST_TO", &format!("{}\n", self.to)),
            ("POST_AT", ""),
            ("POST_MEDIA", ""),
            ("POST_ALT", ""),
            ("POST_OPTIONS", "language=en"),
        ]);
        Ok(tokio::task::spawn_blocking(move || script.output()).await??)
    }

    /// The id of the post that the action printed last.
    fn post(&self) -> Result<i64> {
        let output = fs::read_to_string(self.folder.path().join("output"))?;
        let id = output.lines().last().and_then(|it| it.strip_prefix("post=")?.parse().ok());
        id.ok_or_else(|| TestError::new(format!("no post id in {output:?}")))
    }
}

fn ensure_success(output: &Output) -> Result {
    let to_text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    ensure!(output.status.success(), "{}: {}{}", output.status, to_text(&output.stdout), to_text(&output.stderr));
    Ok(())
}

async fn rerun_job_does_not_post_again(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let content = fresh("from a workflow; $(touch it) `id`");
    let run = Run::new(&content, &connection, moment::now())?;

    ensure_success(&run.attempt(&user, 1).await?)?;
    let post = run.post()?;
    let together = futures::join!(run.attempt(&user, 2), run.attempt(&user, 3));
    ensure_success(&together.0?)?;
    ensure_success(&together.1?)?;
    user.reaches(post, "published", 30).await?;
    ensure_success(&run.attempt(&user, 4).await?)?;

    same(run.post()?, post, "the post of every attempt")?;
    same(deployment.timeline(&content).await?.len(), 1, "how often it is public")?;
    let listed = user.api.get("/posts").await?.ok(200)?;
    same(&listed["meta"]["total"], &json!(1), "posts")
}

async fn old_run_is_not_continued(deployment: &Deployment) -> Result {
    let mut user = deployment.new_user().await?;
    let connection = user.connect(0).await?;
    let run = Run::new(&fresh("too late"), &connection, moment::now() - TimeDelta::days(2))?;

    let refused = run.attempt(&user, 2).await?;

    ensure!(!refused.status.success(), "a run of two days ago was continued");
    ensure!(String::from_utf8_lossy(&refused.stdout).contains("Start a new one to post."), "it does not say why");
    let listed = user.api.get("/posts").await?.ok(200)?;
    same(&listed["meta"]["total"], &json!(0), "posts")
}
