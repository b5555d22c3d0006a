//! Pages that show the posts published on the fakes.

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use domain::media::FileType;
use fakes::conformance::fake_platform::{FakePlatform, PublicMedium, PublicPost};
use fakes::sandbox::pages;
use secrecy::ExposeSecret;
use serde::Deserialize;

use super::Fakes;

/// The newest posts are shown.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "fakes/list.html")]
struct ListPage {
    fakes: Vec<FakeView>,
}

#[derive(Template)]
#[template(path = "fakes/fake.html")]
struct FakePage {
    fake: FakeView,
    is_of_one: bool,
    posts: Vec<FakePostView>,
}

#[derive(Deserialize)]
pub(super) struct PageQuery {
    /// The platform's id of a post; all posts if absent.
    post: Option<String>,
}

struct FakeView {
    name: &'static str,
    title: &'static str,
    /// The values to enter on the service's page, by field name.
    form_values: Vec<(String, String)>,
    posts: usize,
}

struct FakePostView {
    id: String,
    text: String,
    media: Vec<FileView>,
}

struct FileView {
    url: String,
    is_video: bool,
    is_document: bool,
    alt_text: Option<String>,
}

impl FakeView {
    fn new(fake: &dyn FakePlatform) -> Self {
        let (name, title) = (fake.name(), Self::title(fake));
        let form_values = fake.form_values().into_iter().map(|(name, it)| (name, it.expose_secret().to_owned()));
        let form_values = form_values.filter(|(_, it)| !it.is_empty()).collect();
        Self { name, title, form_values, posts: fake.public_posts().len() }
    }

    fn title(fake: &dyn FakePlatform) -> &'static str {
        let name = fake.name();
        platforms::platform_infos().iter().find(|it| it.name == name).map_or(name, |it| it.title)
    }
}

impl FakePostView {
    /// `place` is the post's position among all, from 0.
    fn new(fake: &str, place: usize, post: PublicPost) -> Self {
        let file = |(index, it): (usize, &PublicMedium)| FileView {
            url: format!("/fakes/{fake}/{place}/{index}"),
            is_video: it.mime_type.file_type() == FileType::Video,
            is_document: it.mime_type.file_type() == FileType::Document,
            alt_text: it.alt_text.clone(),
        };
        let media = post.media.iter().enumerate().map(file).collect();
        Self { id: post.id, text: post.text, media }
    }
}

pub(super) async fn list_fakes(State(all): State<Fakes>) -> Response {
    pages::show(&ListPage { fakes: all.fakes.iter().map(|it| FakeView::new(it.as_ref())).collect() })
}

pub(super) async fn show_fake(
    State(all): State<Fakes>,
    Path(name): Path<String>,
    Query(PageQuery { post }): Query<PageQuery>,
) -> Response {
    let Some(fake) = all.get(&name) else { return pages::not_found() };
    let is_wanted = |it: &PublicPost| post.as_ref().is_none_or(|wanted| *wanted == it.id);
    let posts = fake.public_posts().into_iter().enumerate().rev().filter(|(_, it)| is_wanted(it)).take(PAGE);
    let posts: Vec<_> = posts.map(|(place, post)| FakePostView::new(&name, place, post)).collect();
    if post.is_some() && posts.is_empty() {
        return pages::not_found();
    }
    pages::show(&FakePage { fake: FakeView::new(fake), is_of_one: post.is_some(), posts })
}

/// The first letter of the platform, for every account.
pub(super) async fn get_avatar(State(all): State<Fakes>, Path(name): Path<String>) -> Response {
    let Some(fake) = all.get(&name) else { return pages::not_found() };
    let title = FakeView::title(fake);
    let letter = title.chars().next().unwrap_or_default();
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\"><rect width=\"64\" height=\"64\" rx=\"32\" \
         fill=\"#4a5a6a\"/><text x=\"32\" y=\"43\" font-family=\"sans-serif\" font-size=\"32\" text-anchor=\"middle\" \
         fill=\"#fff\">{letter}</text></svg>"
    );
    let headers = [
        (header::CONTENT_TYPE, "image/svg+xml"),
        (header::CONTENT_SECURITY_POLICY, pages::NO_SCRIPT),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "max-age=3600"),
    ];
    (headers, svg).into_response()
}

/// By the positions of post and file.
pub(super) async fn get_file(
    State(all): State<Fakes>,
    Path((name, post, file)): Path<(String, usize, usize)>,
) -> Response {
    let post = all.get(&name).and_then(|it| it.public_posts().into_iter().nth(post));
    let Some(file) = post.and_then(|it| it.media.into_iter().nth(file)) else { return pages::not_found() };
    let headers = [
        (header::CONTENT_TYPE, file.mime_type.as_str()),
        (header::CONTENT_SECURITY_POLICY, pages::NO_SCRIPT),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, file.bytes).into_response()
}
