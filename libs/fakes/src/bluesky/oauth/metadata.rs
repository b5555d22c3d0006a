//! Metadata of the authorization server (RFC 8414).

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::bluesky::pds_state::Shared;

/// `GET /.well-known/oauth-authorization-server`.
pub(super) async fn metadata(State(fake): State<Shared>) -> Json<Value> {
    let issuer = fake.issuer();
    Json(json!({
        "issuer": issuer,
        "request_parameter_supported": true,
        "request_uri_parameter_supported": true,
        "require_request_uri_registration": true,
        "scopes_supported": ["atproto", "transition:email", "transition:generic", "transition:chat.bsky"],
        "subject_types_supported": ["public"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query", "fragment", "form_post"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "ui_locales_supported": ["en-US"],
        "display_values_supported": ["page", "popup", "touch"],
        "prompt_values_supported": ["none", "login", "consent", "select_account", "create"],
        "authorization_response_iss_parameter_supported": true,
        "authorization_endpoint": format!("{issuer}/oauth/authorize"),
        "token_endpoint": format!("{issuer}/oauth/token"),
        "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
        "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
        "revocation_endpoint": format!("{issuer}/oauth/revoke"),
        "pushed_authorization_request_endpoint": format!("{issuer}/oauth/par"),
        "require_pushed_authorization_requests": true,
        "dpop_signing_alg_values_supported": ["ES256"],
        "protected_resources": [fake.pds()],
        "client_id_metadata_document_supported": true,
    }))
}
