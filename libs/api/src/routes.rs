//! The routes of a function and their description, generated from one list.

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
use utoipa::Path;
use utoipa::openapi::HttpMethod;

/// Generates `routes()` and `documented()` from a list of handlers, each in a module of the same
/// name: `api::routes!(App: list_posts, create_post)`.
///
/// The router of `utoipa_axum` always builds the description together with the routes. No function
/// serves the description, and building it took a seventh of the start time.
#[macro_export]
macro_rules! routes {
    ($app:ty: $($handler:ident),+ $(,)?) => {
        fn routes() -> ::axum::Router<$app> {
            let router = ::axum::Router::new();
            $crate::utoipa_axum::paste! {
                $(let router = $crate::described::<$handler::[<__path_ $handler>], _, _, _>(router, &$handler::$handler);)+
            }
            router
        }

        pub fn documented() -> ::utoipa::openapi::OpenApi {
            let router = $crate::utoipa_axum::router::OpenApiRouter::<$app>::new();
            $(let router = router.routes($crate::utoipa_axum::routes!($handler::$handler));)+
            router.into_openapi()
        }
    };
}

/// At the path and method of the handler's description.
#[doc(hidden)]
pub fn described<P, H, T, S>(router: Router<S>, handler: &H) -> Router<S>
where
    P: Path,
    H: Handler<T, S>,
    T: 'static,
    S: Clone + Send + Sync + 'static,
{
    let path = P::path();
    P::methods().iter().fold(router, |router, method| router.route(&path, on(method_filter(method), handler.clone())))
}

fn method_filter(method: &HttpMethod) -> MethodFilter {
    match method {
        HttpMethod::Get => MethodFilter::GET,
        HttpMethod::Put => MethodFilter::PUT,
        HttpMethod::Post => MethodFilter::POST,
        HttpMethod::Delete => MethodFilter::DELETE,
        HttpMethod::Options => MethodFilter::OPTIONS,
        HttpMethod::Head => MethodFilter::HEAD,
        HttpMethod::Patch => MethodFilter::PATCH,
        HttpMethod::Trace => MethodFilter::TRACE,
    }
}
