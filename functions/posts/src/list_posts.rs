use api::openapi::{Invalid, POSTS, Refused};
use api::scope_guard::PostsRead;
use api::{ApiResult, Caller, Fields, Paging, Params};
use axum::Json;
use axum::extract::State;
use contract::{ListPosts, PageMeta, PostList};
use domain::listing::{Direction, Listing, SortField};
use domain::post::{Filter, PostStatus};
use domain::text::{ExternalId, Label};

use crate::App;
use crate::response::view;

const PARAMETERS: &[&str] = &["status", "profile_id", "external_id", "label", "per_page", "page", "sort", "direction"];

#[utoipa::path(
    get,
    path = "/api/v1/posts",
    operation_id = "post.index",
    tag = POSTS,
    summary = "List posts",
    description = "Returns one page of your posts. Sorted by `scheduled_at`, posts without it come last in both directions. Every post on a page fits every filter, and `total` is exact, even while posts change. A post that was created a moment ago may be missing.",
    security(("token" = [])),
    params(ListPosts),
    responses(
        (status = 200, description = "A page of posts; a page after the last one is empty", body = PostList),
        Refused,
        Invalid,
    )
)]
pub(crate) async fn list_posts(
    State(app): State<App>,
    caller: Caller<PostsRead>,
    params: Params,
) -> ApiResult<Json<PostList>> {
    let listing = listing(params.fields(PARAMETERS))?;

    let page = app.api.store.posts(caller.owner, &listing).await?;

    let mut data = Vec::with_capacity(page.posts.len());
    for post in &page.posts {
        data.push(view(&app, post).await);
    }
    let meta = PageMeta {
        current_page: listing.page,
        last_page: listing.last_page(page.total),
        per_page: listing.per_page,
        total: page.total,
    };
    Ok(Json(PostList { data, meta }))
}

fn listing(mut fields: Fields) -> ApiResult<Listing> {
    let status = parse_choice(&mut fields, "status", &PostStatus::ALL.map(|it| (it.as_str(), it)));
    let external_id = fields.parse("external_id", ExternalId::parse).value();
    let label = fields.parse("label", Label::parse).value();
    let profile = api::profile_filter(&mut fields);
    let filter = Filter { status, external_id, label, profile, ..Filter::default() };
    let sort = [("created_at", SortField::CreatedAt), ("scheduled_at", SortField::ScheduledAt)];
    let direction = [("asc", Direction::Asc), ("desc", Direction::Desc)];
    let Paging { page, per_page } = Paging::parse(&mut fields);
    let listing = Listing {
        filter,
        sort: parse_choice(&mut fields, "sort", &sort).unwrap_or(SortField::CreatedAt),
        direction: parse_choice(&mut fields, "direction", &direction).unwrap_or(Direction::Desc),
        page,
        per_page,
    };
    fields.finish(listing)
}

fn parse_choice<T: Copy>(fields: &mut Fields, name: &str, known: &[(&str, T)]) -> Option<T> {
    let raw = fields.text(name).value()?;
    let found = known.iter().find(|it| it.0 == raw).map(|it| it.1);
    if found.is_none() {
        let names: Vec<_> = known.iter().map(|it| it.0).collect();
        fields.add(name, format!("must be one of {}", names.join(", ")));
    }
    found
}
