//! `social import`: a post of each line of a file, once.
//!
//! A line that `social export` wrote is known by its post. A post that exists in this account, or
//! was public when it was exported, is left out.
//!
//! Two things keep a line from being posted twice. Its idempotency key, by
//! which the service knows it for a day, and the report, which is written
//! before and after each request and knows it for good. What was under way when
//! the program died is sent again under its key, with the very same body; when
//! it is older than what the service remembers, it is left for people to look at.

mod line;
mod plan;
mod report;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
use client::{Client, Connection, Error, ListConnections, NewPost, Refusal, RetryPolicy};
use indicatif::ProgressBar;

use self::line::{Broken, Line, lines};
use self::plan::Plan;
use self::report::{Before, Report, What};
use crate::arguments::Import;
use crate::error::CliError;
use crate::export::{for_each_post, format};
use crate::output::{self, is_watched, notice, plain, plain_lines};
use crate::posting::{entries, send};
use crate::session::Session;
use crate::when::Zone;

/// The largest file that is read.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The service keeps the answer to a key for 24 hours; two for clocks that differ,
/// and for a request that waits out the limits of an hour ([`LIMITS`]).
const REMEMBERED: TimeDelta = TimeDelta::hours(22);

/// How many limits of a minute are waited out: a file of some hundred lines meets them.
const LIMITS: u32 = 60;

/// An import that is under way.
struct Importing<'a> {
    session: &'a Session,
    arguments: &'a Import,
    client: Client,
    accounts: Vec<Connection>,
    zone: Zone,
    /// Ids of the user's posts; empty where no line was exported.
    existing: HashSet<u64>,
    report: Report,
    sums: Sums,
}

/// How many lines ended how.
#[derive(Default)]
struct Sums {
    posted: usize,
    before: usize,
    existing: usize,
    public: usize,
    broken: usize,
    refused: usize,
    unknown: usize,
}

/// Makes a post of each line.
pub(crate) async fn run(session: &Session, arguments: &Import) -> Result<(), CliError> {
    let file = &arguments.file;
    let named = |error: std::io::Error| CliError::Usage(format!("{}: {error}", file.display()));
    let format = format(arguments.format, file);
    let format = format.ok_or_else(|| CliError::Usage("say by --format whether it is csv or jsonl".to_owned()))?;
    if MAX_FILE < fs::metadata(file).map_err(named)?.len() {
        return Err(CliError::Usage(format!("{}: is larger than 64 MiB; divide it", file.display())));
    }
    let bytes = fs::read(file).map_err(named)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let lines = lines(format, &bytes, &name, arguments.copies)?;

    let client = session.client.clone().with_retry_policy(RetryPolicy { limits: LIMITS, ..RetryPolicy::default() });
    let account = match client.show_user().await {
        Ok(user) => format!("{}#{}", client.base().origin(), user.value.id),
        // The report is each person's own: without knowing whose posts these are, a line
        // could be posted twice, or never.
        Err(error) if error.status() == Some(403) => {
            let why = "an import has to know whose posts these are: it needs a token with the scope user:read";
            return Err(CliError::Refused(why.to_owned()));
        }
        Err(error) => return Err(error.into()),
    };
    let zone = match &arguments.zone {
        Some(said) => Zone::parse(said).ok_or_else(|| CliError::Usage(format!("{said:?} is no time zone")))?,
        None => Zone::Here,
    };
    let accounts = client.list_connections(&ListConnections::default()).await?.value.data;
    let existing =
        if lines.iter().flatten().any(|it| it.exported.is_some()) { existing(&client).await? } else { HashSet::new() };
    let report = Report::open(&report_path(arguments), &account)?;
    let sums = Sums::default();
    let importing = Importing { session, arguments, client, accounts, zone, existing, report, sums };
    importing.all(lines).await
}

/// Ids of all posts of the user.
async fn existing(client: &Client) -> Result<HashSet<u64>, CliError> {
    let mut ids = HashSet::new();
    let read = for_each_post(client, |post| {
        ids.insert(post.id);
        Ok(())
    });
    match read.await {
        Ok(()) => Ok(ids),
        Err(CliError::Refused(why)) => Err(CliError::Refused(format!(
            "an import of exported lines has to read which posts exist; or use --copies. {why}"
        ))),
        Err(failure) => Err(failure),
    }
}

fn report_path(arguments: &Import) -> PathBuf {
    arguments.report.clone().unwrap_or_else(|| {
        let mut name = arguments.file.as_os_str().to_owned();
        name.push(".report.jsonl");
        name.into()
    })
}

impl Importing<'_> {
    async fn all(mut self, lines: Vec<Result<Line, Broken>>) -> Result<(), CliError> {
        let bar = if is_watched() { ProgressBar::new(lines.len() as u64) } else { ProgressBar::hidden() };
        for line in lines {
            let ended = match line {
                Ok(line) => self.one(&line).await,
                Err(broken) => self.broken(&broken, None),
            };
            if let Err(failure) = ended {
                bar.abandon();
                notice(&format!("{}; run the same command again for what is left", self.summary()));
                let is_clear = self.sums.unknown == 0;
                return Err(if is_clear { failure } else { CliError::Unknown(failure.to_string()) });
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        self.end()
    }

    /// One line. An error is one for which the rest cannot go on.
    async fn one(&mut self, line: &Line) -> Result<(), CliError> {
        let now = Utc::now();
        if !self.arguments.dry_run {
            match self.report.before(line.key()) {
                Before::Posted => {
                    self.sums.before += 1;
                    return Ok(());
                }
                Before::UnderWay { body, since } if now - since < REMEMBERED => {
                    return self.send(line, *body, true).await;
                }
                Before::UnderWay { since, .. } => {
                    self.too_old(line, since);
                    return Ok(());
                }
                Before::Nothing => {}
            }
        }
        if let Some(exported) = line.exported {
            if self.existing.contains(&exported.id) {
                self.sums.existing += 1;
                return Ok(());
            }
            if exported.is_public {
                self.sums.public += 1;
                return Ok(());
            }
        }
        let plan = match Plan::of(line, &self.zone, self.folder()) {
            Ok(plan) => plan,
            Err(broken) => return self.broken(&broken, Some(line)),
        };
        let platforms = match entries(&self.accounts, &plan.to, &plan.options) {
            Ok(platforms) => platforms,
            Err(failure) => return self.broken(&Broken::new(line.number, "to", &failure), Some(line)),
        };
        let mut post =
            NewPost { content: plan.content, platforms: Some(platforms), scheduled_at: plan.at, media: None };
        if self.arguments.dry_run {
            return self.check(line, &post).await;
        }
        post.media = match send(&self.client, &plan.files, &plan.alt, line.key().as_str()).await {
            Ok(media) => Some(media),
            Err(CliError::Refused(why)) => return self.refused(line, "media", &why),
            Err(failure) => return Err(failure),
        };
        self.send(line, post, false).await
    }

    /// Paths in the file count from where it is.
    fn folder(&self) -> &Path {
        self.arguments.file.parent().unwrap_or(Path::new(""))
    }

    /// Sends a line, for the first time or `again`, after one of which nobody knows how it
    /// ended.
    async fn send(&mut self, line: &Line, post: NewPost, again: bool) -> Result<(), CliError> {
        self.report.write(line, What::Sending { body: Box::new(post.clone()) })?;
        let error = match self.client.create_post(&post, Some(line.key())).await {
            Ok(made) => {
                self.sums.posted += 1;
                let (status, scheduled_at) = (made.status.clone(), made.scheduled_at);
                return self.tell(line, What::Posted { post: made.id, status, scheduled_at });
            }
            Err(error) => error,
        };
        match error {
            Error::Refused(refusal) if refusal.status != 429 => {
                if !there_is_none(&refusal, again) {
                    return self.unknown(line, &refusal.message);
                }
                let (field, message) = refusal
                    .errors
                    .iter()
                    .next()
                    .map_or(("", refusal.message.clone()), |it| (column(it.0), it.1.join("; ")));
                self.refused(line, field, &message)
            }
            Error::Unknown(_) | Error::Unreadable(_) => self.unknown(line, &error.to_string()),
            // Nothing happened now, and the rest would fare no better.
            Error::Refused(_) | Error::NotSignedIn(_) | Error::Unreachable(_) => {
                if !again {
                    self.report.write(line, What::Refused { field: String::new(), message: error.to_string() })?;
                }
                Err(if error.status() == Some(429) { CliError::Failed(error.to_string()) } else { error.into() })
            }
        }
    }

    async fn check(&mut self, line: &Line, post: &NewPost) -> Result<(), CliError> {
        match self.client.validate_post(post).await {
            Ok(_) => {
                self.sums.posted += 1;
                Ok(())
            }
            Err(Error::Refused(refusal)) if refusal.status != 429 => {
                self.sums.refused += 1;
                self.complain(line.number, "", &refusal.to_string());
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn broken(&mut self, broken: &Broken, line: Option<&Line>) -> Result<(), CliError> {
        self.sums.broken += 1;
        self.complain(broken.number, &broken.field, &broken.why);
        let Some(line) = line.filter(|_| !self.arguments.dry_run) else { return Ok(()) };
        self.tell(line, What::Refused { field: broken.field.clone(), message: broken.why.clone() })
    }

    fn refused(&mut self, line: &Line, field: &str, message: &str) -> Result<(), CliError> {
        self.sums.refused += 1;
        self.complain(line.number, field, message);
        self.tell(line, What::Refused { field: field.to_owned(), message: message.to_owned() })
    }

    fn unknown(&mut self, line: &Line, message: &str) -> Result<(), CliError> {
        self.sums.unknown += 1;
        self.complain(line.number, "", message);
        self.tell(line, What::Unknown { message: message.to_owned() })
    }

    fn too_old(&mut self, line: &Line, since: DateTime<Utc>) {
        self.sums.unknown += 1;
        let why = format!(
            "it was sent {} and nobody knows how that ended; the service has forgotten its key. Look at `social posts \
             list`: if it is not there, take its lines out of {} and run this again",
            since.to_rfc3339(),
            report_path(self.arguments).display()
        );
        self.complain(line.number, "", &why);
    }

    /// Writes to the report how a line ended.
    fn tell(&mut self, line: &Line, what: What) -> Result<(), CliError> {
        let written = self.report.write(line, what)?;
        if self.session.json {
            // The report has it: the lines that follow do not wait for whoever reads here.
            let _ = output::line(&written);
        }
        Ok(())
    }

    /// Says what is wrong with a line: `posts.csv:4: at: …`.
    fn complain(&self, number: u64, field: &str, why: &str) {
        let file = self.arguments.file.display();
        let field = if field.is_empty() { String::new() } else { format!("{}: ", plain(field)) };
        notice(&format!("{file}:{number}: {field}{}", plain_lines(why)));
    }

    fn summary(&self) -> String {
        let Sums { posted, before, broken, refused, unknown, .. } = &self.sums;
        let posted_now = if self.arguments.dry_run { "would be taken" } else { "posted" };
        let file = self.arguments.file.display();
        format!(
            "{file}: {posted} {posted_now}, {before} posted before, {} refused, {unknown} unknown",
            broken + refused
        )
    }

    fn end(self) -> Result<(), CliError> {
        notice(&self.summary());
        for (what, count) in [("exist", self.sums.existing), ("are public", self.sums.public)] {
            if 0 < count {
                notice(&format!("Posts that {what} already, left out: {count} (--copies makes copies of them)"));
            }
        }
        if !self.arguments.dry_run {
            notice(&format!("The result of each line: {}", report_path(self.arguments).display()));
        }
        let Sums { broken, refused, unknown, .. } = self.sums;
        match (unknown, refused, broken) {
            (0, 0, 0) => Ok(()),
            (0, 0, _) => Err(CliError::Usage("some lines are not right; put them right and run it again".to_owned())),
            (0, _, _) => Err(CliError::Refused("some lines were refused; put them right and run it again".to_owned())),
            _ => Err(CliError::Unknown("of some lines nobody knows how they ended; run it again".to_owned())),
        }
    }
}

/// Whether a refusal says that there is no post of this line. The service looks for the key
/// before it finds anything wrong with a post; what it refuses sooner says nothing of a try
/// whose answer was lost. A key that was used with another body has a post, and one that is
/// in use (409) may get one.
fn there_is_none(refusal: &Refusal, again: bool) -> bool {
    let is_used = refusal.errors.contains_key("idempotency-key") || refusal.status == 409;
    !is_used && (!again || refusal.status == 422)
}

/// The column in which a field of the API stands.
fn column(field: &str) -> &'static str {
    match field.split('.').collect::<Vec<_>>().as_slice() {
        ["scheduled_at", ..] => "at",
        ["platforms", _, "options", ..] => "options",
        ["platforms", _, "media", ..] | ["media", ..] => "media",
        ["platforms", _, "content", ..] | ["content", ..] => "content",
        ["platforms", ..] => "to",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_silence_only_a_look_at_the_post_says_that_there_is_none() {
        let refusal = |status, field: &str| Refusal {
            status,
            errors: [(field.to_owned(), vec!["is not right".to_owned()])].into(),
            ..Refusal::default()
        };
        for (status, field, first, again) in [
            (422, "content", true, true),
            (403, "", true, false),
            (404, "", true, false),
            (409, "", false, false),
            (422, "idempotency-key", false, false),
        ] {
            assert_eq!(there_is_none(&refusal(status, field), false), first, "{status} {field}");
            assert_eq!(there_is_none(&refusal(status, field), true), again, "{status} {field} again");
        }
    }
}
