//! The template deployed on this machine: the real binaries on an emulator of AWS that enforces
//! their roles, with proxies and a platform around it.

mod artifacts;
pub mod callers;
pub mod connect_flows;
mod emulator;
pub mod privileges;
mod processes;
mod proxy_route;
mod recorder;
pub mod scenes;
mod stack;

pub use stack::Stack;
