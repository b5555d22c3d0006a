//! External programs, each in a folder of its own under `.tools/`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

use crate::{
    ROOT, ensure,
    error::{Result, TestError},
    fail,
    report::say,
};

#[derive(Clone, Copy, Debug)]
pub struct PythonTool {
    program: &'static str,
    packages: &'static [&'static str],
    patches: &'static [Patch],
}

#[derive(Clone, Copy, Debug)]
struct Patch {
    /// Relative to the installed packages.
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

const UV: &str = "0.13.9";

/// Tests the served API document.
pub const SCHEMATHESIS: PythonTool =
    PythonTool { program: "schemathesis", packages: &["schemathesis==4.32.5"], patches: &[] };

/// Builds, checks and deploys the template.
pub const SAM: PythonTool = PythonTool { program: "sam", packages: &["aws-sam-cli==1.170.0"], patches: &[] };

/// Emulates AWS on one port. The other two packages let it understand SAM's templates and sign
/// tokens.
pub const MINISTACK: PythonTool = PythonTool {
    program: "ministack",
    packages: &["ministack==1.5.33", "aws-sam-translator==1.115.0", "cryptography==50.0.2"],
    patches: &[
        // An HTTP API passes the caller's address to functions. All callers of the emulator are
        // this machine, so it takes the address from a header that only the tests' proxy sets.
        Patch {
            file: "ministack/services/apigateway.py",
            from: "                \"sourceIp\": \"127.0.0.1\",\n                \"userAgent\": headers.get",
            to: "                \"sourceIp\": headers.get(\"x-source-ip\", \"127.0.0.1\"),\n                \"userAgent\": headers.get",
        },
        // An HTTP API answers OPTIONS itself only when CORS is configured: "Configure CORS for HTTP
        // APIs" in the API Gateway guide.
        Patch {
            file: "ministack/services/apigateway.py",
            from: "    if method == \"OPTIONS\":\n        return _cors_preflight_response",
            to: "    if method == \"OPTIONS\" and cors_cfg:\n        return _cors_preflight_response",
        },
        // Condition keys of KMS and EventBridge. Both are in the Service Authorization Reference.
        Patch {
            file: "ministack/app.py",
            from: "                if service == \"s3\"\n                else None\n            )\n            if service == \"logs\":",
            to: "                if service == \"s3\"\n                else {f\"kms:EncryptionContext:{name}\": value for name, value in (json.loads(body or b\"{}\").get(\"EncryptionContext\") or {}).items()} if service == \"kms\"\n                else {\"events:source\": [it.get(\"Source\", \"\") for it in json.loads(body or b\"{}\").get(\"Entries\", [])]} if service == \"events\"\n                else None\n            )\n            if service == \"logs\":",
        },
        // A condition key of DynamoDB, of requests for one item of the table `vault`: "Specifying
        // conditions: using condition keys" in its guide.
        Patch {
            file: "ministack/app.py",
            from: "                dynamodb_service_context(body) if service == \"dynamodb\"",
            to: "                {**dynamodb_service_context(body), \"dynamodb:LeadingKeys\": [key[\"S\"] for it in [json.loads(body or b\"{}\")] for key in [(it.get(\"Key\") or it.get(\"Item\") or {}).get(\"entry\")] if key]} if service == \"dynamodb\"",
        },
        // SQS requires sqs:SendMessage for sending a batch: "Amazon SQS API permissions" in its
        // guide.
        Patch {
            file: "ministack/core/iam_actions.py",
            from: "    if \".\" in target:\n        return target.rsplit(\".\", 1)[-1]",
            to: "    if target == \"AmazonSQS.SendMessageBatch\":\n        return \"SendMessage\"\n    if \".\" in target:\n        return target.rsplit(\".\", 1)[-1]",
        },
        // CloudFormation converts a parameter into a number where the property is one: here and in
        // the next patch.
        Patch {
            file: "ministack/services/cognito.py",
            from: "min_len = policy.get(\"MinimumLength\", 8)",
            to: "min_len = int(policy.get(\"MinimumLength\", 8))",
        },
        Patch {
            file: "ministack/services/lambda_svc.py",
            from: "limit = (esm.get(\"ScalingConfig\") or {}).get(\"MaximumConcurrency\") or _ESM_SQS_DEFAULT_CONCURRENCY",
            to: "limit = int((esm.get(\"ScalingConfig\") or {}).get(\"MaximumConcurrency\") or _ESM_SQS_DEFAULT_CONCURRENCY)",
        },
    ],
};

/// The client with which an operator manages a deployment.
pub const AWS_CLI: PythonTool = PythonTool { program: "aws", packages: &["awscli==1.46.3"], patches: &[] };

/// An independent server with Mastodon's API.
pub const MASTODON_MOCK: PythonTool =
    PythonTool { program: "mastodon_mock", packages: &["mastodon_mock==0.6.1"], patches: &[] };

pub const SYNAPSE: PythonTool =
    PythonTool { program: "synapse_homeserver", packages: &["matrix-synapse==1.163.2"], patches: &[] };

pub const AIOSMTPD: PythonTool = PythonTool { program: "aiosmtpd", packages: &["aiosmtpd==1.4.6"], patches: &[] };

pub const TYPOS: PythonTool = PythonTool { program: "typos", packages: &["typos==1.52.0"], patches: &[] };

/// Checks the dependencies against `deny.toml`.
pub const CARGO_DENY: CargoTool = CargoTool { program: "cargo-deny", version: "0.20.2" };

pub const CARGO_MACHETE: CargoTool = CargoTool { program: "cargo-machete", version: "0.9.2" };

pub const CARGO_MUTANTS: CargoTool = CargoTool { program: "cargo-mutants", version: "27.0.0" };

#[derive(Clone, Copy, Debug)]
pub struct CargoTool {
    program: &'static str,
    version: &'static str,
}

impl CargoTool {
    /// Builds the program if it is missing.
    pub fn program(&self) -> Result<PathBuf> {
        let folder = Path::new(ROOT).join(".tools").join(format!("{}-{}", self.program, self.version));
        let program = folder.join("bin").join(self.program);
        if !program.exists() {
            say(&format!("       installing {} {}", self.program, self.version));
            // Without optimization, the build takes a third of the time, and each tool runs for seconds.
            let arguments =
                ["install", "--quiet", "--locked", "--no-track", "--debug", self.program, "--version", self.version];
            // With a low priority, so that it does not slow down other steps.
            run(Command::new("nice").arg("-n15").arg("cargo").args(arguments).arg("--root").arg(&folder))?;
        }
        Ok(program)
    }
}

impl PythonTool {
    /// Installs the program if it is missing.
    pub fn program(&self) -> Result<PathBuf> {
        let folder = Path::new(ROOT).join(".tools").join(self.program);
        let program = folder.join("bin").join(self.program);
        let installed = folder.join("installed");
        // A note in the folder says what is installed; if anything differs, it is installed again.
        let wanted = format!("{self:?}");
        if fs::read_to_string(&installed).is_ok_and(|it| it == wanted) {
            return Ok(program);
        }
        say(&format!("       installing {} into .tools/{}", self.packages.join(" "), self.program));
        let uv = uv()?;
        run(Command::new(&uv).args(["venv", "--quiet", "--clear", "--python", "python3"]).arg(&folder))?;
        // A link would let the patches change uv's cache.
        let install = ["pip", "install", "--quiet", "--link-mode", "copy", "--python"];
        run(Command::new(&uv).args(install).arg(&folder).args(self.packages))?;
        for patch in self.patches {
            patch.apply(&folder)?;
        }
        fs::write(installed, wanted)?;
        Ok(program)
    }
}

/// Needs a twentieth of pip's time. Installs the program if it is missing.
fn uv() -> Result<PathBuf> {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _alone = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(ROOT).join(".tools").join(format!("uv-{UV}"));
    let program = folder.join("bin/uv");
    if !program.exists() {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        run(Command::new(folder.join("bin/pip")).args(["install", "--quiet"]).arg(format!("uv=={UV}")))?;
    }
    Ok(program)
}

impl Patch {
    fn apply(&self, folder: &Path) -> Result {
        // This folder is named after Python's version.
        let versions = fs::read_dir(folder.join("lib"))?.collect::<std::io::Result<Vec<_>>>()?;
        let [version] = versions.as_slice() else {
            fail!("{} is not one Python's", folder.join("lib").display());
        };
        let file = version.path().join("site-packages").join(self.file);
        let text = fs::read_to_string(&file)?;
        ensure!(text.matches(self.from).count() == 1, "{} does not say once: {}", self.file, self.from);
        Ok(fs::write(file, text.replace(self.from, self.to))?)
    }
}

/// For the scripts in tests/browser and tests/bluesky.
pub fn install_browser_driver() -> Result {
    packages("tests/browser")
}

/// For the script in tests/webhooks.
pub fn webhook_receiver() -> Result {
    packages("tests/webhooks")
}

/// For the script in tests/assistant.
pub fn assistant() -> Result {
    packages("tests/assistant")
}

/// For the script in tests/typescript.
pub fn typescript() -> Result {
    packages("tests/typescript")
}

/// One at a time: concurrent checks need the same packages, and npm empties the folder before it
/// fills it.
fn packages(folder: &str) -> Result {
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _alone = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(ROOT).join(folder);
    // npm writes the second file when it has installed the packages of the first one.
    let [wanted, installed] = ["package-lock.json", "node_modules/.package-lock.json"].map(|it| folder.join(it));
    if let Ok(installed) = fs::metadata(installed)
        && fs::metadata(wanted)?.modified()? <= installed.modified()?
    {
        return Ok(());
    }
    run(Command::new("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder)).map(drop)
}

/// The output is shown only when the command fails.
pub fn run(command: &mut Command) -> Result<String> {
    let shown = command.get_program().display().to_string();
    let output = command.stdin(Stdio::null()).output().map_err(|error| TestError::new(format!("{shown}: {error}")))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "{shown}: {}\n{stdout}{}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(stdout)
}
