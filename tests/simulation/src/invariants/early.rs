use super::{Broken, History, Kind};

/// No publish call is made before its revision is due, and none has the text of another revision or
/// the account of another target.
pub(super) fn posts_are_not_early(history: &History<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for begun in &history.timeline.begun {
        let reference = begun.reference;
        let due = history.revision(reference.post, reference.revision).and_then(|it| it.post.scheduled_at);
        match due {
            Some(due) if due <= begun.at => {}
            due => {
                let what = format!(
                    "r{} of post {} was sent at {}, but was due at {due:?}",
                    reference.revision, reference.post, begun.at
                );
                broken.push(Broken::new(Kind::Early, reference.post, what));
            }
        }
    }
    for public in &history.timeline.public {
        let reference = public.reference;
        let Some(version) = history.revision(reference.post, reference.revision) else { continue };
        let connection = version.post.target(reference.target).map(|it| it.connection_id);
        let account = history.journal.find_account(connection);
        if account.is_some_and(|it| it != public.account) {
            let what = format!("post {} is public on {}, not on {account:?}", reference.post, public.account);
            broken.push(Broken::new(Kind::Other, reference.post, what));
        }
        let segments = version.post.target(reference.target).map(|it| version.post.segments(it)).unwrap_or_default();
        let text = segments.get(reference.segment).map(|it| it.text);
        if text != Some(public.text.as_str()) {
            let what =
                format!("r{} of post {} says {:?}, not {text:?}", reference.revision, reference.post, public.text);
            broken.push(Broken::new(Kind::Other, reference.post, what));
        }
    }
    broken
}
