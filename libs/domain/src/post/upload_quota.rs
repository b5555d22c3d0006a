//! The uploads of a post that a platform counts against a quota of the deployment
//! ([`Rules::uploads_per_day`](crate::rules::Rules::uploads_per_day)).

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::{Accounts, Post, PostStatus, Target, TargetStatus};
use crate::media::Attachment;
use crate::upload_day::UploadDay;

impl Post {
    /// Assigns each upload to the day on which it begins. `lead` is the time between the upload and the publication of
    /// files on a platform. Uploads of drafts have no day; targets that are not scheduled keep theirs.
    #[must_use]
    pub fn with_upload_days(
        mut self,
        accounts: &Accounts,
        lead: impl Fn(&str, &[Attachment]) -> Option<TimeDelta>,
        now: DateTime<Utc>,
    ) -> Self {
        let is_scheduled = match self.status {
            PostStatus::Scheduled => true,
            PostStatus::Draft => false,
            PostStatus::Publishing | PostStatus::Published | PostStatus::Failed => return self,
        };
        let publish_at = self.scheduled_at.unwrap_or(now);
        let day = |target: &Target| {
            accounts.get(&target.connection_id)?.rules.uploads_per_day()?;
            let lead = lead(&target.provider, self.media_of(target)).unwrap_or_default();
            is_scheduled.then(|| UploadDay::from_instant((publish_at - lead).max(now)))
        };
        let days: Vec<_> = self.targets.iter().map(day).collect();
        for (target, day) in self.targets.iter_mut().zip(days) {
            if target.status != TargetStatus::Published {
                target.upload_day = day;
            }
        }
        self
    }
}

/// The changes of the number of uploads by platform and day when a request replaces one version of a post by another. Only
/// pending targets release or take one: an upload that has ended stays counted, and another try counts again.
pub fn upload_changes<'a>(before: Option<&'a Post>, after: Option<&'a Post>) -> BTreeMap<(&'a str, UploadDay), i64> {
    let mut changes = BTreeMap::new();
    for (post, by) in [(before, -1), (after, 1)] {
        let targets = post.into_iter().flat_map(|it| &it.targets);
        for target in targets.filter(|it| it.status == TargetStatus::Pending) {
            if let Some(day) = target.upload_day {
                *changes.entry((target.provider.as_str(), day)).or_default() += by;
            }
        }
    }
    changes.retain(|_, by| *by != 0);
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{PostRule, Rule, Rules};
    use crate::testing::{a_connection, a_post, a_user, accounts, noon};

    fn days(post: &Post) -> Vec<Option<UploadDay>> {
        post.targets.iter().map(|it| it.upload_day).collect()
    }

    #[test]
    fn pending_uploads_count_on_the_day_they_begin() {
        let user = a_user();
        let (mut channel, other) = (a_connection(&user), a_connection(&user));
        channel.rules = Rules::new("Example", [Rule::OfPost(PostRule::UploadsPerDay { max: 100 })]);
        let connections = [channel, other];
        let lead = |_: &str, _: &[Attachment]| Some(TimeDelta::minutes(30));
        let tomorrow = UploadDay::from_instant(noon()).ends_at();
        let at = |at: DateTime<Utc>| {
            a_post(&user, Some(at), &connections).with_upload_days(&accounts(&connections), lead, noon())
        };
        let (today, next) = (UploadDay::from_instant(noon()), UploadDay::from_instant(tomorrow));

        let scheduled = at(tomorrow + TimeDelta::minutes(29));
        assert_eq!(days(&scheduled), [Some(today), None]);
        let moved = at(tomorrow + TimeDelta::minutes(30));
        assert_eq!(days(&moved), [Some(next), None]);
        let platform = connections[0].provider.as_str();
        assert_eq!(upload_changes(None, Some(&scheduled)), BTreeMap::from([((platform, today), 1)]));
        let expected = BTreeMap::from([((platform, today), -1), ((platform, next), 1)]);
        assert_eq!(upload_changes(Some(&scheduled), Some(&moved)), expected);
        assert_eq!(upload_changes(Some(&moved), None), BTreeMap::from([((platform, next), -1)]));

        let mut failed = moved.clone();
        failed.targets[0].status = TargetStatus::Failed;
        assert!(
            upload_changes(Some(&failed), Some(&failed)).is_empty() && upload_changes(Some(&failed), None).is_empty()
        );
        assert_eq!(upload_changes(Some(&failed), Some(&moved)), BTreeMap::from([((platform, next), 1)]));
        let draft = Post { status: PostStatus::Draft, scheduled_at: None, ..moved };
        assert_eq!(days(&draft.with_upload_days(&accounts(&connections), lead, noon())), [None, None]);
    }
}
