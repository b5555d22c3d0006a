//! The processes in which the emulator runs functions.

use std::{fs, path::Path, process::Command};

#[derive(Clone, Debug)]
pub(super) struct Function {
    id: u32,
    /// Such as `sp-DeliveryFunction-1A2B`.
    pub(super) name: String,
    pub(super) access_key: String,
}

impl Function {
    pub(super) fn kill(&self) {
        // The process may have ended already, which is fine.
        let _ = Command::new("kill").args(["-KILL", &self.id.to_string()]).output();
    }
}

pub(super) fn below(folder: &Path) -> Vec<Function> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries.filter_map(|it| read_function(&it.ok()?.path(), folder)).collect()
}

fn read_function(process: &Path, folder: &Path) -> Option<Function> {
    let id = process.file_name()?.to_str()?.parse().ok()?;
    if !fs::read_link(process.join("exe")).ok()?.starts_with(folder) {
        return None;
    }
    let environment = String::from_utf8_lossy(&fs::read(process.join("environ")).ok()?).into_owned();
    let variable = |name: &str| environment.split('\0').find_map(|it| it.strip_prefix(name)?.strip_prefix('='));
    Some(Function {
        id,
        name: variable("AWS_LAMBDA_FUNCTION_NAME")?.to_owned(),
        access_key: variable("AWS_ACCESS_KEY_ID")?.to_owned(),
    })
}
