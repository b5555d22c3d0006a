//! Whether a status is among those of its account.

use domain::delivery::Published;

use super::api::{Api, Status};
use super::content;
use super::grant::Grant;
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
    /// The files of the one that is looked for.
    pub(super) media: &'a [String],
    pub(super) watch: &'a Watch,
}

/// The account's id on its server.
pub(super) fn account_of<'a>(job: &'a Job<'_>) -> Option<&'a str> {
    job.profile.account_id.split_once('/').map(|(_, id)| id)
}

impl Statuses<'_> {
    /// Looks for the job's status in what came after `before`.
    pub(super) async fn look_up(&self, before: Option<&Before>) -> Found {
        let Some(Before::Showed(before)) = before else { return Found::Forbidden };
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
    async fn compared(&self, status: &Status) -> Result<Likeness, Failure> {
        if status.is_edited() {
            return Ok(Likeness::Doubtful);
        }
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

    /// A file is shown by one status only, so its id tells even when the text
    /// was changed since.
    async fn likeness(&self, status: &Status) -> Result<Likeness, Failure> {
        if status.is_boost() || status.is_reply() {
            return Ok(Likeness::Other);
        }
        let (shown, ours) = (status.media_ids(), self.media);
        if !ours.is_empty() && shown.len() == ours.len() && ours.iter().all(|it| shown.contains(&it.as_str())) {
            return Ok(Likeness::It);
        }
        if self.grant.software.keeps_ids_of_files() && !(shown.is_empty() && ours.is_empty()) {
            return Ok(Likeness::Other);
        }
        // Some show a picture that is only linked to as if it were a file.
        let may_show = ours.len()..=ours.len() + self.job.text.matches("://").count();
        match self.compared(status).await? {
            Likeness::Same if !may_show.contains(&shown.len()) => Ok(Likeness::Doubtful),
            likeness => Ok(likeness),
        }
    }
}
