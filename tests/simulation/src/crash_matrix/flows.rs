//! The flows in which processes are killed. Each is small, so that every place
//! can be tried.

use chrono::TimeDelta;

use crate::network::PlatformFate;
use crate::scenario::{AccountAct, AccountPlot, Plot, PostAct, PostPlot};

#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) name: &'static str,
    pub(super) plot: Plot,
    /// Whether every pair of places is tried as well.
    pub(super) pairs: bool,
}

pub(super) fn all() -> Vec<Flow> {
    let soon = || created(at(20));
    let flow = |name, platforms: &[&'static str], acts| Flow {
        name,
        plot: Plot {
            quiet_after: at(120),
            due_shards: 1,
            accounts: platforms.iter().map(|it| account(it)).collect(),
            posts: vec![PostPlot { targets: (0..platforms.len()).collect(), acts, retries: 1 }],
            public_calls: Vec::new(),
            webhooks: false,
        },
        pairs: false,
    };
    let and = |act, after: TimeDelta| vec![(at(1), PostAct::Create(Some(at(20)))), (after, act)];
    let just_before = at(20) - TimeDelta::milliseconds(20);
    vec![
        flow("schedule for now", &["listed"], vec![(at(1), PostAct::Create(Some(at(0))))]).in_pairs(),
        flow("plan", &["listed"], created(at(400))).until(460),
        flow("prepare", &["listed-in-steps"], created(at(100))).until(160),
        flow("prepare, blind", &["blind-in-steps"], created(at(100))).until(160),
        flow("prepare anew", &["listed-in-steps"], created(at(100))).with([PlatformFate::Forgotten]).until(160),
        flow("publish, listed", &["listed"], soon()).in_pairs(),
        flow("publish, keyed", &["keyed"], soon()).in_pairs(),
        flow("publish, blind", &["blind"], soon()).in_pairs(),
        flow("resolve, answer lost", &["listed"], soon()).with([PlatformFate::AnswerLost]).in_pairs(),
        flow("resolve, call lost", &["keyed"], soon()).with([PlatformFate::CallLost]),
        flow("resolve, done later", &["listed"], soon()).with([PlatformFate::DoneLater]),
        flow("resolve, blind", &["blind"], soon()).with([PlatformFate::AnswerLost]),
        flow("resolve, listed late", &["lagging"], soon()).with([PlatformFate::AnswerLost]),
        flow("resolve, listed late, second call lost", &["lagging"], soon())
            .with([PlatformFate::AnswerLost, PlatformFate::CallLost]),
        flow("publish, recognised", &["recognised"], created(at(100))).until(160).in_pairs(),
        flow("resolve, recognised", &["recognised"], created(at(100))).with([PlatformFate::AnswerLost]).until(160),
        flow("resolve, recognised, call lost", &["recognised"], created(at(100)))
            .with([PlatformFate::CallLost])
            .until(160),
        flow("two that look the same, one lost and one cut off", &["recognised"], created(at(100)))
            .twice()
            .with([PlatformFate::AnswerLost, PlatformFate::CallLost])
            .until(160),
        flow("two that look the same, both lost", &["recognised"], created(at(100)))
            .twice()
            .with([PlatformFate::AnswerLost, PlatformFate::AnswerLost])
            .until(160),
        flow("retry, limited", &["listed"], soon()).with([PlatformFate::Limited]),
        flow("retry, limited for a day", &["rationing"], soon()).with([PlatformFate::Limited]),
        flow("what follows", &["following"], soon()),
        flow("what follows, answer lost", &["following"], soon()).with([PlatformFate::AnswerLost]),
        flow("taken and looked at", &["reviewing"], soon()),
        flow("taken, refused later and given a new time", &["reviewing"], soon()).with([PlatformFate::RefusedLater]),
        flow("retry, refused and given a new time", &["listed"], soon()).with([PlatformFate::Refused]),
        flow("roll-up of three", &["listed", "keyed", "blind"], soon()),
        flow("refresh, rotating", &["keyed"], created(at(560))).until(640),
        flow("refresh, extending", &["listed"], created(at(560))).until(640),
        flow("cancel", &["listed"], and(PostAct::Unschedule, at(10))),
        flow("cancel at the last moment", &["listed"], and(PostAct::Unschedule, just_before)),
        flow("delete", &["listed"], and(PostAct::Delete, at(10))),
        flow("rewrite at the last moment", &["listed"], and(PostAct::Rewrite, just_before)),
        flow("reschedule", &["listed"], and(PostAct::Reschedule(at(40)), at(10))),
        flow("reschedule at the last moment", &["keyed"], and(PostAct::Reschedule(at(40)), just_before)),
        flow("revoke and reconnect", &["listed"], soon()).owner(&[(10, AccountAct::Revoke), (60, AccountAct::Connect)]),
        flow("disconnect", &["listed"], soon()).owner(&[(50, AccountAct::Disconnect)]),
        flow("an endpoint is told", &["listed"], soon()).telling(),
        flow("an endpoint is told of a disconnection", &["listed"], soon())
            .owner(&[(50, AccountAct::Disconnect)])
            .telling(),
    ]
}

impl Flow {
    fn in_pairs(self) -> Self {
        Self { pairs: true, ..self }
    }

    fn until(mut self, seconds: i64) -> Self {
        self.plot.quiet_after = at(seconds);
        self
    }

    /// The same flow with a second post at the same time.
    fn twice(mut self) -> Self {
        self.plot.posts.extend(self.plot.posts.clone());
        self
    }

    fn with<const N: usize>(mut self, fates: [PlatformFate; N]) -> Self {
        self.plot.public_calls = fates.to_vec();
        self
    }

    /// The same flow, of a user with an endpoint.
    fn telling(mut self) -> Self {
        self.plot.webhooks = true;
        self
    }

    fn owner(mut self, acts: &[(i64, AccountAct)]) -> Self {
        self.plot.accounts[0].acts = acts.iter().map(|(after, act)| (at(*after), *act)).collect();
        self
    }
}

fn at(seconds: i64) -> TimeDelta {
    TimeDelta::seconds(seconds)
}

fn created(due: TimeDelta) -> Vec<(TimeDelta, PostAct)> {
    vec![(at(1), PostAct::Create(Some(due)))]
}

fn account(platform: &'static str) -> AccountPlot {
    AccountPlot { platform, acts: Vec::new(), minded: true }
}
