use chrono::Utc;
use http::HeaderMap;

use super::super::errors::{ERRORS, NOT_FOUND};
use super::{Newsletters, Post, Posts, Sites, Uploads};
use crate::kit::Effect;
use crate::recording::Recording;

pub(crate) fn read(recordings: &[(String, Recording)]) {
    for (name, recording) in recordings {
        let the_post = || -> Post {
            let mut posts: Posts = recording.read();
            assert_eq!(posts.posts.len(), 1, "{name}");
            posts.posts.remove(0)
        };
        match (recording.request.as_str(), recording.status().as_u16()) {
            ("GET /ghost/api/admin/site/", 200) => {
                let Sites { site } = recording.read();
                let profile = site.profile(&site.url);
                assert!(profile.display_name.is_some() && profile.username.is_some(), "{name}");
            }
            ("GET /ghost/api/admin/posts/", 200) => assert!(recording.body.to_string().contains("posts"), "{name}"),
            ("GET /ghost/api/admin/newsletters/", 200) => {
                let Newsletters { newsletters } = recording.read();
                assert!(newsletters.iter().all(|it| !it.slug.is_empty() && !it.name.is_empty()), "{name}");
            }
            ("GET /ghost/api/admin/posts/slug/{id}/", 404) => {
                let body = recording.body.to_string();
                let status = recording.status();
                let error = ERRORS.classify(Effect::Private, status, &HeaderMap::new(), body.as_bytes(), Utc::now());
                assert!(error.has_code(&[NOT_FOUND]) && error.is_status(status), "{name}: {error:?}");
            }
            ("POST /ghost/api/admin/posts/", 201) => {
                let post = the_post();
                assert!(post.status == "draft" && post.published_at.is_none(), "{name}");
            }
            ("PUT /ghost/api/admin/posts/{id}/" | "GET /ghost/api/admin/posts/{id}/", 200) => {
                let post = the_post();
                assert!(post.status == "published" && post.published_at.is_some() && post.url.is_some(), "{name}");
                assert!(!post.slug.is_empty() && !post.updated_at.is_empty(), "{name}");
            }
            ("POST /ghost/api/admin/images/upload/" | "POST /ghost/api/admin/media/upload/", 201) => {
                assert!(recording.read::<Uploads>().images[0].url.contains("/content/"), "{name}");
            }
            (other, status) => panic!("{name}: no type of the adapter reads {other} {status}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_responses_are_read() {
        read(&Recording::all("ghost"));
    }
}
