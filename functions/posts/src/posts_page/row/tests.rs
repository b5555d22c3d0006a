use domain::connection::Connection;
use domain::media::MimeType;
use domain::options::OptionValue;
use domain::post::PublicSegment;
use domain::testing::{a_connection, a_post, a_user, accounts, an_attachment, noon, text};
use domain::time_zone::TimeZone;

use super::*;

fn a_failed_post(account: &Connection) -> Post {
    let mut post = a_post(&a_user(), Some(noon()), std::slice::from_ref(account));
    post.status = PostStatus::Failed;
    post.targets[0].status = TargetStatus::Failed;
    post.targets[0].error_message = Some("The text is too long".to_owned());
    post
}

fn row(post: &Post, account: Connection) -> Row {
    row_with(post, &[account])
}

fn row_with(post: &Post, connections: &[Connection]) -> Row {
    Row::new(post, &accounts(connections), &Links::new(), &TimeZone::utc(), noon())
}

#[test]
fn failed_post_shows_why_and_can_be_tried_again() {
    let account = a_connection(&a_user());
    let post = a_failed_post(&account);
    let row = row(&post, account);

    assert!(row.can_try_again && row.can_cancel && !row.must_reconnect);
    assert_eq!(row.targets[0].message.as_deref(), Some("The text is too long"));
    assert_eq!(row.targets[0].advice, None);
}

#[test]
fn lost_account_must_be_reconnected_first() {
    let mut account = a_connection(&a_user());
    let post = a_failed_post(&account);
    let mut coming = a_post(&a_user(), Some(noon()), std::slice::from_ref(&account));
    account.needs_reconnection = true;
    for connections in [&[account.clone()][..], &[]] {
        let row = row_with(&post, connections);
        assert!(row.must_reconnect && !row.can_try_again);
    }
    let said = |post: &Post, connections: &[Connection]| row_with(post, connections).targets[0].advice.clone();
    assert!(said(&coming, &[account.clone()]).is_some_and(|it| it.contains("Reconnect")));
    assert!(said(&coming, &[]).is_some_and(|it| it.contains("no longer connected")));
    coming.targets[0].error_message = Some("Sandbox no longer accepts this connection".to_owned());
    assert_eq!(said(&coming, &[account]), None, "it is not said twice");
}

#[test]
fn possibly_public_post_warns_before_trying_again() {
    let account = a_connection(&a_user());
    let mut post = a_failed_post(&account);
    post.targets[0].failure = Some(FailureClass::MayBePublic);
    let row = row(&post, account);
    assert!(row.targets[0].advice.as_deref().is_some_and(|it| it.contains("Check the account first")));
}

#[test]
fn partly_public_post_cannot_be_cancelled() {
    let account = a_connection(&a_user());
    let mut post = a_failed_post(&account);
    let mut public = post.targets[0].clone();
    public.status = TargetStatus::Published;
    let published = Published { url: Some("javascript:alert(1)".to_owned()), ..Published::new("p1", noon()) };
    public.public = vec![PublicSegment { published, content: None }];
    post.targets.push(public);
    let row = row(&post, account);
    assert!(row.can_try_again && !row.can_cancel);
    assert_eq!(row.targets[1].link, None, "what is no address of the web is not shown as one");
}

#[test]
fn thread_that_stopped_cannot_become_a_draft() {
    let account = a_connection(&a_user());
    let mut post = a_failed_post(&account);
    assert!(row(&post, account.clone()).can_cancel);
    post.thread = vec![SegmentContent { text: text("And a reply"), media: Vec::new() }];
    let published = Published { url: Some("javascript:alert(1)".to_owned()), ..Published::new("p1", noon()) };
    post.targets[0].public = vec![PublicSegment { published, content: None }];

    let row = row(&post, account);

    assert!(row.can_try_again && !row.can_cancel);
    let segments = &row.targets[0].segments;
    assert_eq!(segments.iter().map(|it| it.state).collect::<Vec<_>>(), ["Published", "Failed"]);
    assert_eq!(segments[0].link, None, "what is no address of the web is not shown as one");
}

#[test]
fn failed_comment_is_shown_with_its_reason() {
    let account = a_connection(&a_user());
    let mut post = a_post(&a_user(), Some(noon()), std::slice::from_ref(&account));
    let target = &mut post.targets[0];
    target.status = TargetStatus::Published;
    target.options = [("first_comment".to_owned(), OptionValue::from("More"))].into_iter().collect();
    target.public = vec![PublicSegment { published: Published::new("p1", noon()), content: None }];
    target.comment_error = Some("Comments are closed".to_owned());

    let row = row(&post, account);

    let comment = &row.targets[0].segments[1];
    assert_eq!((comment.name.as_str(), comment.state, comment.text.as_str()), ("First comment", "Failed", "More"));
    assert_eq!(comment.message.as_deref(), Some("Comments are closed"));
    assert!(row.targets[0].has_failed_segment() && row.targets[0].public_segments() == 1);
}

#[test]
fn files_are_counted_and_images_shown() {
    let account = a_connection(&a_user());
    let mut post = a_failed_post(&account);
    let image = an_attachment(1);
    let video = Attachment { mime_type: MimeType::Mp4, ..an_attachment(2) };
    let links = [&image, &video].map(|it| (it.media_id, format!("https://files.example/{}", it.media_id))).into();
    for (media, shown, thumbnails) in [
        (vec![], "", 0),
        (vec![image.clone()], "1 image", 1),
        (vec![video.clone()], "1 video", 0),
        (vec![image.clone(), video, image], "2 images and 1 video", 2),
    ] {
        post.media = media;
        let row = Row::new(&post, &accounts(std::slice::from_ref(&account)), &links, &TimeZone::utc(), noon());
        assert_eq!((row.files.as_str(), row.thumbnails.len()), (shown, thumbnails));
    }
}

#[test]
fn a_long_text_is_cut_at_a_character() {
    let account = a_connection(&a_user());
    let mut post = a_failed_post(&account);
    post.text = text(&"é".repeat(400));
    let row = row(&post, account);
    assert_eq!(row.text, format!("{}…", "é".repeat(SHOWN_CHARS)));
}
