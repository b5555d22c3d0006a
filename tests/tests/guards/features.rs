//! Which features the deployed code is built with.

use std::process::Command;

use crate::ROOT;

/// Returns their packages and features. Without arguments, the packages are the default members,
/// from which the functions are deployed.
fn built(packages: &[&str]) -> String {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--edges", "features,no-dev", "--prefix", "none"])
        .args(packages)
        .current_dir(ROOT)
        // The setting can make a build of some packages enable the features of the whole workspace.
        .env_remove("CARGO_RESOLVER_FEATURE_UNIFICATION")
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    String::from_utf8(tree.stdout).unwrap()
}

/// With `testing`, `domain` has a source of random numbers that can be predicted.
#[test]
fn deployed_code_is_built_without_features_for_tests() {
    let (deployed, simulation) = (built(&[]), built(&["--package", "simulation"]));

    for function in ["auth", "connections", "delivery", "posts", "publisher", "webhooks"] {
        assert!(deployed.lines().any(|it| it.starts_with(&format!("{function} v"))), "{function}");
    }
    for feature in [r#"domain feature "testing""#, r#"storage feature "testing""#] {
        assert!(simulation.contains(feature), "a build with {feature} shows it");
    }
    for package in ["cloud", "domain", "platforms", "storage", "webhook_delivery"] {
        for feature in ["conformance", "testing"] {
            let line = format!("{package} feature \"{feature}\"");
            assert!(!deployed.contains(&line), "{line}");
        }
    }
}
