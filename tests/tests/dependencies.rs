//! What the workspace must never depend on.

#![allow(clippy::expect_used, reason = "a panic here is the failing assertion")]

use std::process::Command;

fn packages() -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--workspace", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(["--locked", "--offline"])
        .output()
        .expect("cargo tree runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut packages: Vec<String> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
        .collect();
    packages.sort();
    packages.dedup();
    packages
}

#[test]
fn there_is_one_tls_stack() {
    let packages = packages();

    let named = |name: &str| packages.iter().filter(|it| it.starts_with(&format!("{name} "))).count();

    assert_eq!(named("rustls"), 1, "versions of rustls");
    assert_eq!(named("ring"), 1, "versions of ring");
    for other in ["native-tls", "openssl", "openssl-sys", "aws-lc-rs", "aws-lc-sys", "s2n-tls", "boring"] {
        assert_eq!(named(other), 0, "{other} is in the tree");
    }
}
