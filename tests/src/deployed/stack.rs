//! The deployed stack with its surroundings: the emulator, the proxies in front of the API and of
//! AWS, and a sandbox platform.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::Command,
    sync::{Arc, OnceLock},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    artifacts, callers,
    emulator::Emulator,
    privileges::{self, Differences},
    proxy_route::ProxyRoute,
    recorder::Recorder,
};
use crate::{
    aws::{Root, UserPool},
    deployment::Deployment,
    error::{Result, TestError},
    functions,
    harness::{Harness, Ready, SANDBOX_CLIENT, free_port},
    lambda::every_platform,
    server_process,
    template::{FUNCTIONS, ROOT, Template, function_name},
    tools::{AWS_CLI, SAM},
};

const NAME: &str = "social-publishing-test";

/// Everything ends when this is dropped.
pub struct Stack {
    template: Template,
    programs: PathBuf,
    folder: TempDir,
    sandbox: Harness,
    emulator: Emulator,
    recorder: Recorder,
    api: Arc<OnceLock<String>>,
    /// The address of the API.
    reached_at: String,
    /// The origin that the service is configured with.
    origin: String,
    names: BTreeMap<String, String>,
    deployments: u32,
    has_schedules: bool,
}

impl Stack {
    /// Deploys the functions in this folder; without a folder, it builds them.
    pub async fn deploy(programs: Option<PathBuf>, has_schedules: bool) -> Result<Self> {
        let programs = programs.map_or_else(|| functions::build(&FUNCTIONS), Ok)?;
        let sandbox = Harness::start(&[]).await?;
        let (api_port, aws_port, emulator_port) = (free_port()?, free_port()?, free_port()?);
        let emulator = Emulator::start(emulator_port, &format!("http://127.0.0.1:{aws_port}")).await?;
        let recorder = Recorder::default();
        recorder.set_programs(emulator.folder().to_owned());
        ProxyRoute::to(emulator.url())?.recorded(recorder.clone()).open(aws_port).await?;
        let api = Arc::new(OnceLock::new());
        ProxyRoute::to(emulator.url())?.with_host(Arc::clone(&api)).open(api_port).await?;
        let api_url = format!("http://localhost:{api_port}");
        let mut stack = Self {
            template: Template::read()?,
            programs,
            folder: TempDir::new()?,
            sandbox,
            emulator,
            recorder,
            api,
            origin: api_url.clone(),
            reached_at: api_url,
            names: BTreeMap::new(),
            deployments: 0,
            has_schedules,
        };
        stack.store_credentials().await?;
        stack.update().await?;
        let host = format!("{}.execute-api.localhost:{emulator_port}", stack.name("Api")?);
        // Nothing else sets it, so this cannot fail.
        let _ = stack.api.set(host);
        Ok(stack)
    }

    async fn store_credentials(&self) -> Result {
        let (id, secret) = SANDBOX_CLIENT;
        let credentials = json!({ "client_id": id, "client_secret": secret }).to_string();
        let mut command = self.emulator.command(AWS_CLI.program()?);
        command.args(["secretsmanager", "create-secret", "--name", &format!("{NAME}/sandbox")]);
        command.args(["--secret-string", &credentials]);
        server_process::run(command).await?;
        Ok(())
    }

    /// The stack keeps its old address.
    pub async fn move_to(&mut self, origin: &str) -> Result {
        origin.clone_into(&mut self.origin);
        self.update().await
    }

    pub async fn enable_schedules(&mut self) -> Result {
        if self.has_schedules {
            return Ok(());
        }
        self.has_schedules = true;
        self.update().await
    }

    /// With other code and another parameter.
    pub async fn update(&mut self) -> Result {
        self.deployments += 1;
        let template = artifacts::lay_out(&self.template, &self.programs, self.folder.path(), self.deployments)?;
        let mut command = self.emulator.command(SAM.program()?);
        command.current_dir(self.folder.path()).arg("deploy").arg("--template-file").arg(template);
        command.args(["--stack-name", NAME, "--resolve-s3", "--capabilities", "CAPABILITY_IAM"]);
        command.args(["--no-confirm-changeset", "--no-progressbar", "--parameter-overrides"]);
        command.args(self.parameters());
        server_process::run(command).await?;
        self.names = self.resources().await?;
        Ok(())
    }

    fn parameters(&self) -> Vec<String> {
        let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" };
        let log_level = if self.deployments.is_multiple_of(2) { "warn" } else { "info" };
        [
            ("Origin", self.origin.as_str()),
            ("ReturnOrigins", &self.origin),
            ("Architecture", architecture),
            ("LogLevel", log_level),
            ("DeletionProtection", "false"),
            ("Schedules", if self.has_schedules { "ENABLED" } else { "DISABLED" }),
            ("RequestsPerMinute", "100000000"),
            ("MediaPerMinute", "100000000"),
            // With this parameter, functions read a user's plan.
            ("Plans", &quote_json(&json!({ "text": { "media": false } }))),
            ("Platforms", &quote_json(&every_platform(&format!("{}/sandbox", self.sandbox.ready().origin)))),
            ("CognitoEndpoint", &self.emulator.url()),
            ("TrustedProxyHeader", callers::ADDRESS_HEADER),
            ("TrustedProxySecret", callers::PROXY_SECRET),
            ("FileSecret", "0123456789abcdef0123456789abcdef"),
        ]
        .map(|(name, value)| format!("{name}={value}"))
        .into()
    }

    /// Deploys `infra/edge.yaml` in front of this stack's gateway; returns the types of the created
    /// resources.
    pub async fn deploy_edge(&self) -> Result<Vec<String>> {
        let (stack, secret) = (format!("{NAME}-edge"), "a".repeat(32));
        let gateway = format!("{}.execute-api.us-east-1.amazonaws.com", self.name("Api")?);
        let mut command = self.emulator.command(AWS_CLI.program()?);
        command.args(["cloudformation", "deploy", "--stack-name", &stack, "--template-file"]);
        command.arg(PathBuf::from(ROOT).join("infra/edge.yaml")).arg("--parameter-overrides");
        command.args(["DomainName=social.example", &format!("Gateway={gateway}"), &format!("ProxySecret={secret}")]);
        command.arg("CertificateArn=arn:aws:acm:us-east-1:000000000000:certificate/1");
        server_process::run(command).await?;
        let mut command = self.emulator.command(AWS_CLI.program()?);
        command.args(["cloudformation", "describe-stack-resources", "--stack-name", &stack, "--output", "text"]);
        command.args(["--query", "StackResources[?ResourceStatus=='CREATE_COMPLETE'].[ResourceType]"]);
        Ok(server_process::run(command).await?.lines().map(str::to_owned).collect())
    }

    /// AWS's names by those of the template.
    async fn resources(&self) -> Result<BTreeMap<String, String>> {
        let mut command = self.emulator.command(AWS_CLI.program()?);
        command.args(["cloudformation", "describe-stack-resources", "--stack-name", NAME, "--output", "json"]);
        let described: Value = serde_json::from_str(&server_process::run(command).await?)?;
        let text = |it: &Value, name: &str| it[name].as_str().unwrap_or_default().to_owned();
        let resources = described["StackResources"].as_array().into_iter().flatten();
        Ok(resources.map(|it| (text(it, "LogicalResourceId"), text(it, "PhysicalResourceId"))).collect())
    }

    /// AWS's name of the resource.
    pub fn name(&self, resource: &str) -> Result<&str> {
        let name = self.names.get(resource).map(String::as_str);
        name.ok_or_else(|| TestError::new(format!("{resource} is not in the stack")))
    }

    /// AWS's names by those of the template.
    pub fn names(&self) -> &BTreeMap<String, String> {
        &self.names
    }

    pub async fn deployment(&self) -> Result<Deployment> {
        let (origin, base_url) = (self.reached_at.clone(), format!("{}/api/v1", self.reached_at));
        let ready = Ready { origin, base_url, token: String::new(), stores: Value::Null };
        let pool = self.user_pool()?;
        let sandbox = self.sandbox.ready().origin.clone();
        Ok(Deployment::new(ready).await?.with_sandbox(sandbox).with_user_pool(pool))
    }

    pub fn user_pool(&self) -> Result<UserPool> {
        Ok(UserPool::new(self.emulator.root(), self.name("UserPool")?.to_owned()))
    }

    pub fn root(&self) -> Root {
        self.emulator.root()
    }

    /// The function is named by its folder. Returns the number of processes.
    pub fn kill(&self, function: &str) -> Result<usize> {
        let name = self.name(&function_name(function))?;
        let running: Vec<_> = self.emulator.functions().into_iter().filter(|it| it.name == name).collect();
        running.iter().for_each(super::processes::Function::kill);
        Ok(running.len())
    }

    /// Compares with the calls here and those of the local stack, which wrote `local_log`.
    pub fn privileges(&self, local_log: &str) -> Result<Differences> {
        let mut used = privileges::used(&self.template, NAME, &self.names, &self.recorder.seen());
        used.extend(privileges::locally_used_permissions(&self.template, local_log)?);
        privileges::compare(&self.template, &used)
    }

    /// Calls that AWS denied.
    pub fn refused(&self) -> Vec<String> {
        self.recorder.refused().into_iter().collect()
    }

    /// Returns the stack's name.
    pub fn administer(&self, command: &mut Command) -> &'static str {
        command.envs(self.emulator.administrator());
        NAME
    }

    /// `script` is one of `infra/`.
    pub async fn operator(&self, script: &str) -> Result<String> {
        self.run_operator_script_with(script, &[]).await
    }

    /// Like `operator`, with these arguments after the stack's name.
    pub async fn run_operator_script_with(&self, script: &str, arguments: &[&str]) -> Result<String> {
        let program = AWS_CLI.program()?;
        let folder = program.parent().ok_or_else(|| TestError::new("the AWS CLI is nowhere"))?;
        let path = format!("{}:{}", folder.display(), std::env::var("PATH")?);
        let mut command = self.emulator.command(PathBuf::from(ROOT).join("infra").join(script));
        command.env("PATH", path).arg(NAME).args(arguments);
        server_process::run(command).await
    }
}

fn quote_json(json: &Value) -> String {
    format!("\"{}\"", json.to_string().replace('"', "\\\""))
}
