//! Metadata of the authorization server and of the protected resources, which clients read before they
//! request access.

use api::Api;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::oauth::Resource;
use domain::scope::Scope;
use http::HeaderValue;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL};
use serde_json::{Value, json};

/// The scopes that an assistant's tools need. Assistants request every scope that the metadata
/// lists.
pub(crate) const SCOPES_OF_TOOLS: [Scope; 4] =
    [Scope::ConnectionsRead, Scope::PostsRead, Scope::PostsWrite, Scope::MediaWrite];

/// `/.well-known/oauth-authorization-server` (RFC 8414).
pub(crate) async fn authorization_server(State(api): State<Api>) -> Response {
    let origin = &api.origin;
    public_response(json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/oauth/authorize"),
        "token_endpoint": format!("{origin}/api/v1/oauth/token"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "scopes_supported": Scope::ALL.map(Scope::as_str),
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": true,
        "service_documentation": format!("{origin}/docs"),
    }))
}

/// `/.well-known/oauth-protected-resource` (RFC 9728), of the whole service.
pub(crate) async fn protected_resource(State(api): State<Api>) -> Response {
    let scopes = Scope::ALL.map(Scope::as_str);
    resource(&api, Resource::Service, &scopes)
}

/// Like the metadata of the API, for the URL that assistants call.
pub(crate) async fn protected_mcp_resource(State(api): State<Api>) -> Response {
    let scopes = SCOPES_OF_TOOLS.map(Scope::as_str);
    resource(&api, Resource::Mcp, &scopes)
}

fn resource(api: &Api, resource: Resource, scopes: &[&str]) -> Response {
    let (origin, path) = (&api.origin, resource.path());
    public_response(json!({
        "resource": format!("{origin}{path}"),
        "resource_name": "Social Publishing",
        "authorization_servers": [origin],
        "scopes_supported": scopes,
        "bearer_methods_supported": ["header"],
        "resource_documentation": format!("{origin}/docs"),
    }))
}

/// Scripts of other sites may read it, too: the document is the same for everyone.
fn public_response(document: Value) -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
        (CACHE_CONTROL, HeaderValue::from_static("public, max-age=300")),
    ];
    (headers, Json(document)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::service;

    #[tokio::test]
    async fn metadata_leads_from_resource_to_token_endpoint() {
        let service = service().await;
        let read = async |path: &str| {
            let answer = service.page(path, "").await;
            assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, "*"), "{path}");
            answer.body
        };

        let resource = read("/.well-known/oauth-protected-resource/mcp").await;
        assert_eq!(resource["resource"], "https://social.example/mcp");
        assert_eq!(resource["authorization_servers"], json!(["https://social.example"]));
        assert_eq!(read("/.well-known/oauth-protected-resource").await["resource"], "https://social.example");
        let server = read("/.well-known/oauth-authorization-server").await;
        assert_eq!(server["issuer"], "https://social.example");
        assert_eq!(server["authorization_endpoint"], "https://social.example/oauth/authorize");
        assert_eq!(server["token_endpoint"], "https://social.example/api/v1/oauth/token");
        assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
    }
}
