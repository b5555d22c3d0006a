//! The flows in which processes are killed. Each is short, so that every crash point can be tested.

use chrono::TimeDelta;

use crate::scenario::{AccountAction, AccountPlan, PostAction, PostPlan, UserPlan};
use crate::simulated_platforms::PlatformFault;

#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) name: &'static str,
    pub(super) plot: UserPlan,
    pub(super) pairs: bool,
}

pub(super) fn all() -> Vec<Flow> {
    let soon = || created(at(20));
    let flow = |name, platforms: &[&'static str], acts| Flow {
        name,
        plot: UserPlan {
            quiet_after: at(120),
            due_shards: 1,
            accounts: platforms.iter().map(|it| account(it)).collect(),
            posts: vec![PostPlan { targets: (0..platforms.len()).collect(), acts, retries: 1 }],
            public_calls: Vec::new(),
            webhooks: false,
        },
        pairs: false,
    };
    let created_then = |act, after: TimeDelta| vec![(at(1), PostAction::Create(Some(at(20)))), (after, act)];
    let just_before = at(20) - TimeDelta::milliseconds(20);
    vec![
        flow("schedule for now", &["listed"], vec![(at(1), PostAction::Create(Some(at(0))))]).with_pairs(),
        flow("plan", &["listed"], created(at(400))).until(460),
        flow("prepare", &["listed-in-steps"], created(at(100))).until(160),
        flow("prepare, blind", &["blind-in-steps"], created(at(100))).until(160),
        flow("prepare again", &["listed-in-steps"], created(at(100))).with([PlatformFault::Forgotten]).until(160),
        flow("publish, listed", &["listed"], soon()).with_pairs(),
        flow("publish, keyed", &["keyed"], soon()).with_pairs(),
        flow("publish, blind", &["blind"], soon()).with_pairs(),
        flow("look up, response lost", &["listed"], soon()).with([PlatformFault::ResponseLost]).with_pairs(),
        flow("look up, call lost", &["keyed"], soon()).with([PlatformFault::CallLost]),
        flow("look up, done later", &["listed"], soon()).with([PlatformFault::DoneLater]),
        flow("look up, blind", &["blind"], soon()).with([PlatformFault::ResponseLost]),
        flow("look up, listed late", &["lagging"], soon()).with([PlatformFault::ResponseLost]),
        flow("look up, listed late, second call lost", &["lagging"], soon())
            .with([PlatformFault::ResponseLost, PlatformFault::CallLost]),
        flow("publish, recognized", &["recognized"], created(at(100))).until(160).with_pairs(),
        flow("look up, recognized", &["recognized"], created(at(100))).with([PlatformFault::ResponseLost]).until(160),
        flow("look up, recognized, call lost", &["recognized"], created(at(100)))
            .with([PlatformFault::CallLost])
            .until(160),
        flow("two similar posts, one response and one call lost", &["recognized"], created(at(100)))
            .twice()
            .with([PlatformFault::ResponseLost, PlatformFault::CallLost])
            .until(160),
        flow("two similar posts, both responses lost", &["recognized"], created(at(100)))
            .twice()
            .with([PlatformFault::ResponseLost, PlatformFault::ResponseLost])
            .until(160),
        flow("retry, limited", &["listed"], soon()).with([PlatformFault::Limited]),
        flow("retry, limited for a day", &["rationing"], soon()).with([PlatformFault::Limited]),
        flow("follow-ups", &["following"], soon()),
        flow("follow-ups, response lost", &["following"], soon()).with([PlatformFault::ResponseLost]),
        flow("removed after a review and rescheduled", &["removing"], soon())
            .with([PlatformFault::RefusedLater])
            .until(200),
        flow("removed while another target waits for a day", &["removing", "rationing"], soon()).with([
            PlatformFault::RefusedLater,
            PlatformFault::Refused,
            PlatformFault::Limited,
        ]),
        flow("handed over to a person", &["handing-over"], soon()),
        flow("handed over to a person, response lost", &["handing-over"], soon()).with([PlatformFault::ResponseLost]),
        flow("accepted and reviewed", &["reviewing"], soon()),
        flow("accepted, refused later and rescheduled", &["reviewing"], soon()).with([PlatformFault::RefusedLater]),
        flow("retry, refused and rescheduled", &["listed"], soon()).with([PlatformFault::Refused]),
        flow("roll-up of three", &["listed", "keyed", "blind"], soon()),
        flow("refresh, rotating", &["keyed"], created(at(560))).until(640),
        flow("refresh, extending", &["listed"], created(at(560))).until(640),
        flow("cancel", &["listed"], created_then(PostAction::Unschedule, at(10))),
        flow("cancel at the last moment", &["listed"], created_then(PostAction::Unschedule, just_before)),
        flow("delete", &["listed"], created_then(PostAction::Delete, at(10))),
        flow("rewrite at the last moment", &["listed"], created_then(PostAction::Rewrite, just_before)),
        flow("reschedule", &["listed"], created_then(PostAction::Reschedule(at(40)), at(10))),
        flow("reschedule at the last moment", &["keyed"], created_then(PostAction::Reschedule(at(40)), just_before)),
        flow("revoke and reconnect", &["listed"], soon())
            .owner(&[(10, AccountAction::Revoke), (60, AccountAction::Connect)]),
        flow("disconnect", &["listed"], soon()).owner(&[(50, AccountAction::Disconnect)]),
        flow("an endpoint receives events", &["listed"], soon()).with_webhook(),
        flow("an endpoint receives a disconnection event", &["listed"], soon())
            .owner(&[(50, AccountAction::Disconnect)])
            .with_webhook(),
    ]
}

impl Flow {
    fn with_pairs(self) -> Self {
        Self { pairs: true, ..self }
    }

    fn until(mut self, seconds: i64) -> Self {
        self.plot.quiet_after = at(seconds);
        self
    }

    fn twice(mut self) -> Self {
        self.plot.posts.extend(self.plot.posts.clone());
        self
    }

    fn with<const N: usize>(mut self, faults: [PlatformFault; N]) -> Self {
        self.plot.public_calls = faults.to_vec();
        self
    }

    fn with_webhook(mut self) -> Self {
        self.plot.webhooks = true;
        self
    }

    fn owner(mut self, acts: &[(i64, AccountAction)]) -> Self {
        self.plot.accounts[0].acts = acts.iter().map(|(after, act)| (at(*after), *act)).collect();
        self
    }
}

fn at(seconds: i64) -> TimeDelta {
    TimeDelta::seconds(seconds)
}

fn created(due: TimeDelta) -> Vec<(TimeDelta, PostAction)> {
    vec![(at(1), PostAction::Create(Some(due)))]
}

fn account(platform: &'static str) -> AccountPlan {
    AccountPlan { platform, acts: Vec::new(), reconnects: true }
}
