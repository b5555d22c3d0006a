//! The adapter reads responses of a real WordPress.

use super::super::site::Index;
use super::{Ignored, Me, Medium, Password, Post};
use crate::recording::Recording;

pub(crate) fn read_successes(recordings: &[(String, Recording)]) {
    for (name, recording) in recordings {
        assert!(recording.status().is_success(), "{name}: no error is recorded yet");
        match recording.request.as_str() {
            "GET /wp-json/" => {
                let index: Index = recording.read();
                assert!(!index.name.is_empty() && !index.home.is_empty(), "{name}");
            }
            "GET /wp-json/wp/v2/users/me" => {
                let me: Me = recording.read();
                assert!(me.can("publish_posts") && me.can("upload_files") && !me.can("manage_options"), "{name}");
                assert!(!me.username.is_empty() && me.roles == ["author"], "{name}");
            }
            "GET /wp-json/wp/v2/posts" => assert!(recording.read::<Vec<Post>>().is_empty(), "{name}"),
            "POST /wp-json/wp/v2/posts" => assert_eq!(recording.read::<Post>().status, "draft", "{name}"),
            "POST /wp-json/wp/v2/posts/{id}" | "GET /wp-json/wp/v2/posts/{id}" => {
                let post: Post = recording.read();
                assert_eq!(post.status, "publish", "{name}");
                assert!(post.link.is_some() && !post.slug.is_empty() && post.date().is_some(), "{name}");
            }
            "GET /wp-json/wp/v2/media" => assert!(recording.read::<Vec<Medium>>().is_empty(), "{name}"),
            "POST /wp-json/wp/v2/media" => {
                assert!(recording.read::<Medium>().source_url.contains("/uploads/"), "{name}");
            }
            "GET /wp-json/wp/v2/users/me/application-passwords/introspect" => {
                assert!(!recording.read::<Password>().uuid.is_empty(), "{name}");
            }
            "DELETE /wp-json/wp/v2/users/me/application-passwords/{id}" => drop(recording.read::<Ignored>()),
            other => panic!("{name}: no type of the adapter reads {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_responses_are_read() {
        read_successes(&Recording::all("wordpress"));
    }
}
