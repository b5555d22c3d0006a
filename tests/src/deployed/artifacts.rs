//! The output of `sam build`, made from a single build of all functions: a template whose functions
//! are folders that contain a program.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::{
    error::{Result, TestError},
    template::{FUNCTIONS, Template, function_name},
};

/// Returns the template's path.
///
/// Builds with different numbers differ in their bytes, so the emulator treats them as new code.
pub(super) fn lay_out(template: &Template, programs: &Path, folder: &Path, number: u32) -> Result<PathBuf> {
    let mut built = template.clone();
    for function in FUNCTIONS {
        let code = folder.join(function);
        fs::create_dir_all(&code)?;
        fs::copy(programs.join(function), code.join("bootstrap"))?;
        fs::write(code.join("build"), number.to_string())?;

        let resource = &mut built.json_mut()["Resources"][function_name(function)];
        let found =
            resource.as_object_mut().ok_or_else(|| TestError::new(format!("{function} is not in the template")))?;
        found.remove("Metadata");
        found["Properties"]["CodeUri"] = json!(code);
    }
    // The emulator is called without TLS, and these policies would deny every call.
    let resources = built.json_mut()["Resources"].as_object_mut();
    let resources = resources.ok_or_else(|| TestError::new("the template has no resources"))?;
    for policy in ["QueuePolicy", "WebhookQueuePolicy"] {
        resources.remove(policy);
    }
    let file = folder.join("template.json");
    fs::write(&file, built.json().to_string())?;
    Ok(file)
}
