//! Whether a status is among those of its account.

use domain::delivery::Published;

use super::api::{Api, Status};
use super::content;
use super::grant::Grant;
use super::preparation::{Progress, Uploaded};
use super::refused::Failure;
use super::watch::Watch;
use crate::job::Job;
use crate::recognition::{self, Before, Likeness, Timeline};

/// What the listing shows.
#[derive(Debug)]
pub(super) enum Found {
    /// It is public.
    Public(Published),
    /// One that looks the same is public, and nobody is known to have made it.
    Recognised(Published),
    /// Everything since was read, and it is not there.
    NotThere,
    /// It cannot be said now.
    Unclear {
        /// For the user.
        reason: String,
    },
    /// The grant is gone.
    Disconnected {
        /// For the user.
        reason: String,
    },
    /// The grant does not cover reading.
    Forbidden,
}

impl From<recognition::Found> for Found {
    fn from(found: recognition::Found) -> Self {
        match found {
            recognition::Found::Public(published) => Self::Public(published),
            recognition::Found::Recognised(published) => Self::Recognised(published),
            recognition::Found::NotThere => Self::NotThere,
            recognition::Found::Unclear { reason } => Self::Unclear { reason },
        }
    }
}

/// The statuses of a job's account, as they are when one of them is looked for.
pub(super) struct Statuses<'a> {
    pub(super) api: &'a Api,
    pub(super) grant: &'a Grant,
    pub(super) job: &'a Job<'a>,
    /// What its preparation has reached.
    pub(super) progress: &'a Progress,
    pub(super) watch: &'a Watch,
}

/// The account's id on its server.
pub(super) fn account_of<'a>(job: &'a Job<'_>) -> Option<&'a str> {
    job.profile.account_id.split_once('/').map(|(_, id)| id)
}

impl Statuses<'_> {
    /// Looks for the job's status in what came after `before`.
    pub(super) async fn look_up(&self) -> Found {
        let before = self.progress.before.as_ref();
        let before = match before {
            Some(Before::Showed(before)) if account_of(self.job).is_some() => before,
            Some(_) => return Found::Forbidden,
            None => return Found::Unclear { reason: "it was not read what was there before".to_owned() },
        };
        match recognition::look_for(self, before, self.job.claims, self.watch.now()).await {
            Ok(found) => found.into(),
            // The grant stands; what is lost with the others is the grant itself.
            Err(Failure::Refused(refused)) if refused.is_beyond_the_scopes() => Found::Forbidden,
            Err(Failure::Refused(refused)) if refused.is_lost_grant() => {
                Found::Disconnected { reason: refused.reason() }
            }
            Err(failure) => Found::Unclear { reason: failure.reason() },
        }
    }

    /// Likeness by words, and by nothing else.
    async fn by_words(&self, status: &Status) -> Result<Likeness, Failure> {
        let now = self.watch.now();
        let source = match status.source() {
            Some(source) => Some(source.to_owned()),
            None => self.api.source(self.grant, &self.job.credentials.access_token, &status.id, now).await?,
        };
        Ok(match source {
            Some(source) => content::likeness_of_source(&source, self.job.text),
            // Servers rewrite what they show, so that only sameness says anything.
            None if content::of_html(status.content()) == content::of_text(self.job.text) => Likeness::Same,
            None => Likeness::Doubtful,
        })
    }
}

#[async_trait::async_trait]
impl Timeline for Statuses<'_> {
    type Post = Status;
    type Failure = Failure;

    async fn page(&self, after: Option<&str>) -> Result<Vec<Status>, Failure> {
        let Some(account) = account_of(self.job) else { return Ok(Vec::new()) };
        let token = &self.job.credentials.access_token;
        self.api.statuses(self.grant, token, account, after, self.watch.now()).await
    }

    /// A file is shown by one status only, so its id or its address tells even
    /// when the text was changed since.
    fn likeness(&self, status: &Status) -> Option<Likeness> {
        if status.is_boost() || status.is_reply() {
            return Some(Likeness::Other);
        }
        let ours = &self.progress.media;
        let shows = |file: &Uploaded| status.shows(&file.id, file.url.as_deref());
        if !ours.is_empty() && status.files() == ours.len() && ours.iter().all(shows) {
            return Some(Likeness::It);
        }
        let ids_tell = self.grant.software.keeps_ids_of_files() && !(ours.is_empty() && status.files() == 0);
        ids_tell.then_some(Likeness::Other)
    }

    async fn compare(&self, status: &Status) -> Result<Likeness, Failure> {
        let ours = self.progress.media.len();
        // Some show a picture that is only linked to as if it were a file.
        let may_show = ours..=ours + self.job.text.matches("://").count();
        Ok(match self.by_words(status).await? {
            Likeness::Same if !may_show.contains(&status.files()) => Likeness::Doubtful,
            Likeness::Other if status.is_edited() => Likeness::Doubtful,
            likeness => likeness,
        })
    }
}
