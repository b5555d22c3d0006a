use chrono::TimeDelta;

use super::*;
use crate::connection::Connection;
use crate::delivery::Published;
use crate::media::{AltText, MediaPath};
use crate::options::{OptionValue, RequestedOptions};
use crate::rules::{Rule, Rules};
use crate::testing::{a_connection, a_new_post, a_post, a_user, accounts, an_attachment, ids, noon, text};
use crate::text::PostText;

fn fields(errors: &ValidationErrors) -> Vec<&str> {
    errors.iter().map(|it| it.0).collect()
}

#[test]
fn post_without_a_time_is_an_unchecked_draft() {
    let user = a_user();
    let connection = a_connection(&user);
    let new = NewPost { text: text(&"x".repeat(1000)), ..a_new_post(None, std::slice::from_ref(&connection)) };

    let post = Post::create(new, &[], &user, &accounts(&[connection]), &ids(), noon()).unwrap();

    assert_eq!(post.status, PostStatus::Draft);
    assert_eq!(post.marked().len(), 0);
}

#[test]
fn scheduled_post_is_checked_and_counted_on_its_accounts() {
    let user = a_user();
    let connection = a_connection(&user);
    let new = a_new_post(Some(noon()), std::slice::from_ref(&connection));
    let long = NewPost { text: text(&"x".repeat(501)), ..new.clone() };
    let accounts = accounts(&[connection]);

    let errors = Post::create(long, &[], &user, &accounts, &ids(), noon()).unwrap_err();
    let post = Post::create(new, &[], &user, &accounts, &ids(), noon()).unwrap();

    assert_eq!(fields(&errors), ["platforms.0.content"]);
    assert_eq!(post.status, PostStatus::Scheduled);
    assert_eq!(post.marked().len(), 1);
}

#[test]
fn scheduled_post_needs_a_target() {
    let errors = Post::create(a_new_post(Some(noon()), &[]), &[], &a_user(), &Accounts::new(), &ids(), noon());
    assert_eq!(fields(&errors.unwrap_err()), ["platforms"]);
}

#[test]
fn unusable_account_is_a_single_error() {
    let user = a_user();
    let new = a_new_post(Some(noon()), &[a_connection(&user)]);

    let errors = Post::create(new, &[], &user, &Accounts::new(), &ids(), noon()).unwrap_err();

    assert_eq!(fields(&errors), ["platforms.0.connected_account_id"]);
}

#[test]
fn unknown_account_and_lost_grant_are_errors() {
    let user = a_user();
    let gone = a_connection(&user);
    let revoked = Connection { needs_reconnection: true, ..a_connection(&user) };
    let new = a_new_post(Some(noon()), &[gone, revoked.clone()]);

    let errors = Post::create(new, &[], &user, &accounts(&[revoked]), &ids(), noon()).unwrap_err();

    assert_eq!(fields(&errors), ["platforms.0.connected_account_id", "platforms.1.connected_account_id"]);
}

#[test]
fn replacing_the_targets_keeps_the_ids_of_those_that_stay() {
    let user = a_user();
    let connections = [a_connection(&user), a_connection(&user)];
    let post = a_post(&user, None, &connections[..1]);
    let targets = a_new_post(None, &connections).targets;

    let wanted = Changes { targets: Some(targets), ..Changes::default() };
    let changed = post.change(wanted, vec![], &accounts(&connections), &ids(), noon()).unwrap();

    assert_eq!(changed.targets[0].target_id, post.targets[0].target_id);
    assert_eq!(changed.targets.len(), 2);
    assert_eq!(changed.revision, 2);
}

#[test]
fn external_id_and_labels_change_alone_and_are_cleared() {
    let user = a_user();
    let connections = [a_connection(&user)];
    let external_id = ExternalId::parse("order-4711").ok();
    let labels = vec![Label::parse("spring").unwrap(), Label::parse("offer").unwrap()];
    let new =
        NewPost { external_id: external_id.clone(), labels: labels.clone(), ..a_new_post(Some(noon()), &connections) };
    let change = |post: &Post, changes| post.change(changes, vec![], &accounts(&connections), &ids(), noon()).unwrap();

    let post = Post::create(new, &[], &user, &accounts(&connections), &ids(), noon()).unwrap();
    let without_id = change(&post, Changes { external_id: Some(None), ..Changes::default() });
    let without_labels = change(&without_id, Changes { labels: Some(Vec::new()), ..Changes::default() });

    assert_eq!((&post.external_id, &post.labels), (&external_id, &labels));
    let before = Post { revision: 2, external_id: None, ..post };
    assert_eq!(without_id, before);
    assert_eq!(without_labels, Post { revision: 3, labels: Vec::new(), ..before });
}

#[test]
fn filter_compares_every_field() {
    let parsed = |label| Label::parse(label).unwrap();
    let draft = Post { labels: vec![parsed("spring"), parsed("offer")], ..a_post(&a_user(), None, &[]) };
    let post = Post { external_id: ExternalId::parse("order-4711").ok(), ..draft.clone() };
    let by_id = |raw| Filter { external_id: ExternalId::parse(raw).ok(), ..Filter::default() };
    let by_label = |raw| Filter { label: Label::parse(raw).ok(), ..Filter::default() };

    for fitting in [Filter::default(), by_id("order-4711"), by_label("spring"), by_label("offer")] {
        assert!(fitting.fits(&post), "{fitting:?}");
        assert!(!Filter { status: Some(PostStatus::Failed), ..fitting.clone() }.fits(&post), "{fitting:?}");
    }
    for other in [by_id("order-471"), by_label("Spring"), by_label("spring,offer")] {
        assert!(!other.fits(&post), "{other:?}");
    }
    assert!(!by_id("order-4711").fits(&draft));
    assert!(Filter::by_status(Some(PostStatus::Draft)).is_counted());
    assert!(!by_id("order-4711").is_counted() && !by_label("spring").is_counted());
}

#[test]
fn filter_finds_an_account_and_every_text() {
    let (account, other) = (a_connection(&a_user()), a_connection(&a_user()));
    let mut post = a_post(&a_user(), Some(noon()), std::slice::from_ref(&account));
    post.text = text("Ships in June");
    post.thread = vec![SegmentContent { text: text("A reply"), media: Vec::new() }];
    post.targets[0].text = Some(text("Größe: 3 m"));
    let by_text = |raw: &str| Filter { text: Some(raw.to_owned()), ..Filter::default() };
    let by_account = |id| Filter { connection: Some(id), ..Filter::default() };

    for found in ["ships", "IN JUNE", "a reply", "größe", "GRÖ"].map(by_text) {
        assert!(found.fits(&post), "{found:?}");
    }
    assert!(!by_text("July").fits(&post));
    assert!(by_account(account.connection_id).fits(&post) && !by_account(other.connection_id).fits(&post));
    assert!(!by_text("ships").is_counted() && !by_account(account.connection_id).is_counted());
}

#[test]
fn unscheduling_makes_a_draft_that_is_not_counted() {
    let user = a_user();
    let connections = [a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections);

    let wanted = Changes { scheduled_at: Some(None), ..Changes::default() };
    let changed = post.change(wanted, vec![], &accounts(&connections), &ids(), noon()).unwrap();

    assert_eq!((changed.status, changed.scheduled_at), (PostStatus::Draft, None));
    assert!(changed.marked().is_empty());
}

#[test]
fn publishing_or_published_post_cannot_be_changed() {
    let post = a_post(&a_user(), None, &[]);
    for status in [PostStatus::Publishing, PostStatus::Published] {
        let post = Post { status, ..post.clone() };
        let refused = post.change(Changes::default(), vec![], &Accounts::new(), &ids(), noon()).unwrap_err();
        assert_eq!(fields(&refused), ["status"]);
        assert_eq!(fields(&post.check_deletable().unwrap_err()), ["status"]);
    }
}

#[test]
fn texts_beyond_the_item_size_are_refused() {
    let user = a_user();
    let connections: Vec<_> = (0..6).map(|_| a_connection(&user)).collect();
    let mut new = a_new_post(None, &connections);
    for (bytes, target) in (60_000..).zip(&mut new.targets) {
        target.text = Some(text(&"x".repeat(bytes)));
    }

    let errors = Post::create(new, &[], &user, &accounts(&connections), &ids(), noon()).unwrap_err();

    assert_eq!(fields(&errors), ["platforms.5.content"]);
}

/// A draft whose text leaves 40,000 bytes for others, and entries for its accounts.
fn a_long_draft() -> (Post, Accounts, Vec<NewTarget>) {
    let user = a_user();
    let connections = [a_connection(&user), a_connection(&user)];
    let new = NewPost { text: text(&"😀".repeat(65_000)), ..a_new_post(None, &connections) };
    let (accounts, targets) = (accounts(&connections), new.targets.clone());
    (Post::create(new, &[], &user, &accounts, &ids(), noon()).unwrap(), accounts, targets)
}

#[test]
fn total_text_size_error_is_on_the_largest_sent_text() {
    let (post, accounts, mut targets) = a_long_draft();
    targets[0].text = Some(text(&"x".repeat(20_001)));
    targets[1].text = Some(text(&"x".repeat(20_000)));
    let too_long = |targets: &[NewTarget]| {
        let changes = Changes { targets: Some(targets.to_vec()), ..Changes::default() };
        let refused = post.change(changes, vec![], &accounts, &ids(), noon()).unwrap_err();
        refused.iter().map(|(field, message)| (field.to_owned(), message.to_owned())).collect::<Vec<_>>()
    };

    let of_texts = too_long(&targets);
    targets[1].text = None;
    let option = ("content_warning".to_owned(), OptionValue::Text("x".repeat(20_002)));
    targets[1].options.said = [option].into_iter().collect();
    let of_options = too_long(&targets);

    let message = "platforms.0.content makes the texts of this post too long: together they may have at most 300000 \
                   bytes (UTF-8); these have 300001";
    assert_eq!(of_texts, [("platforms.0.content".to_owned(), message.to_owned())]);
    assert_eq!(of_options[0].0, "platforms.1.options.content_warning");
}

#[test]
fn alt_text_counts_toward_the_total_text_size() {
    let (post, accounts, mut targets) = a_long_draft();
    let file = an_attachment(1);
    let path = MediaPath::new(post.user_id, file.media_id, file.mime_type);
    let alt_text = Some(AltText::parse(&"😀".repeat(10_000)).unwrap());
    let media = vec![MediaReference { field: "media.0".to_owned(), path, alt_text }];
    targets[1].text = Some(text("x"));
    let changes = Changes { media: Some(media), targets: Some(targets), ..Changes::default() };

    let refused = post.change(changes, vec![file], &accounts, &ids(), noon()).unwrap_err();

    assert_eq!(fields(&refused), ["media.0.alt_text"]);
}

#[test]
fn change_that_leaves_only_public_targets_accepts_no_time() {
    let user = a_user();
    let connections = [a_connection(&user), a_connection(&user)];
    let mut post = a_post(&user, Some(noon()), &connections);
    post.status = PostStatus::Failed;
    post.targets[0].status = TargetStatus::Published;
    post.targets[0].add_public(&[Published::new("p1", noon())]);
    post.targets[1].status = TargetStatus::Failed;
    let accounts = accounts(&connections);
    let kept = a_new_post(None, &connections[..1]).targets;
    let wanted = |scheduled_at| Changes { targets: Some(kept.clone()), scheduled_at, ..Changes::default() };

    let refused = post.change(wanted(Some(Some(noon()))), vec![], &accounts, &ids(), noon()).unwrap_err();
    let ended = post.change(wanted(None), vec![], &accounts, &ids(), noon()).unwrap();

    assert_eq!(fields(&refused), ["scheduled_at"]);
    assert_eq!((ended.status, ended.scheduled_at), (PostStatus::Published, Some(noon())));
    assert!(ended.marked().is_empty());
}

/// A file as named in a request, and as found in the store.
fn a_file() -> (MediaReference, Attachment) {
    let file = an_attachment(1);
    let path = MediaPath::new(a_user().user_id, file.media_id, file.mime_type);
    (MediaReference { field: "media.0".to_owned(), path, alt_text: None }, file)
}

#[test]
fn target_may_have_other_files_than_its_post() {
    let (user, (common, one), (own, other)) = (a_user(), a_file(), a_file());
    let connections = [a_connection(&user), a_connection(&user), a_connection(&user)];
    let mut new = a_new_post(None, &connections);
    new.media = vec![common];
    new.targets[1].media = Some(vec![own]);
    new.targets[2].media = Some(Vec::new());

    let files = [one.clone(), other.clone()];
    let post = Post::create(new, &files, &user, &accounts(&connections), &ids(), noon()).unwrap();

    let attached: Vec<_> = post.targets.iter().map(|it| post.media_of(it)).collect();
    assert_eq!(attached, [std::slice::from_ref(&one), std::slice::from_ref(&other), &[]]);
    assert_eq!(post.files().collect::<Vec<_>>(), [&one, &other]);
}

#[test]
fn post_and_targets_need_a_text_or_files() {
    let (user, (named, file)) = (a_user(), a_file());
    let connections = [a_connection(&user), a_connection(&user)];
    let accounts = accounts(&connections);
    let create = |post: PostText, target: Option<PostText>, media: Vec<MediaReference>, own: Option<Vec<_>>| {
        let mut new = NewPost { text: post, media, ..a_new_post(None, &connections) };
        (new.targets[1].text, new.targets[1].media) = (target, own);
        Post::create(new, std::slice::from_ref(&file), &user, &accounts, &ids(), noon())
    };
    let (none, files) = (PostText::default, || vec![named.clone()]);

    for accepted in [
        create(none(), None, files(), None),
        create(text("a"), Some(none()), files(), None),
        create(text("a"), Some(none()), vec![], Some(files())),
        create(none(), Some(text("a")), files(), Some(vec![])),
    ] {
        accepted.unwrap();
    }
    for (refused, expected) in [
        (create(none(), None, vec![], None), vec!["content"]),
        (create(none(), Some(text("a")), vec![], None), vec!["content"]),
        (create(none(), None, files(), Some(vec![])), vec!["platforms.1.content"]),
        (create(text("a"), Some(none()), vec![], None), vec!["platforms.1.content"]),
        (create(none(), Some(none()), vec![], None), vec!["content", "platforms.1.content"]),
    ] {
        assert_eq!(fields(&refused.unwrap_err()), expected);
    }
}

#[test]
fn change_keeps_a_text_or_files() {
    let (user, (named, file)) = (a_user(), a_file());
    let connections = [a_connection(&user)];
    let accounts = accounts(&connections);
    let new = NewPost { media: vec![named], ..a_new_post(None, &connections) };
    let post = Post::create(new, &[file], &user, &accounts, &ids(), noon()).unwrap();
    let change = |post: &Post, changes| post.change(changes, vec![], &accounts, &ids(), noon());
    let (no_text, no_media) = (Some(PostText::default()), Some(Vec::new()));

    let both = Changes { text: no_text.clone(), media: no_media.clone(), ..Changes::default() };
    assert_eq!(fields(&change(&post, both).unwrap_err()), ["content"]);
    let files_alone = change(&post, Changes { text: no_text, ..Changes::default() }).unwrap();
    assert!(files_alone.text.is_empty());
    let none = Changes { media: no_media, ..Changes::default() };
    assert_eq!(fields(&change(&files_alone, none).unwrap_err()), ["content"]);
}

#[test]
fn each_target_is_checked_with_its_own_files() {
    let (user, (mut named, _)) = (a_user(), a_file());
    let large = Attachment { size_bytes: u64::MAX, ..an_attachment(1) };
    named.path = MediaPath::new(user.user_id, large.media_id, large.mime_type);
    let rules = Rules::new("Small", [Rule::max_image_bytes(10)]);
    let connections = [a_connection(&user), a_connection(&user)].map(|it| Connection { rules: rules.clone(), ..it });
    let mut new = a_new_post(Some(noon()), &connections);
    new.targets[1].media = Some(vec![named]);

    let errors = Post::create(new, &[large], &user, &accounts(&connections), &ids(), noon()).unwrap_err();

    assert_eq!(fields(&errors), ["platforms.1.media"]);
}

#[test]
fn files_of_a_public_target_cannot_be_replaced() {
    let (user, (first, one), (second, other)) = (a_user(), a_file(), a_file());
    let connections = [a_connection(&user), a_connection(&user)];
    let accounts = accounts(&connections);
    let mut new = a_new_post(Some(noon()), &connections);
    new.targets[0].media = Some(vec![first.clone()]);
    let mut post = Post::create(new, std::slice::from_ref(&one), &user, &accounts, &ids(), noon()).unwrap();
    post.status = PostStatus::Failed;
    post.targets[0].status = TargetStatus::Published;
    post.targets[0].add_public(&[Published::new("p1", noon())]);
    let replaced_by = |media| {
        let mut targets = a_new_post(None, &connections).targets;
        targets[0].media = media;
        let wanted = Changes { targets: Some(targets), ..Changes::default() };
        post.change(wanted, vec![other.clone()], &accounts, &ids(), noon())
    };

    assert_eq!(fields(&replaced_by(Some(vec![second])).unwrap_err()), ["platforms.0.media"]);
    for same in [None, Some(vec![first])] {
        let changed = replaced_by(same).unwrap();
        assert_eq!(changed.media_of(&changed.targets[0]), std::slice::from_ref(&one));
    }
}

#[test]
fn lost_grant_prevents_only_a_new_time_or_target() {
    let user = a_user();
    let mut connections = [a_connection(&user), a_connection(&user)];
    let post = a_post(&user, Some(noon()), &connections[..1]);
    for connection in &mut connections {
        connection.needs_reconnection = true;
    }
    let named = |count| Some(a_new_post(None, &connections[..count]).targets);
    let change = |wanted| post.change(wanted, vec![], &accounts(&connections), &ids(), noon());
    let unchanged = Changes::default;

    let allowed = [
        unchanged(),
        Changes { text: Some(text("Other")), ..unchanged() },
        Changes { media: Some(Vec::new()), ..unchanged() },
        Changes { targets: named(1), ..unchanged() },
    ];
    for wanted in allowed {
        let changed = change(wanted.clone()).unwrap_or_else(|errors| panic!("{wanted:?}: {errors:?}"));
        assert_eq!((changed.status, changed.scheduled_at), (PostStatus::Scheduled, Some(noon())));
    }
    let refused = [
        (Changes { scheduled_at: Some(Some(noon())), ..unchanged() }, "platforms.0.connected_account_id"),
        (Changes { targets: named(2), ..unchanged() }, "platforms.1.connected_account_id"),
    ];
    for (wanted, field) in refused {
        assert_eq!(fields(&change(wanted).unwrap_err()), [field]);
    }
}

#[test]
fn public_target_keeps_its_files_when_the_post_changes() {
    let (user, (first, one), (second, other)) = (a_user(), a_file(), a_file());
    let connections = [a_connection(&user), a_connection(&user)];
    let accounts = accounts(&connections);
    let new = NewPost { media: vec![first], ..a_new_post(Some(noon()), &connections) };
    let mut post = Post::create(new, std::slice::from_ref(&one), &user, &accounts, &ids(), noon()).unwrap();
    post.status = PostStatus::Failed;
    post.targets[0].status = TargetStatus::Published;
    post.targets[0].add_public(&[Published::new("p1", noon())]);

    let wanted = Changes { media: Some(vec![second]), ..Changes::default() };
    let changed = post.change(wanted, vec![other.clone()], &accounts, &ids(), noon()).unwrap();

    let attached: Vec<_> = changed.targets.iter().map(|it| changed.media_of(it)).collect();
    assert_eq!(attached, [std::slice::from_ref(&one), std::slice::from_ref(&other)]);
}

#[test]
fn unreadable_targets_add_no_missing_target_error() {
    let unreadable = ValidationErrors::one("platforms.0.connected_account_id", "must be a whole number");
    let new = NewPost { faults: unreadable, ..a_new_post(Some(noon()), &[]) };

    let faults = Post::create(new, &[], &a_user(), &Accounts::new(), &ids(), noon()).unwrap_err();

    assert_eq!(fields(&faults), ["platforms.0.connected_account_id"]);
}

#[test]
fn consent_is_void_once_what_is_published_changes() {
    let user = a_user();
    let connections = [a_connection(&user)];
    let accounts = accounts(&connections);
    let mut post = a_post(&user, None, &connections);
    post.targets[0].consented_at = Some(noon());
    let changed = |changes| post.change(changes, vec![], &accounts, &ids(), noon()).unwrap().targets[0].consented_at;
    let target = |option: Option<&str>, consented_at| {
        let said = option.map(|it| ("visibility".to_owned(), OptionValue::from(it))).into_iter().collect();
        let options = RequestedOptions { said, ..RequestedOptions::default() };
        let targets = vec![NewTarget { options, consented_at, ..NewTarget::new(0, connections[0].connection_id) }];
        Changes { targets: Some(targets), ..Changes::default() }
    };

    assert_eq!(changed(Changes { scheduled_at: Some(Some(noon())), ..Changes::default() }), Some(noon()));
    assert_eq!(changed(target(None, None)), Some(noon()));
    assert_eq!(changed(Changes { text: Some(text("other")), ..Changes::default() }), None);
    assert_eq!(changed(target(Some("all"), None)), None);
    let again = noon() + TimeDelta::seconds(1);
    assert_eq!(changed(target(Some("all"), Some(again))), Some(again));
}
