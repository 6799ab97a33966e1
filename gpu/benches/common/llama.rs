//! llama.cpp beside the benchmark: a process that does a round when it is asked to.

use serde_json::Value;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The process; it ends with this.
#[derive(Debug)]
pub(crate) struct Llama {
    child: Child,
    ask: ChildStdin,
    told: BufReader<ChildStdout>,
    /// What runs the model.
    pub(crate) name: String,
}

impl Llama {
    /// `folder` is where npm has put node-llama-cpp; `backend` is cpu or vulkan.
    pub(crate) fn start(
        folder: &str,
        model: &str,
        backend: &str,
        prompt: &[u32],
        tokens: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let ids: Vec<_> = prompt.iter().map(u32::to_string).collect();
        let mut child = Command::new("node")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/llama.mjs"))
            .args([folder, model, backend, &ids.join(","), &tokens.to_string()])
            // Software devices are left out, unless they are named.
            .env("GGML_VK_VISIBLE_DEVICES", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (ask, told) = child.stdin.take().zip(child.stdout.take()).ok_or("no pipes to llama.cpp")?;
        let mut llama = Self { child, ask, told: BufReader::new(told), name: String::new() };
        let hello = llama.line()?;
        llama.name = match hello["devices"][0].as_str() {
            Some(device) => format!("llama.cpp, {device}"),
            None => format!("llama.cpp, CPU, {} threads", hello["threads"]),
        };
        Ok(llama)
    }

    /// Tokens a second, reading and decoding.
    pub(crate) fn round(&mut self) -> Result<[f64; 2], Box<dyn Error>> {
        writeln!(self.ask)?;
        self.ask.flush()?;
        let told = self.line()?;
        let rates = told["read"].as_f64().zip(told["decode"].as_f64()).ok_or("llama.cpp tells no times")?;
        Ok(rates.into())
    }

    fn line(&mut self) -> Result<Value, Box<dyn Error>> {
        let mut line = String::new();
        if self.told.read_line(&mut line)? == 0 {
            return Err("llama.cpp has ended".into());
        }
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Llama {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
