//! Properties of every route: the order of checks, methods, sizes, types.

use reqwest::Method;
use serde_json::json;

use crate::{
    checks,
    client::Api,
    deployment::Deployment,
    ensure,
    error::{Result, same},
    http_response::{integer, list, text},
    runner::Check,
};

pub(super) fn checks() -> Vec<Check> {
    checks!(
        "everywhere",
        [
            unknown_path_is_refused_first,
            unknown_method_lists_the_allowed_methods,
            errors_have_a_fixed_order,
            body_must_have_size_type_and_valid_json,
            too_large_number_is_one_validation_error,
            unknown_query_parameters_are_refused,
            head_is_supported_where_get_is,
            foreign_origins_are_denied,
            openapi_document_describes_every_operation,
            documentation_page_is_served,
        ]
    )
}

async fn unknown_path_is_refused_first(deployment: &Deployment) -> Result {
    let api = deployment.stranger()?;
    for method in [Method::GET, Method::POST, Method::PATCH, Method::DELETE, Method::PUT, Method::OPTIONS] {
        for path in ["/nope", "/", "/posts/1/comments", "/media/upload", "/users", "/auth/device", "/auth"] {
            let call = api.call(method.clone(), path).raw("text/plain", b"{junk");
            call.send().await?.refused(404)?;
        }
    }
    Ok(())
}

const METHODS: [(&str, &[&str]); 10] = [
    ("/auth/device/code", &["POST"]),
    ("/auth/device/token", &["POST"]),
    ("/user", &["GET"]),
    ("/connections", &["GET"]),
    ("/connections/1", &["GET", "DELETE"]),
    ("/connections/connect/sandbox", &["POST"]),
    ("/connections/connect/sandbox/status/x", &["GET"]),
    ("/media", &["POST"]),
    ("/posts", &["GET", "POST"]),
    ("/posts/1", &["GET", "PATCH", "DELETE"]),
];

async fn unknown_method_lists_the_allowed_methods(deployment: &Deployment) -> Result {
    // The method is checked before the token.
    let api = deployment.stranger()?;
    for (path, known) in METHODS {
        for method in ["GET", "POST", "PATCH", "DELETE", "PUT", "TRACE", "BREW"] {
            if known.contains(&method) {
                continue;
            }
            let response = api.call(Method::from_bytes(method.as_bytes())?, path).send().await?;
            let allow = response.header("allow").to_owned();
            let allowed: Vec<_> = allow.split(',').map(str::trim).collect();
            if !known.iter().all(|it| allowed.contains(it)) || allowed.contains(&method) {
                return Err(response.test_error(&format!("allow is {allow:?} where {known:?} are known")));
            }
            response.refused(405)?;
        }
    }
    Ok(())
}

async fn errors_have_a_fixed_order(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let reader = deployment.new_user_with(&["user:read"]).await?;
    let stranger = deployment.stranger()?;
    let post = integer(&user.create(&json!({ "content": "a" })).await?, "id")?;
    let (there, nowhere) = (format!("/posts/{post}"), "/posts/9007199254740990".to_owned());
    let (large, text) = (vec![b'{'; 300 * 1024], "text/plain");
    let patch = |api: &Api, path: &str, kind: &str, body: &[u8]| {
        let (api, path, kind, body) = (api.clone(), path.to_owned(), kind.to_owned(), body.to_owned());
        async move { api.call(Method::PATCH, &path).raw(&kind, &body).send().await }
    };

    patch(&stranger, &nowhere, text, &large).await?.refused(401)?;
    patch(&reader.api, &nowhere, text, &large).await?.refused(403)?;
    patch(&user.api, &nowhere, text, &large).await?.refused(404)?;
    patch(&user.api, &there, text, &large).await?.refused(413)?;
    patch(&user.api, &there, text, b"{").await?.refused(415)?;
    patch(&user.api, &there, "application/json", b"{\"content\":\"\",").await?.refused(400)?;
    patch(&user.api, &there, "application/json", b"{\"content\":\"\"}").await?.invalid(&["content"])?;

    patch(&user.api, &nowhere, text, b"{").await?.refused(404)?;
    patch(&user.api, &nowhere, "application/json", b"{").await?.refused(404)?;
    patch(&user.api, &nowhere, "application/json", b"{\"content\":\"\"}").await?.refused(404)?;
    user.api.get(&format!("{nowhere}?bogus=1")).await?.refused(404)?;
    stranger.get("/posts?bogus=1").await?.refused(401)?;
    reader.api.get("/posts?bogus=1").await?.refused(403)?;
    Ok(())
}

async fn body_must_have_size_type_and_valid_json(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let send = |path: &'static str, kind: &'static str, body: Vec<u8>| {
        let api = user.api.clone();
        async move { api.call(Method::POST, path).raw(kind, &body).send().await }
    };
    for path in ["/posts", "/media", "/auth/device/code", "/auth/device/token"] {
        send(path, "application/json", vec![b' '; 256 * 1024 + 1]).await?.refused(413)?;
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp", ""]
        {
            send(path, kind, b"{}".to_vec()).await?.refused(415)?;
        }
        for body in ["{", "}", "{\"a\":}", "{'a':1}", "{\"content\":\"a\"} x", "\u{0}", "{\"a\":1,}", "nul"] {
            send(path, "application/json", body.as_bytes().to_vec()).await?.refused(400)?;
        }
        if !deployment.is_behind_a_gateway() {
            // A gateway turns these bytes into valid text before a function receives them.
            send(path, "application/json", b"{\"content\":\"\xff\xfe\"}".to_vec()).await?.refused(400)?;
        }
    }
    for kind in ["application/json", "application/json; charset=utf-8", "Application/JSON"] {
        send("/posts", kind, b"{\"content\":\"a\"}".to_vec()).await?.is(201)?;
    }
    // The largest allowed size.
    let mut body = b"{\"content\":\"a\"}".to_vec();
    body.resize(256 * 1024, b' ');
    send("/posts", "application/json", body).await?.is(201)?;
    for body in ["[]", "\"a\"", "1", "null"] {
        let response = send("/posts", "application/json", body.as_bytes().to_vec()).await?;
        ensure!(
            [400, 422].contains(&response.status),
            "{}",
            response.test_error("a body that is no object was accepted")
        );
    }
    Ok(())
}

async fn too_large_number_is_one_validation_error(deployment: &Deployment) -> Result {
    let user = deployment.user().await?;
    let send = |path: &'static str, body: &'static str| {
        let api = user.api.clone();
        async move { api.call(Method::POST, path).raw("application/json", body.as_bytes()).send().await }
    };
    for body in [r#"{"content":1e400,"#, r#"{"content":1e400}}"#, r#"{"content":1e400,"media":[01]}"#, r#"{"a":1e400"#]
    {
        send("/posts", body).await?.refused(400)?;
    }
    let body = r#"{"content":1e400,"contnt":1,"media":[-2E+999,true],"platforms":[{"connected_account_id":1e400}]}"#;
    let fields = ["content", "contnt", "media.0", "media.1", "platforms.0.connected_account_id"];
    let errors = send("/posts", body).await?.invalid(&fields)?;
    for field in fields {
        same(list(&errors, field)?.len(), 1, &format!("errors on {field}"))?;
    }
    send("/media", r#"{"mime_type":"image/png","size":1e400,"name":1}"#).await?.invalid(&["size", "name"])?;
    Ok(())
}

async fn unknown_query_parameters_are_refused(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let post = integer(&user.create(&json!({ "content": "a" })).await?, "id")?;
    let path = format!("/posts/{post}");
    let mut taken = Vec::new();
    for (method, path, body) in [
        (Method::GET, "/user", None),
        (Method::GET, "/openapi.json", None),
        (Method::GET, "/connections", None),
        (Method::GET, "/platforms", None),
        (Method::POST, "/connections/connect/sandbox", None),
        (Method::POST, "/media", Some(json!({ "mime_type": "image/png" }))),
        (Method::GET, "/posts", None),
        (Method::POST, "/posts", Some(json!({ "content": "a" }))),
        (Method::GET, "/webhooks", None),
        (Method::GET, "/webhooks/key", None),
        (Method::GET, path.as_str(), None),
        (Method::PATCH, path.as_str(), Some(json!({ "content": "b" }))),
        (Method::DELETE, path.as_str(), None),
        (Method::POST, "/auth/device/code", Some(json!({}))),
        (Method::POST, "/auth/device/token", Some(json!({ "device_code": "x" }))),
    ] {
        let address = format!("{path}?bogus=1");
        let call = user.api.call(method, &address);
        let call = if let Some(body) = body { call.json(&body) } else { call };
        if let Err(error) = call.send().await?.invalid(&["bogus"]) {
            taken.push(error.to_string());
        }
    }
    ensure!(taken.is_empty(), "{}", taken.join("\n      "));
    same(&user.show(post).await?["content"], &json!("a"), "content after refused requests")
}

async fn head_is_supported_where_get_is(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    let post = integer(&user.create(&json!({ "content": "a" })).await?, "id")?;
    for (path, status) in [
        ("/user".to_owned(), 200),
        ("/connections".to_owned(), 200),
        ("/posts?per_page=5".to_owned(), 200),
        (format!("/posts/{post}"), 200),
        ("/posts/1".to_owned(), 404),
        ("/connections/1".to_owned(), 404),
        ("/posts?per_page=0".to_owned(), 422),
        ("/nope".to_owned(), 404),
        ("/media".to_owned(), 405),
    ] {
        user.api.call(Method::HEAD, &path).send().await?.is(status)?;
    }
    deployment.stranger()?.call(Method::HEAD, "/posts").send().await?.is(401)?;
    Ok(())
}

async fn foreign_origins_are_denied(deployment: &Deployment) -> Result {
    let user = deployment.new_user().await?;
    for method in [Method::GET, Method::OPTIONS] {
        let call = user.api.call(method, "/posts").header("origin", "https://evil.example");
        let answer = call.header("access-control-request-method", "POST").send().await?;
        same(answer.header("access-control-allow-origin"), "", "access-control-allow-origin")?;
    }
    Ok(())
}

async fn openapi_document_describes_every_operation(deployment: &Deployment) -> Result {
    let response = deployment.http().get(format!("{}/openapi.json", deployment.base())).send().await?;
    same(response.status().as_u16(), 200, "status of openapi.json")?;
    let document: serde_json::Value = serde_json::from_str(&response.text().await?)?;
    ensure!(text(&document, "openapi")?.starts_with("3.1"), "openapi is {}", document["openapi"]);

    let paths = document["paths"].as_object();
    let mut found = 0;
    for (path, item) in paths.into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            if !["get", "post", "patch", "delete", "put"].contains(&method.as_str()) {
                continue;
            }
            found += 1;
            ensure!(!text(operation, "summary")?.is_empty(), "{method} {path} has no summary");
            ensure!(!list(operation, "tags")?.is_empty(), "{method} {path} has no tag");
            let responses = operation["responses"].as_object().map_or(0, serde_json::Map::len);
            ensure!(2 <= responses, "{method} {path} has no errors");
        }
    }
    same(found, 35, "operations of the document")?;
    for id in ["deviceCode.store", "deviceCode.token", "connectionOAuth.store", "connectionOAuth.status"] {
        ensure!(document.to_string().contains(&format!("\"{id}\"")), "the operation id {id} is missing");
    }
    Ok(())
}

async fn documentation_page_is_served(deployment: &Deployment) -> Result {
    let page = deployment.browser()?.open(&format!("{}/docs", deployment.origin())).await?;
    same(page.status.as_u16(), 200, "status of /docs")?;
    for tag in crate::html::tags(&page.html) {
        let link = if tag.name == "a" { None } else { tag.get("src").or(tag.get("href")) };
        ensure!(
            link.is_none_or(|it| !it.contains("//") || it.starts_with("data:")),
            "/docs needs the network: {link:?}"
        );
    }
    Ok(())
}
