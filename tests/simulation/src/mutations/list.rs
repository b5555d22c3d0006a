//! The ways in which the protocol is broken.

/// One way.
#[derive(Clone, Copy, Debug)]
pub struct Mutation {
    /// What is broken, for the table.
    pub name: &'static str,
    /// Where, from the top of the sources.
    pub file: &'static str,
    /// What stands there.
    pub from: &'static str,
    /// What stands there instead.
    pub to: &'static str,
}

/// All of them.
pub const ALL: &[Mutation] = &[
    Mutation {
        name: "the intent is written whatever is there",
        file: "libs/storage/src/deliveries.rs",
        from: "\"stamp = :stamp AND revision = :revision\"",
        to: "\"(stamp = :stamp OR stamp <> :stamp) AND (revision = :revision OR revision <> :revision)\"",
    },
    Mutation {
        name: "an unknown outcome is sent again",
        file: "libs/domain/src/delivery/transitions.rs",
        from: "                self.wait_until(now + FIRST_LOOK, Some(reason))\n            }\n        }",
        to: "                self.intent = None;\n                self.try_again(now + wait, reason, now)\n            }\n        }",
    },
    Mutation {
        name: "nobody looks for what is overdue",
        file: "libs/publishing/src/plan.rs",
        from: "const MAX_OVERDUE_PAGES: usize = 200;",
        to: "const MAX_OVERDUE_PAGES: usize = 0;",
    },
    Mutation {
        name: "a post is marked as public before it is sent",
        file: "libs/publishing/src/deliver.rs",
        from: "Next::Publish => delivery.clone().intended(now),",
        to: "Next::Publish => delivery.clone().intended(now).settled(\
             Ok(Published { platform_post_id: \"1\".to_owned(), at: now }), now, 0),",
    },
    Mutation {
        name: "not there is believed while the call may take effect",
        file: "libs/domain/src/delivery/transitions.rs",
        from: "Resolution::NotThere if certain_at <= now =>",
        to: "Resolution::NotThere if certain_at <= now.max(certain_at) =>",
    },
    Mutation {
        name: "a post is changed while it is being sent",
        file: "libs/storage/src/post_write.rs",
        from: "(attribute_not_exists(intent) AND #state.#is <> :published)",
        to: "(attribute_not_exists(nothing) AND #state.#is <> :published)",
    },
    Mutation {
        name: "a roll-up forgets the counts",
        file: "libs/storage/src/post_write.rs",
        from: "            *changes.entry(before.status).or_default() -= 1;",
        to: "            *changes.entry(before.status).or_default() -= 0;",
    },
    Mutation {
        name: "an event that the bus did not take is forgotten",
        file: "libs/publishing/src/roll_up.rs",
        from: "self.events.put(&events).await?;",
        to: "let _ = self.events.put(&events).await;",
    },
    Mutation {
        name: "many renew the same credentials at once",
        file: "libs/storage/src/connections/refresh.rs",
        from: "(attribute_not_exists(refresh_lease) OR refresh_lease <= :now",
        to: "(attribute_not_exists(nothing) OR refresh_lease <= :now",
    },
    Mutation {
        name: "what a platform has forgotten is not prepared anew",
        file: "libs/domain/src/delivery/transitions.rs",
        from: "                self.prepared = false;\n",
        to: "",
    },
    Mutation {
        name: "nobody claims what it made",
        file: "libs/publishing/src/claims.rs",
        from: "if !platform.recognises() {",
        to: "if !platform.recognises() || platform.recognises() {",
    },
    Mutation {
        name: "the posts of other deliveries are taken for ours",
        file: "libs/platforms/src/recognition.rs",
        from: "filter(|it| claim(it).is_none())",
        to: "filter(|it| claim(it) != Some(Claim::Ours))",
    },
    Mutation {
        name: "what was there before is taken for ours",
        file: "libs/platforms/src/recognition.rs",
        from: "before.iter().any(|it| it == post.id())",
        to: "before.iter().any(|it| it == post.id() && it.is_empty())",
    },
];
