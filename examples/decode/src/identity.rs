//! Whose answers a map holds: what stands beside it in `MAP.json`.
//!
//! A map belongs to one model, one storage of keys and values and one memory. Until maps say that themselves, a file beside
//! them does; without it, whoever opens a map vouches for it.

use crate::args::{EngineArgs, Kv};
use crate::error::{Exit, Failure, Result};
use blake2::{Blake2b, Digest, digest::consts::U16};
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Model and numerics that write a map.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    value: Value,
}

impl Identity {
    /// Reads all of the model's file, and of the carriers'.
    pub(crate) fn of(args: &EngineArgs) -> Result<Self> {
        let digest = |path: &Path| digest(path).map_err(|error| Failure::unreadable(path)(&error));
        let (hash, bytes) = digest(args.model())?;
        let carriers = args.carriers.as_deref().map(|path| digest(path).map(|(hash, _)| hash)).transpose()?;
        let memory = if args.native {
            json!("native")
        } else {
            json!({ "band": args.band, "store": args.store, "carriers": carriers })
        };
        let name = args.model().file_name().map(|name| name.to_string_lossy().into_owned());
        let kv = if args.kv == Kv::F32 { "f32" } else { "f16" };
        let value = json!({
            "model": { "name": name, "bytes": bytes, "blake2b": hash },
            "numerics": { "arithmetic": null, "kv": kv, "memory": memory },
        });
        Ok(Self { value })
    }

    /// Says how the device rounds that runs the model, once that is known.
    pub(crate) fn computed_in(&mut self, arithmetic: &str) {
        self.value["numerics"]["arithmetic"] = arithmetic.into();
    }

    pub(crate) fn path(map: &Path) -> PathBuf {
        map.with_extension("json")
    }

    /// Is the map one of these, as far as that is known yet? Where nothing says whose it is, it is.
    pub(crate) fn check(&self, map: &Path) -> Result<()> {
        let path = Self::path(map);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Failure::unreadable(&path)(&error)),
        };
        let there: Value = serde_json::from_slice(&text).map_err(|error| Failure::unreadable(&path)(&error))?;
        for (whose, key, what) in [
            ("another model", "/model/blake2b", "the model's hash"),
            ("other numerics", "/numerics/arithmetic", "arithmetic"),
            ("other numerics", "/numerics/kv", "--kv"),
            ("another memory", "/numerics/memory", "memory"),
        ] {
            let [theirs, ours] = [&there, &self.value].map(|value| value.pointer(key).unwrap_or(&Value::Null));
            if !ours.is_null() && theirs != ours {
                let told = format!(
                    "holds answers of {whose} ({what}: {theirs}, and not {ours}, says {}); give it as --foreign, to draft only",
                    path.display()
                );
                return Err(Failure::of_file(Exit::Refused, map, told));
            }
        }
        Ok(())
    }

    /// Writes what stands beside a new map, and what ran the model.
    pub(crate) fn write(&self, map: &Path, adapter: &str) -> io::Result<()> {
        let mut value = self.value.clone();
        if let Value::Object(object) = &mut value {
            let program = concat!("mrail-decode ", env!("CARGO_PKG_VERSION"));
            object.insert("written_by".into(), json!({ "program": program, "adapter": adapter }));
        }
        std::fs::write(Self::path(map), format!("{value:#}\n"))
    }
}

/// Hash and length of a file.
fn digest(path: &Path) -> io::Result<(String, u64)> {
    let mut file = File::open(path)?;
    let (mut hash, mut bytes, mut chunk) = (Blake2b::<U16>::new(), 0, vec![0; 1 << 20]);
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        hash.update(chunk.get(..read).unwrap_or_default());
        bytes += read as u64;
    }
    let hash = hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    Ok((hash, bytes))
}
