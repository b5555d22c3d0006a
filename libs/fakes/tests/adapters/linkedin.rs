//! Behavior specific to LinkedIn.

mod cards;
mod connecting;
mod files;
mod pages;
mod posts;
mod replay;

use fakes::linkedin::LinkedIn;
