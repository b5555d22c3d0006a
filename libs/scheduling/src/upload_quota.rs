use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use domain::post::{Accounts, NewPost, Post};

use crate::{Scheduling, SchedulingError, Warning};

impl Scheduling {
    pub(crate) fn with_upload_days(&self, post: Post, accounts: &Accounts, now: DateTime<Utc>) -> Post {
        post.with_upload_days(accounts, |platform, media| self.rules.leads.before(platform, media), now)
    }

    /// A warning for each account whose platform may accept the post only on a later day, because
    /// all uploads of its day are taken. A platform that accepts fewer than its quota delays posts,
    /// too, so this is no error.
    pub(crate) async fn quota_warnings(
        &self,
        post: &Post,
        request: &NewPost,
        accounts: &Accounts,
    ) -> Result<Vec<Warning>, SchedulingError> {
        let (mut warnings, mut own) = (Vec::new(), BTreeMap::new());
        for target in &post.targets {
            let account = accounts.get(&target.connection_id);
            let max = account.and_then(|it| Some((it, it.rules.uploads_per_day()?)));
            let (Some(day), Some((account, max))) = (target.upload_day, max) else { continue };
            // Earlier entries of the post take uploads of the same day.
            let earlier = own.entry((&target.provider, day)).or_insert(0_u64);
            let taken = self.store.uploads_on(&target.provider, day).await? + *earlier;
            *earlier += 1;
            let named = request.targets.iter().find(|it| it.connection_id == target.connection_id);
            if let Some(named) = named
                && u64::from(max) <= taken
            {
                warnings.push(Warning {
                    field: format!("platforms.{}.connected_account_id", named.index),
                    message: format!(
                        "may be published only after {}: {} accepts {max} uploads a day from this service, and all \
                         uploads of that day are taken",
                        day.ends_at().to_rfc3339_opts(SecondsFormat::Secs, true),
                        account.rules.title
                    ),
                });
            }
        }
        Ok(warnings)
    }
}
