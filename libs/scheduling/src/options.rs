//! Checks the platform options of a request against those that the platforms have.

use domain::post::{Accounts, NewTarget, Target, TargetStatus};
use domain::validation_errors::ValidationErrors;

use crate::Scheduling;

impl Scheduling {
    /// Checks names always, values once the post is scheduled.
    pub(crate) fn check_options(
        &self,
        named: &[NewTarget],
        accounts: &Accounts,
        is_scheduled: bool,
        errors: &mut ValidationErrors,
    ) {
        let known = named.iter().filter_map(|it| Some((it, accounts.get(&it.connection_id)?)));
        for (target, account) in known {
            let (field, platform) = (options_field(target.index), &account.provider);
            self.rules.vocabulary.check_names(platform, target.options.names(), &field, errors);
            if is_scheduled {
                self.rules.vocabulary.check_values(platform, &target.options.said, &field, errors);
            }
        }
    }

    /// Like `check_options`, for targets that the post has already, when it is scheduled.
    pub(crate) fn check_kept_options(&self, targets: &[Target], errors: &mut ValidationErrors) {
        let unpublished = targets.iter().enumerate().filter(|(_, it)| it.status != TargetStatus::Published);
        for (index, target) in unpublished {
            let (field, names) = (options_field(index), target.options.iter().map(|(name, _)| name));
            self.rules.vocabulary.check_names(&target.provider, names, &field, errors);
            self.rules.vocabulary.check_values(&target.provider, &target.options, &field, errors);
        }
    }
}

fn options_field(index: usize) -> String {
    format!("platforms.{index}.options")
}
