//! `social import`: creates one post for each line of a file.
//!
//! A line that `social export` wrote is recognized by its post. A post that exists in this account,
//! or was public when it was exported, is skipped.
//!
//! Two things prevent a second post of a line: its idempotency key, which the service remembers for
//! a day, and the report, which is written before and after each request and remembers it for good.
//! A request in flight when the program died is sent again under its key, with the same body; if it
//! is older than the service remembers, the user has to check it.

mod line;
mod plan;
mod reply;
mod report;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
use client::{
    Client, Connection, Error, ErrorResponse, ListConnections, NewPost, NewPostMedia, NewThreadEntry, RetryPolicy,
};
use indicatif::ProgressBar;

use self::line::{Broken, Line, lines};
use self::plan::Plan;
use self::reply::Reply;
use self::report::{Before, LineOutcome, Report};
use crate::arguments::Import;
use crate::error::CliError;
use crate::export::{for_each_post, format};
use crate::output::{self, is_interactive, notice, plain, plain_lines};
use crate::posting::{entries, send};
use crate::session::Session;
use crate::when::Zone;

/// In bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The service remembers a key for 24 hours. Two hours less, for clocks that differ and for a request
/// that waits an hour for rate limits ([`LIMITS`]).
const REMEMBERED: TimeDelta = TimeDelta::hours(22);

/// How many one-minute rate limits one request waits for; a few hundred lines or posts reach them.
pub(crate) const LIMITS: u32 = 60;

struct Importer<'a> {
    session: &'a Session,
    arguments: &'a Import,
    client: Client,
    accounts: Vec<Connection>,
    zone: Zone,
    /// Empty if no line has an id.
    existing: HashSet<u64>,
    report: Report,
    sums: Sums,
}

#[derive(Default)]
struct Sums {
    posted: usize,
    before: usize,
    existing: usize,
    public: usize,
    failed: usize,
    unknown: usize,
}

pub(crate) async fn run(session: &Session, arguments: &Import) -> Result<(), CliError> {
    let file = &arguments.file;
    let with_file_name = |error: std::io::Error| CliError::Usage(format!("{}: {error}", file.display()));
    let format = format(arguments.format, file);
    let format = format.ok_or_else(|| {
        CliError::Usage("the file name ends in neither .csv nor .jsonl; add --format csv or --format jsonl".to_owned())
    })?;
    if MAX_FILE < fs::metadata(file).map_err(with_file_name)?.len() {
        return Err(CliError::Usage(format!("{} is larger than 64 MiB; split it", file.display())));
    }
    let bytes = fs::read(file).map_err(with_file_name)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let lines = lines(format, &bytes, &name, arguments.copies)?;

    let client = session.client.clone().with_retry_policy(RetryPolicy { limits: LIMITS, ..RetryPolicy::default() });
    let account = match client.show_user().await {
        Ok(user) => format!("{}#{}", client.base().origin(), user.value.id),
        // Reports are per user: without knowing the user, a line could be posted twice, or never.
        Err(error) if error.status() == Some(403) => {
            let why =
                "an import needs a token with the scope user:read, to know whose posts it creates; run `social login`";
            return Err(CliError::Refused(why.to_owned()));
        }
        Err(error) => return Err(error.into()),
    };
    let zone = match &arguments.zone {
        Some(zone_name) => Zone::parse(zone_name).ok_or_else(|| {
            CliError::Usage(format!("{zone_name:?} isn't a time zone; use one such as Europe/Berlin"))
        })?,
        None => Zone::Here,
    };
    let accounts = client.list_connections(&ListConnections::default()).await?.value.data;
    let existing =
        if lines.iter().flatten().any(|it| it.exported.is_some()) { existing(&client).await? } else { HashSet::new() };
    let report = Report::open(&report_path(arguments), &account)?;
    let sums = Sums::default();
    let importing = Importer { session, arguments, client, accounts, zone, existing, report, sums };
    importing.all(lines).await
}

async fn existing(client: &Client) -> Result<HashSet<u64>, CliError> {
    let mut ids = HashSet::new();
    let read = for_each_post(client, |post| {
        ids.insert(post.id);
        Ok(())
    });
    match read.await {
        Ok(()) => Ok(ids),
        Err(CliError::Refused(why)) => Err(CliError::Refused(format!(
            "the existing posts could not be read, which an import of exported lines needs (or use --copies): {why}"
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

impl Importer<'_> {
    async fn all(mut self, lines: Vec<Result<Line, Broken>>) -> Result<(), CliError> {
        let bar = if is_interactive() { ProgressBar::new(lines.len() as u64) } else { ProgressBar::hidden() };
        for line in lines {
            let ended = match line {
                Ok(line) => self.one(&line).await,
                Err(broken) => self.broken(&broken, None),
            };
            if let Err(failure) = ended {
                bar.abandon();
                notice(&format!("{}; run the same command again to import the remaining lines", self.summary()));
                let is_clear = self.sums.unknown == 0;
                return Err(if is_clear { failure } else { CliError::Unknown(failure.to_string()) });
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        self.end()
    }

    /// An error ends the import.
    async fn one(&mut self, line: &Line) -> Result<(), CliError> {
        let now = Utc::now();
        if !self.arguments.dry_run {
            match self.report.before(line.key()) {
                Before::Posted => {
                    self.sums.before += 1;
                    return Ok(());
                }
                Before::InFlight { body, since } if now - since < REMEMBERED => {
                    return self.send(line, *body, true).await;
                }
                Before::InFlight { since, .. } => {
                    self.report_too_old(line, since);
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
        let plan = match Plan::from_line(line, &self.zone, self.folder()) {
            Ok(plan) => plan,
            Err(broken) => return self.broken(&broken, Some(line)),
        };
        let platforms = match entries(&self.accounts, &plan.to, &plan.options) {
            Ok(platforms) => platforms,
            Err(failure) => return self.broken(&Broken::new(line.number, "to", &failure), Some(line)),
        };
        let mut post = NewPost {
            platforms: Some(platforms),
            scheduled_at: plan.at,
            external_id: plan.external_id,
            labels: (!plan.labels.is_empty()).then_some(plan.labels),
            ..NewPost::new(plan.content)
        };
        if self.arguments.dry_run {
            post.thread = (!plan.thread.is_empty()).then(|| plan.thread.iter().map(Reply::without_files).collect());
            return self.check(line, &post).await;
        }
        post.media = match send(&self.client, &plan.files, &plan.alt, line.key().as_str()).await {
            Ok(media) => Some(media),
            Err(CliError::Refused(why)) => return self.refused(line, "media", &why),
            Err(failure) => return Err(failure),
        };
        post.thread = match self.thread(line, &plan.thread).await {
            Ok(thread) => (!thread.is_empty()).then_some(thread),
            Err(CliError::Refused(why)) => return self.refused(line, "thread", &why),
            Err(failure) => return Err(failure),
        };
        self.send(line, post, false).await
    }

    async fn thread(&self, line: &Line, replies: &[Reply]) -> Result<Vec<NewThreadEntry>, CliError> {
        let mut thread = Vec::with_capacity(replies.len());
        for (at, reply) in replies.iter().enumerate() {
            let media = send(&self.client, &reply.files, &reply.alt, &format!("{} reply {at}", line.key())).await?;
            let media = Some(media).filter(|it: &Vec<NewPostMedia>| !it.is_empty());
            thread.push(NewThreadEntry { content: reply.content.clone(), media });
        }
        Ok(thread)
    }

    /// Paths in the file are relative to its folder.
    fn folder(&self) -> &Path {
        self.arguments.file.parent().unwrap_or(Path::new(""))
    }

    /// Sends a line for the first time, or `again` after an unknown outcome.
    async fn send(&mut self, line: &Line, post: NewPost, again: bool) -> Result<(), CliError> {
        self.report.write(line, LineOutcome::Sending { body: Box::new(post.clone()) })?;
        let error = match self.client.create_post(&post, Some(line.key())).await {
            Ok(made) => {
                self.sums.posted += 1;
                let (status, scheduled_at) = (made.status.clone(), made.scheduled_at);
                return self.report_line(line, LineOutcome::Posted { post: made.id, status, scheduled_at });
            }
            Err(error) => error,
        };
        match error {
            Error::Refused(refusal) if refusal.status != 429 => {
                if !has_no_post(&refusal, again) {
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
            // Nothing changed, and the next lines would fail too.
            Error::Refused(_) | Error::NotSignedIn(_) | Error::Unreachable(_) => {
                if !again {
                    self.report
                        .write(line, LineOutcome::Refused { field: String::new(), message: error.to_string() })?;
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
                self.sums.failed += 1;
                self.print_error(line.number, "", &refusal.to_string());
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn broken(&mut self, broken: &Broken, line: Option<&Line>) -> Result<(), CliError> {
        self.sums.failed += 1;
        self.print_error(broken.number, &broken.field, &broken.why);
        let Some(line) = line.filter(|_| !self.arguments.dry_run) else { return Ok(()) };
        self.report_line(line, LineOutcome::Refused { field: broken.field.clone(), message: broken.why.clone() })
    }

    fn refused(&mut self, line: &Line, field: &str, message: &str) -> Result<(), CliError> {
        self.sums.failed += 1;
        self.print_error(line.number, field, message);
        self.report_line(line, LineOutcome::Refused { field: field.to_owned(), message: message.to_owned() })
    }

    fn unknown(&mut self, line: &Line, message: &str) -> Result<(), CliError> {
        self.sums.unknown += 1;
        self.print_error(line.number, "", message);
        self.report_line(line, LineOutcome::Unknown { message: message.to_owned() })
    }

    fn report_too_old(&mut self, line: &Line, since: DateTime<Utc>) {
        self.sums.unknown += 1;
        let why = format!(
            "it was sent {}, its outcome is unknown, and its idempotency key has expired. Check `social posts list`: if \
             the post is not there, remove the line's entries from {} and run this command again",
            since.to_rfc3339(),
            report_path(self.arguments).display()
        );
        self.print_error(line.number, "", &why);
    }

    fn report_line(&mut self, line: &Line, what: LineOutcome) -> Result<(), CliError> {
        let written = self.report.write(line, what)?;
        if self.session.json {
            // The report has the result, so a closed pipe does not stop the import.
            let _ = output::line(&written);
        }
        Ok(())
    }

    /// Prints an error of a line: `posts.csv:4: at: …`.
    fn print_error(&self, number: u64, field: &str, why: &str) {
        let file = self.arguments.file.display();
        let field = if field.is_empty() { String::new() } else { format!("{}: ", plain(field)) };
        notice(&format!("{file}:{number}: {field}{}", plain_lines(why)));
    }

    fn summary(&self) -> String {
        let Sums { posted, before, failed, unknown, .. } = &self.sums;
        let posted_now = if self.arguments.dry_run { "valid" } else { "created" };
        let file = self.arguments.file.display();
        format!("{file}: {posted} {posted_now}, {before} skipped (already created), {failed} failed, {unknown} unknown")
    }

    fn end(self) -> Result<(), CliError> {
        notice(&self.summary());
        for (what, count) in [("exist", self.sums.existing), ("are public", self.sums.public)] {
            if 0 < count {
                notice(&format!("Skipped posts that {what} already: {count} (--copies creates them again)"));
            }
        }
        if !self.arguments.dry_run {
            notice(&format!("Results by line: {}", report_path(self.arguments).display()));
        }
        match (self.sums.unknown, self.sums.failed) {
            (0, 0) => Ok(()),
            (0, 1) => Err(CliError::Refused("1 line failed; fix it and run the same command again".to_owned())),
            (0, failed) => {
                Err(CliError::Refused(format!("{failed} lines failed; fix them and run the same command again")))
            }
            _ => Err(CliError::Unknown("the outcome of some lines is unknown; run the same command again".to_owned())),
        }
    }
}

/// Whether a refusal proves that no post of this line exists. The service looks up the key before it
/// validates a post; an earlier refusal says nothing about an attempt whose response was lost. A key
/// that was used with another body has a post, and one that is in use (409) may get one.
fn has_no_post(refusal: &ErrorResponse, again: bool) -> bool {
    let is_used = refusal.errors.contains_key("idempotency-key") || refusal.status == 409;
    !is_used && (!again || refusal.status == 422)
}

/// The column of a field of the API.
fn column(field: &str) -> &'static str {
    match field.split('.').collect::<Vec<_>>().as_slice() {
        ["scheduled_at", ..] => "at",
        ["platforms", _, "options", ..] => "options",
        ["platforms", _, "thread", ..] | ["thread", ..] => "thread",
        ["platforms", _, "media", ..] | ["media", ..] => "media",
        ["platforms", _, "content", ..] | ["content", ..] => "content",
        ["platforms", ..] => "to",
        ["external_id", ..] => "external_id",
        ["labels", ..] => "labels",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_validated_post_proves_that_no_post_exists() {
        let refusal = |status, field: &str| ErrorResponse {
            status,
            errors: [(field.to_owned(), vec!["is not right".to_owned()])].into(),
            ..ErrorResponse::default()
        };
        for (status, field, first, again) in [
            (422, "content", true, true),
            (403, "", true, false),
            (404, "", true, false),
            (409, "", false, false),
            (422, "idempotency-key", false, false),
        ] {
            assert_eq!(has_no_post(&refusal(status, field), false), first, "{status} {field}");
            assert_eq!(has_no_post(&refusal(status, field), true), again, "{status} {field} again");
        }
    }
}
