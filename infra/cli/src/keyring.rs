//! The keyring of the system, by the program that comes with it: `secret-tool`
//! of libsecret, `security` of macOS. A token goes to them by standard input,
//! where no list of processes shows it.
//!
//! The crates for it speak D-Bus themselves and bring some sixty others along,
//! for what one short call does here.

use std::env;
use std::io::Write;
use std::process::{Command, Stdio};

use secrecy::{ExposeSecret, SecretString};

/// Set to `off`, no keyring is used.
const SWITCH: &str = "SOCIAL_KEYRING";

const SERVICE: &str = "social-publishing";

/// Keeps a token under this name. `false` where there is no keyring, or it is
/// locked: then nothing is kept.
pub(crate) fn keep(name: &str, token: &SecretString) -> bool {
    let token = token.expose_secret();
    if is_off() {
        return false;
    }
    if cfg!(target_os = "macos") {
        // Its command line, read from standard input. A token has no character to quote.
        let is_plain = |it: &str| it.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:/#".contains(&byte));
        let line = format!("add-generic-password -U -s {SERVICE} -a {name} -w {token}\n");
        return is_plain(token) && is_plain(name) && run("security", &["-i"], Some(&line)).is_some();
    }
    let label = format!("--label=social: {name}");
    run("secret-tool", &["store", &label, "service", SERVICE, "profile", name], Some(token)).is_some()
}

/// The token under this name.
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

/// Removes the token under this name. `false` where that failed.
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

/// What a program printed, if it is there and succeeded.
fn run(program: &str, arguments: &[&str], input: Option<&str>) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    // Closed at the end of this statement, so that the program sees its end.
    child.stdin.take()?.write_all(input.unwrap_or_default().as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
