//! The ways in which the protocol is broken.

/// One way: an expression of the sources and what is evaluated in its place.
#[derive(Clone, Copy, Debug)]
pub struct Mutation {
    /// What is broken, for the table.
    pub name: &'static str,
    /// Where, from the top of the sources.
    pub file: &'static str,
    /// What stands immediately before the expression; with it, the expression is
    /// found exactly once.
    pub before: &'static str,
    /// The expression.
    pub from: &'static str,
    /// Another one of the same type.
    pub to: &'static str,
    /// The platform that alone shows it, so that runs elsewhere are left out.
    pub on: Option<&'static str>,
}

/// All of them.
pub const ALL: &[Mutation] = &[
    Mutation {
        name: "the intent is written whatever is there",
        file: "libs/storage/src/deliveries.rs",
        before: ".set_item(Some(delivery_item(after, self.due_shards)?))\n            .condition_expression(",
        from: "AS_READ",
        to: "\"(write_id = :write_id OR write_id <> :write_id) AND (revision = :revision OR revision <> :revision)\"",
        on: None,
    },
    Mutation {
        name: "an unknown outcome is sent again",
        file: "libs/domain/src/delivery/transitions.rs",
        before: "intent.retry_at = retry_at;\n                }\n                ",
        from: "self.wait_until(now + FIRST_LOOK, Some(reason))",
        to: "self.intent = None; self.try_again(now + wait, reason, now)",
        on: None,
    },
    Mutation {
        name: "what was taken and then refused is sent again",
        file: "libs/domain/src/delivery/transitions.rs",
        before: "self.settle_call();\n                ",
        from: "self.failed(reason, FailureClass::Refused)",
        to: "self.intent = None; self.try_again(now, reason, now)",
        on: None,
    },
    Mutation {
        name: "a quota that opens after a day is not waited for",
        file: "libs/domain/src/delivery/transitions.rs",
        before: "retry_at.filter(|it| ",
        from: "self.opens_late(*it)",
        to: "self.opens_late(*it) && false",
        on: Some("rationing"),
    },
    Mutation {
        name: "what follows is done again after a death",
        file: "libs/domain/src/delivery/follow_up.rs",
        before: "if ",
        from: "self.begun_at.is_some()",
        to: "self.begun_at.is_some() && false",
        on: Some("following"),
    },
    Mutation {
        name: "what follows is done again when it is done or in doubt",
        file: "libs/domain/src/delivery/follow_up.rs",
        before: "_ => ",
        from: "return self.follow_up_left(now)",
        to: "None",
        on: None,
    },
    Mutation {
        name: "nobody looks for what is overdue",
        file: "libs/publishing/src/plan.rs",
        before: "for _ in 0..",
        from: "MAX_OVERDUE_PAGES",
        to: "0",
        on: None,
    },
    Mutation {
        name: "a post is marked as public before it is sent",
        file: "libs/publishing/src/deliver.rs",
        before: "Next::Publish => ",
        from: "delivery.clone().intended(now)",
        to: "delivery.clone().intended(now).settled(\
             Ok(domain::delivery::Published::new(\"1\".to_owned(), now)), now, 0)",
        on: None,
    },
    Mutation {
        name: "not there is believed while the call may take effect",
        file: "libs/domain/src/delivery/transitions.rs",
        before: "Resolution::NotThere if ",
        from: "certain_at <= now",
        to: "certain_at <= now.max(certain_at)",
        on: None,
    },
    Mutation {
        name: "a post is looked up from its latest call on",
        file: "libs/publishing/src/deliver.rs",
        before: "let Some(since) = ",
        from: "held.delivery.in_doubt_since()",
        to: "held.delivery.intent.as_ref().map(|it| it.at)",
        on: None,
    },
    Mutation {
        name: "a duplicate that is not listed is sent again",
        file: "libs/domain/src/delivery/transitions.rs",
        before: "Resolution::NotThere if ",
        from: "intent.is_duplicate",
        to: "intent.is_duplicate && false",
        on: None,
    },
    Mutation {
        name: "a post is changed while it is being sent",
        file: "libs/storage/src/post_write.rs",
        before: ".condition_expression(\n                        ",
        from: "\"attribute_not_exists(delivery) OR \\\n                         (attribute_not_exists(intent) AND #state.#is <> :published)\"",
        to: "\"attribute_not_exists(delivery) OR (attribute_not_exists(nothing) AND #state.#is <> :published)\"",
        on: None,
    },
    Mutation {
        name: "a roll-up forgets the counts",
        file: "libs/storage/src/post_write.rs",
        before: "*changes.entry(before.status).or_default() -= ",
        from: "1",
        to: "0",
        on: None,
    },
    Mutation {
        name: "an event that the bus did not take is forgotten",
        file: "libs/publishing/src/roll_up.rs",
        before: "if !events.is_empty() {\n                ",
        from: "self.events.put(&events).await?",
        to: "let _ = self.events.put(&events).await;",
        on: None,
    },
    Mutation {
        name: "what is told of a change is not written with it",
        file: "libs/storage/src/post_write.rs",
        before: "if let Some(event) = ",
        from: "write.news",
        to: "write.news.filter(|_| false)",
        on: None,
    },
    Mutation {
        name: "an event leaves the outbox that the bus did not take",
        file: "libs/publishing/src/outbox.rs",
        before: "-> Result<(), PublishingError> {\n    ",
        from: "events.put(std::slice::from_ref(event)).await?",
        to: "let _ = events.put(std::slice::from_ref(event)).await;",
        on: None,
    },
    Mutation {
        name: "a notice that was not accepted is not due any more",
        file: "libs/domain/src/webhook/notice.rs",
        before: "Self { next_step_at, due_at: ",
        from: "Some(due_at)",
        to: "Some(due_at).filter(|_| false)",
        on: None,
    },
    Mutation {
        name: "a worker that dies takes its notice along",
        file: "libs/domain/src/webhook/notice.rs",
        before: "Self { lease_expires_at: Some(lease_expires_at), due_at: ",
        from: "Some(lease_expires_at)",
        to: "Some(lease_expires_at).filter(|_| false)",
        on: None,
    },
    Mutation {
        name: "many renew the same credentials at once",
        file: "libs/storage/src/credentials/refresh.rs",
        before: ".condition_expression(\n                ",
        from: "\"generation = :generation AND is_gone = :no AND \\\n                 (attribute_not_exists(refresh_lease) OR refresh_lease <= :now OR refresh_holder = :holder)\"",
        to: "\"generation = :generation AND is_gone = :no AND \
             (attribute_not_exists(nothing) OR refresh_lease <= :now OR refresh_holder = :holder)\"",
        on: None,
    },
    Mutation {
        name: "what a platform has forgotten is not prepared anew",
        file: "libs/domain/src/delivery/transitions.rs",
        before: "Err(Setback::Stale { reason }) => {\n                self.intent = None;\n                ",
        from: "self.prepared = false",
        to: "",
        on: None,
    },
    Mutation {
        name: "nobody claims what it made",
        file: "libs/publishing/src/claims.rs",
        before: "published: &Published,\n    ) -> Result<Claim, PublishingError> {\n        if ",
        from: "!platform.recognises()",
        to: "true",
        on: None,
    },
    Mutation {
        name: "the posts of other deliveries are taken for ours",
        file: "libs/platforms/src/recognition.rs",
        before: "let unclaimed: Vec<_> = posts.iter().rev().filter(|it| ",
        from: "claim(it).is_none()",
        to: "claim(it) != Some(Claim::Ours)",
        on: None,
    },
    Mutation {
        name: "what was there before is taken for ours",
        file: "libs/platforms/src/recognition.rs",
        before: "let is_known = |post: &T::Post| ",
        from: "before.iter().any(|it| it == post.id())",
        to: "before.iter().any(|it| it == post.id() && it.is_empty())",
        on: None,
    },
    Mutation {
        name: "what is paid is asked as often as anything",
        file: "libs/domain/src/delivery/transitions.rs",
        before: "Resolution::NotThere => self.wait_until(\n                if ",
        from: "are_paid",
        to: "false",
        on: Some("charging"),
    },
];
