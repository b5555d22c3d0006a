//! Stores tokens in the system's keyring with the system's own program: `secret-tool` of libsecret,
//! or `security` of macOS. The token is passed on standard input, because arguments are visible in
//! the list of processes.
//!
//! The crates for keyrings implement D-Bus and have about sixty dependencies; one short call to a
//! program is enough here.

use std::env;
use std::io::Write;
use std::process::{Command, Stdio};

use secrecy::{ExposeSecret, SecretString};

/// `off` disables the keyring.
const SWITCH: &str = "SOCIAL_KEYRING";

const SERVICE: &str = "social-publishing";

/// Stores a token under this name. Returns `false`, and stores nothing, if there is no keyring or it
/// is locked.
pub(crate) fn keep(name: &str, token: &SecretString) -> bool {
    let token = token.expose_secret();
    if is_off() {
        return false;
    }
    if cfg!(target_os = "macos") {
        // A command of `security -i`. A token has no character that needs quoting.
        let is_plain = |it: &str| it.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:/#".contains(&byte));
        let line = format!("add-generic-password -U -s {SERVICE} -a {name} -w {token}\n");
        return is_plain(token) && is_plain(name) && run("security", &["-i"], Some(&line)).is_some();
    }
    let label = format!("--label=social: {name}");
    run("secret-tool", &["store", &label, "service", SERVICE, "profile", name], Some(token)).is_some()
}

pub(crate) fn find(name: &str) -> Option<SecretString> {
    if is_off() {
        return None;
    }
    let found = if cfg!(target_os = "macos") {
        run("security", &["find-generic-password", "-s", SERVICE, "-a", name, "-w"], None)
    } else {
        run("secret-tool", &["lookup", "service", SERVICE, "profile", name], None)
    };
    found.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).map(SecretString::from)
}

/// `false` if that failed.
pub(crate) fn remove(name: &str) -> bool {
    let removed = if cfg!(target_os = "macos") {
        run("security", &["delete-generic-password", "-s", SERVICE, "-a", name], None)
    } else {
        run("secret-tool", &["clear", "service", SERVICE, "profile", name], None)
    };
    removed.is_some()
}

fn is_off() -> bool {
    env::var_os(SWITCH).is_some_and(|it| it == "off")
}

/// `None` if the program is missing or failed.
fn run(program: &str, arguments: &[&str], input: Option<&str>) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    // Standard input is dropped at the end of this statement, so the program sees the end of input.
    child.stdin.take()?.write_all(input.unwrap_or_default().as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
