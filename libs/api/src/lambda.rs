//! Client address and request id from the API gateway.

use std::net::IpAddr;

use axum::Router;
use axum::extract::Request;
use axum::middleware::map_request;
use lambda_http::request::RequestContext;

use crate::common_layers::RequestId;
use crate::limit::ClientIp;

/// Gives each request the address and the id of the gateway's request context. Add this layer last,
/// so that all others see both.
pub fn with_client_ip(router: Router) -> Router {
    router.layer(map_request(|request: Request| async { add_gateway_context(request) }))
}

fn add_gateway_context(mut request: Request) -> Request {
    let Some(RequestContext::ApiGatewayV2(context)) = request.extensions().get() else {
        return request;
    };
    let address = context.http.source_ip.as_deref().and_then(|it| it.parse::<IpAddr>().ok());
    let id = context.request_id.clone();
    let extensions = request.extensions_mut();
    if let Some(address) = address {
        extensions.insert(ClientIp(address));
    }
    if let Some(id) = id {
        extensions.insert(RequestId(id));
    }
    request
}
