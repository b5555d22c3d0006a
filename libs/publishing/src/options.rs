//! What a request says for single platforms, held against what they have.

use domain::faults::Faults;
use domain::options::Options;
use domain::post::{Accounts, NewTarget, Target, TargetStatus};

use crate::Publishing;

impl Publishing {
    /// Notes what is wrong with the options of targets as a client names them.
    /// Names are checked always, values once the post is to go out.
    pub(crate) fn check_options(&self, named: &[NewTarget], accounts: &Accounts, goes_out: bool, faults: &mut Faults) {
        let known = named.iter().filter_map(|it| Some((it, accounts.get(&it.connection_id)?)));
        for (target, account) in known {
            self.check(target.index, &account.provider, &target.options, goes_out, faults);
        }
    }

    /// The same of targets that a post has already, when it is to go out.
    pub(crate) fn check_kept_options(&self, kept: &[Target], faults: &mut Faults) {
        let unpublished = kept.iter().enumerate().filter(|(_, it)| it.status != TargetStatus::Published);
        for (index, target) in unpublished {
            self.check(index, &target.provider, &target.options, true, faults);
        }
    }

    fn check(&self, index: usize, platform: &str, options: &Options, goes_out: bool, faults: &mut Faults) {
        let field = format!("platforms.{index}.options");
        self.vocabulary.check_names(platform, options, &field, faults);
        if goes_out {
            self.vocabulary.check_values(platform, options, &field, faults);
        }
    }
}
