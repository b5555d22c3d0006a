use std::collections::{BTreeMap, BTreeSet};

use domain::media::FileType;
use domain::owner::Owner;
use domain::post::{Accounts, NewPost, Post};
use domain::rules::Rule;

use crate::attachments::ids;
use crate::create_post::{NotCreated, PostDecision};
use crate::{Scheduling, SchedulingError};

#[derive(Debug)]
pub enum PostValidated {
    Fine(Vec<Warning>),
    /// The reason that `create_post` would return.
    Refused(NotCreated),
}

/// Something that no platform refuses but the user may want to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub field: String,
    /// For the user, without the field.
    pub message: String,
}

impl Scheduling {
    /// Without a time, as if scheduled for now.
    pub async fn validate_post(
        &self,
        owner: impl Into<Owner>,
        request: NewPost,
    ) -> Result<PostValidated, SchedulingError> {
        let scheduled_at = request.scheduled_at.or_else(|| Some(self.clock.now()));
        let request = NewPost { scheduled_at, ..request };
        let (decision, accounts) = self.decide_unwritten(owner.into(), &request).await?;
        Ok(match decision {
            PostDecision::Accepted(post) => {
                let mut all = self.quota_warnings(&post, &request, &accounts).await?;
                all.extend(warnings(&post, &request, &accounts));
                PostValidated::Fine(all)
            }
            PostDecision::Refused(reason) => PostValidated::Refused(reason),
        })
    }

    /// For a preview; `None` if the request would be refused.
    pub async fn draft(&self, owner: impl Into<Owner>, request: NewPost) -> Result<Option<Box<Post>>, SchedulingError> {
        let request = NewPost { scheduled_at: None, ..request };
        Ok(match self.decide_unwritten(owner.into(), &request).await?.0 {
            PostDecision::Accepted(post) => Some(post),
            PostDecision::Refused(_) => None,
        })
    }

    async fn decide_unwritten(
        &self,
        owner: Owner,
        request: &NewPost,
    ) -> Result<(PostDecision, Accounts), SchedulingError> {
        let now = self.clock.now();
        let connections: BTreeSet<_> = request.targets.iter().map(|it| it.connection_id).collect();
        let context = self.store.load_post_context(owner, connections, ids(&request.files()), None, now).await?;
        let decision = self.decide_post(request, &context, now).await?;
        Ok((decision, context.accounts))
    }
}

/// For a post that others cannot see, a text that is not shown, files without alt text, and images
/// that are made smaller or cropped.
fn warnings(post: &Post, request: &NewPost, accounts: &Accounts) -> Vec<Warning> {
    let mut not_described: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut changed = BTreeSet::new();
    let (mut not_public, mut not_shown) = (Vec::new(), Vec::new());
    for target in &request.targets {
        let Some(account) = accounts.get(&target.connection_id) else { continue };
        let Some(post_target) = post.targets.iter().find(|it| it.connection_id == target.connection_id) else {
            continue;
        };
        let thread = target.thread.as_ref().unwrap_or(&request.thread);
        let named =
            target.media.as_ref().unwrap_or(&request.media).iter().chain(thread.iter().flat_map(|it| &it.media));
        let title = account.rules.title.as_str();
        let (rules, options) = (&account.rules, &post_target.options);
        let accepts_alt_text = rules.applicable(options).any(|(rule, _)| matches!(rule, Rule::MaxAltText { .. }));
        let is_private = matches!(options.text("visibility"), Some("private" | "SELF_ONLY"));
        if !is_private && rules.is_private_until_audit(options) {
            not_public.push(Warning {
                field: format!("platforms.{}.connected_account_id", target.index),
                message: format!(
                    "will be visible to this account alone: {title} keeps posts private until it has audited the app of \
                     this service's operator"
                ),
            });
        }
        if !post.text_of(post_target).is_empty() && rules.hides_text(options) {
            let field = format!("platforms.{}.content", target.index);
            not_shown.push(Warning {
                field,
                message: format!("is not shown, because {title} shows no text in a post like this"),
            });
        }
        let segments = post.segments(post_target);
        let files = segments.iter().flat_map(|it| (0..).zip(it.media).map(|(index, file)| (it.media, index, file)));
        for (named, (media, index, file)) in named.zip(files) {
            let field = named.field.as_str();
            // Readers of screens read a document itself.
            let is_described = file.alt_text.is_some() || file.mime_type.file_type() == FileType::Document;
            if !is_described && accepts_alt_text {
                not_described.entry(field).or_default().insert(title);
            }
            let resized = rules.resize_descriptions(file, options).into_iter();
            changed.extend(resized.map(|it| (field, format!("is made smaller for {title}: {it}"))));
            if rules.image_frame(media, index, options).is_some_and(|it| it.is_cropped()) {
                changed.insert((field, format!("is cropped by {title} to the aspect ratio of the first file")));
            }
        }
    }
    let not_described = not_described.into_iter().map(|(field, platforms)| {
        let platforms = platforms.into_iter().collect::<Vec<_>>().join(", ");
        let message = format!(
            "is missing: people who use a screen reader on {platforms} will not know what the file shows; describe it"
        );
        Warning { field: format!("{field}.alt_text"), message }
    });
    let changed = changed.into_iter().map(|(field, message)| Warning { field: field.to_owned(), message });
    not_public.into_iter().chain(not_shown).chain(not_described).chain(changed).collect()
}

#[cfg(test)]
mod tests {
    use domain::id::MediaId;
    use domain::media::{Attachment, Facts, MediaPath, MimeType, Pixels};
    use domain::post::MediaReference;
    use domain::rules::{FileRule, Rules};
    use domain::testing::{a_connection, a_new_post, a_user, accounts, an_attachment, ids, noon};

    use super::*;

    #[test]
    fn crop_of_an_image_is_a_warning() {
        let (user, ids) = (a_user(), ids());
        let mut account = a_connection(&user);
        account.rules = Rules::new("Example", [Rule::max_media(4), Rule::OfFiles(FileRule::CroppedToFirst)]);
        let image = |width, height| Attachment {
            media_id: ids.fresh::<MediaId>(),
            mime_type: MimeType::Jpeg,
            facts: Some(Facts { pixels: Some(Pixels { width, height }), ..Facts::default() }),
            ..an_attachment(1)
        };
        let files = [image(400, 500), image(300, 300), image(800, 1_000)];
        let named = files.iter().zip(0..).map(|(file, index)| MediaReference {
            field: format!("media.{index}"),
            path: MediaPath::new(user.user_id, file.media_id, file.mime_type),
            alt_text: None,
        });
        let request = NewPost { media: named.collect(), ..a_new_post(None, std::slice::from_ref(&account)) };
        let accounts = accounts(std::slice::from_ref(&account));
        let post = Post::create(request.clone(), &files, &user, &accounts, &ids, noon()).unwrap();

        let warned: Vec<_> =
            warnings(&post, &request, &accounts).into_iter().map(|it| (it.field, it.message)).collect();

        let message = "is cropped by Example to the aspect ratio of the first file";
        assert_eq!(warned, [("media.1".to_owned(), message.to_owned())]);
    }
}
