//! Black-box tests of the running service: a client that checks every response, the local stack as
//! a child process, and one file of checks per area.

pub mod attacks;
pub mod aws;
pub mod browser;
pub mod call_logs;
pub mod client;
pub mod deployed;
pub mod deployment;
pub mod durability;
pub mod file_server;
pub mod harness;
pub mod html;
pub mod http_response;
pub mod lambda;
pub mod moment;
pub mod monthly_cost;
pub mod one_machine;
pub mod picture;
pub mod platforms;
pub mod promises;
pub mod readme;
pub mod real;
pub mod real_servers;
pub mod runner;
pub mod server_process;
pub mod shapes;
pub mod suite;
pub mod template;
pub mod typescript;
pub mod webhook_receiver;

pub use steps::{ensure, error, fail, functions, program, report, tools};
