//! Checks the platform options of a request against those that the platforms have.

use domain::post::{Accounts, NewTarget, Target, TargetStatus};
use domain::validation_errors::ValidationErrors;

use crate::Publishing;

impl Publishing {
    /// Adds the errors of the options of new targets. Names are checked always, values once the
    /// post is scheduled.
    pub(crate) fn check_options(
        &self,
        named: &[NewTarget],
        accounts: &Accounts,
        goes_out: bool,
        faults: &mut ValidationErrors,
    ) {
        let known = named.iter().filter_map(|it| Some((it, accounts.get(&it.connection_id)?)));
        for (target, account) in known {
            let (field, platform) = (field_of(target.index), &account.provider);
            self.vocabulary.check_names(platform, target.options.names(), &field, faults);
            if goes_out {
                self.vocabulary.check_values(platform, &target.options.said, &field, faults);
            }
        }
    }

    /// Like `check_options`, for targets that the post has already, when it is scheduled.
    pub(crate) fn check_kept_options(&self, kept: &[Target], faults: &mut ValidationErrors) {
        let unpublished = kept.iter().enumerate().filter(|(_, it)| it.status != TargetStatus::Published);
        for (index, target) in unpublished {
            let (field, names) = (field_of(index), target.options.iter().map(|(name, _)| name));
            self.vocabulary.check_names(&target.provider, names, &field, faults);
            self.vocabulary.check_values(&target.provider, &target.options, &field, faults);
        }
    }
}

fn field_of(index: usize) -> String {
    format!("platforms.{index}.options")
}
