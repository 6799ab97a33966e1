//! `mrail-driver`: the conformance kit's protocol over standard input and output.
//!
//! It takes no arguments. Errors are answers, not ends; it ends with its input.

use mrail_conformance::Driver;
use std::io::{self, BufRead, BufReader, BufWriter, Write};

/// Contexts of 200k tokens come as lines of megabytes.
const BUFFER: usize = 1 << 20;

fn main() -> io::Result<()> {
    let mut input = BufReader::with_capacity(BUFFER, io::stdin().lock());
    let mut output = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    let mut driver = Driver::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        output.write_all(driver.answer(&line).as_bytes())?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
}
