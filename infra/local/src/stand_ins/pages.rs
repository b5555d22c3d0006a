//! What arrived at the stand-ins, for people who look.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use domain::media::FileType;
use platforms::conformance::network::{Network, PublicMedium, PublicPost};
use secrecy::ExposeSecret;

use super::StandIns;
use crate::sandbox::pages;

/// Posts on one page, the newest.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "stand_ins/list.html")]
struct ListPage {
    stand_ins: Vec<StandInView>,
}

#[derive(Template)]
#[template(path = "stand_ins/stand_in.html")]
struct StandInPage {
    stand_in: StandInView,
    posts: Vec<PostView>,
}

/// A platform.
struct StandInView {
    name: &'static str,
    title: &'static str,
    /// What a person types on the service's page, by the names of the fields.
    answers: Vec<(String, String)>,
    /// How many posts are public.
    posts: usize,
}

/// A post there.
struct PostView {
    id: String,
    text: String,
    media: Vec<FileView>,
}

struct FileView {
    url: String,
    is_video: bool,
    alt_text: Option<String>,
}

impl StandInView {
    fn new(network: &dyn Network) -> Self {
        let name = network.name();
        let title = platforms::known().iter().find(|it| it.name == name).map_or(name, |it| it.title);
        let answers = network.answers().into_iter().map(|(name, it)| (name, it.expose_secret().to_owned()));
        let answers = answers.filter(|(_, it)| !it.is_empty()).collect();
        Self { name, title, answers, posts: network.public().len() }
    }
}

impl PostView {
    /// `place` is the post's among all, from 0.
    fn new(network: &str, place: usize, post: PublicPost) -> Self {
        let file = |(index, it): (usize, &PublicMedium)| FileView {
            url: format!("/stand-ins/{network}/{place}/{index}"),
            is_video: it.mime_type.file_type() == FileType::Video,
            alt_text: it.alt_text.clone(),
        };
        let media = post.media.iter().enumerate().map(file).collect();
        Self { id: post.id, text: post.text, media }
    }
}

/// All of them.
pub(super) async fn list_stand_ins(State(all): State<StandIns>) -> Response {
    pages::show(&ListPage { stand_ins: all.0.iter().map(|it| StandInView::new(it.as_ref())).collect() })
}

/// One, with its posts.
pub(super) async fn show_stand_in(State(all): State<StandIns>, Path(name): Path<String>) -> Response {
    let Some(network) = all.get(&name) else { return pages::not_found() };
    let posts = network.public().into_iter().enumerate().rev().take(PAGE);
    let posts = posts.map(|(place, post)| PostView::new(&name, place, post)).collect();
    pages::show(&StandInPage { stand_in: StandInView::new(network), posts })
}

/// A file of a post, by their places.
pub(super) async fn get_file(
    State(all): State<StandIns>,
    Path((name, post, file)): Path<(String, usize, usize)>,
) -> Response {
    let post = all.get(&name).and_then(|it| it.public().into_iter().nth(post));
    let Some(file) = post.and_then(|it| it.media.into_iter().nth(file)) else { return pages::not_found() };
    let headers = [
        (header::CONTENT_TYPE, file.mime_type.as_str()),
        (header::CONTENT_SECURITY_POLICY, pages::NO_SCRIPT),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, file.bytes).into_response()
}
