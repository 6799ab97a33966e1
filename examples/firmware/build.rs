//! Prepares what lies in flash beside the program, and the linker's view of the board.

use mrail_firmware_host as host;
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("general.mrail"), host::MAP).expect("OUT_DIR can be written");
    fs::write(out.join("general.idx"), host::hint()).expect("OUT_DIR can be written");
    fs::write(out.join("track.mrail"), host::track()).expect("OUT_DIR can be written");
    fs::write(out.join("prompts.rs"), prompts()).expect("OUT_DIR can be written");

    let target = env::var("TARGET").expect("cargo sets TARGET");
    let board = match target.as_str() {
        "thumbv7em-none-eabihf" => "mps2-an386",
        "thumbv6m-none-eabi" => "microbit",
        "riscv32imac-unknown-none-elf" => "virt",
        // Without a board there is nothing to link.
        _ => return,
    };
    let memory = format!("boards/{board}.x");
    println!("cargo:rerun-if-changed={memory}");
    fs::copy(&memory, out.join("memory.x")).expect("the board's memory.x is there");
    println!("cargo:rustc-link-search={}", out.display());
    // On Cortex-M, link.x of cortex-m-rt includes memory.x.
    let script = if board == "virt" { "memory.x" } else { "link.x" };
    println!("cargo:rustc-link-arg-bins=-T{script}");
}

/// All prompts one behind the other, and where each ends.
fn prompts() -> String {
    let prompts = host::prompts();
    let tokens = prompts.concat();
    let ends: Vec<usize> = prompts
        .iter()
        .map(Vec::len)
        .scan(0, |end, len| {
            *end += len;
            Some(*end)
        })
        .collect();
    format!(
        "#[unsafe(link_section = \".map\")]\nstatic TOKENS: [u32; {}] = {tokens:?};\n\
         #[unsafe(link_section = \".map\")]\nstatic ENDS: [u16; {}] = {ends:?};\n",
        tokens.len(),
        ends.len()
    )
}
