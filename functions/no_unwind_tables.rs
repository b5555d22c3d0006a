//! The build script of every function: leaves out of what is deployed how to
//! climb out of each function, which is what an exception or a debugger asks.
//! Nothing does there: a panic says where it was and ends the process
//! (`panic = "abort"`), and no names are left to print for more. It is a tenth
//! of each program.
//!
//! Cargo has no setting for it that is one profile's alone. GNU ld, LLD and the
//! linker of zig, which cargo-lambda uses, all take the script.

#![expect(clippy::print_stdout, reason = "a build script speaks to cargo")]

use std::path::Path;
use std::{env, fs};

/// Added to what the linker does by itself.
const SCRIPT: &str = "\
SECTIONS { /DISCARD/ : { *(.eh_frame) *(.eh_frame_hdr) *(.gcc_except_table*) } }
INSERT AFTER .text;
";

fn main() -> std::io::Result<()> {
    // Else cargo asks again after every change of the function.
    println!("cargo::rerun-if-env-changed=PROFILE");
    let is = |name, value| env::var(name).is_ok_and(|it| it == value);
    // Without optimization panics unwind, and other systems link otherwise.
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") {
        let script = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join("no_unwind_tables.ld");
        fs::write(&script, SCRIPT)?;
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
    Ok(())
}
