//! The routes of the template and of the functions must agree.

use std::collections::BTreeMap;

use tests::template::Template;

use crate::{Names, documented, quoted_after, read};

#[test]
fn template_has_the_served_routes() {
    let template = Template::read().unwrap();
    let mut deployed: BTreeMap<String, Names> = BTreeMap::new();
    for route in template.resources("AWS::ApiGatewayV2::Route").values() {
        let target = route["Target"]["Fn::Sub"].as_str().unwrap();
        let function = target.strip_prefix("integrations/${").unwrap().strip_suffix("Integration}").unwrap();
        let key = route["RouteKey"].as_str().unwrap();
        // A route accepts all methods: the function itself handles wrong ones, HEAD and OPTIONS.
        let path = key.strip_prefix("ANY ").unwrap_or(key);
        assert!(deployed.entry(function.to_lowercase()).or_default().insert(path.to_owned()), "{key} twice");
    }

    let mut served: BTreeMap<String, Names> = BTreeMap::new();
    for (function, document) in documented() {
        let routes = served.entry(function.to_owned()).or_default();
        routes.extend(document.paths.paths.into_keys());
        routes.extend(added_routes(&read(format!("functions/{function}/src/lib.rs"))));
    }
    let auth = served.get_mut("auth").unwrap();
    // Every function has these assets, and only auth receives requests for them.
    auth.extend(added_routes(&read("libs/api/src/page/assets.rs")));
    // Auth also handles paths that belong to no function.
    auth.insert("$default".to_owned());

    assert_eq!(deployed, served);
}

/// The paths in calls of `.route("…`, also if rustfmt has split the call.
fn added_routes(source: &str) -> Vec<String> {
    let joined: String = source.lines().map(str::trim).collect();
    quoted_after(&joined, ".route(\"")
}

#[test]
fn integrations_invoke_the_functions_they_are_named_after() {
    let template = Template::read().unwrap();
    let integrations = template.resources("AWS::ApiGatewayV2::Integration");
    assert_eq!(integrations.len(), documented().len());
    for (name, integration) in integrations {
        let function = name.strip_suffix("Integration").unwrap();
        let uri = integration["IntegrationUri"]["Fn::Sub"].as_str().unwrap();
        assert!(uri.contains(&format!("${{{function}Function.Arn}}")), "{name}: {uri}");
        let permission = &template.resources("AWS::Lambda::Permission")[format!("{function}Permission").as_str()];
        assert_eq!(permission["FunctionName"]["Ref"], format!("{function}Function"));
    }
}
