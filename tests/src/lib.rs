//! Black-box tests of the running service: a client that checks every answer,
//! the local stack as a child process, and one file of checks per area.

pub mod answer;
pub mod attacks;
pub mod aws;
pub mod bluesky_server;
pub mod browser;
pub mod client;
pub mod deployed;
pub mod file_server;
pub mod harness;
pub mod html;
pub mod lambda;
pub mod lossy_proxy;
pub mod matrix_server;
pub mod moment;
pub mod picture;
pub mod platforms;
pub mod readme;
pub mod real;
pub mod runner;
pub mod shapes;
pub mod suite;
pub mod template;
pub mod typescript;
pub mod webhook_receiver;
pub mod wordpress_server;
pub mod world;

pub use steps::{ensure, fail, fault, functions, program, report, tools};
