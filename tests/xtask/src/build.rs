//! Builds the npm package and the web app, each at most once in a run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::project::Project;
use crate::rust::{self, WASM};
use crate::shell::Failure;

/// The npm package's folder, built and optimised.
pub(crate) fn package(project: &Project) -> Result<PathBuf, Failure> {
    once(&project.package, "the npm package", || build_package(project))
}

/// The web app's folder of files to serve.
pub(crate) fn web_app(project: &Project) -> Result<PathBuf, Failure> {
    once(&project.web_app, "the web app", || {
        package(project)?;
        project.cmd("npm").args("run build").dir(&project.path("web")).stream()?;
        Ok(project.path("web/dist"))
    })
}

type Once = std::cell::OnceCell<Result<PathBuf, String>>;

/// Runs `build` the first time; after a failure later callers are only told that there was one.
fn once(cell: &Once, what: &str, build: impl FnOnce() -> Result<PathBuf, Failure>) -> Result<PathBuf, Failure> {
    let tried = cell.get().is_some();
    match cell.get_or_init(|| build().map_err(|failure| failure.to_string())) {
        Ok(path) => Ok(path.clone()),
        Err(_) if tried => Err(Failure::new(format!("{what} could not be built (said above)"))),
        Err(text) => Err(Failure::new(text.as_str())),
    }
}

fn build_package(project: &Project) -> Result<PathBuf, Failure> {
    // wasm-pack optimises with the wasm-opt that it finds on the path, the one of the npm modules.
    if project.program(&["wasm-opt"]).is_none() {
        return Err(
            Failure::new("wasm-opt is not there: web/package.json must have `binaryen`").hint("cargo xtask setup")
        );
    }
    rust::cmd(project, "wasm-pack", WASM)?.args("build wasm --mode no-install --target web --profile wasm").stream()?;
    let folder = project.path("wasm/pkg");
    let manifest = folder.join("package.json");
    let text = fs::read_to_string(&manifest).map_err(Failure::doing("reading wasm/pkg/package.json"))?;
    fs::write(&manifest, named(&text)?).map_err(Failure::doing("writing wasm/pkg/package.json"))?;
    copy(&project.path("LICENSE"), &folder.join("LICENSE"))?;
    let readme = project.path("wasm/README.md");
    if readme.exists() {
        copy(&readme, &folder.join("README.md"))?;
    }
    Ok(folder)
}

/// wasm-pack names the package after the crate; users know it as `mrail`.
fn named(manifest: &str) -> Result<String, Failure> {
    let (of_crate, of_package) = ("\"name\": \"mrail-wasm\"", "\"name\": \"mrail\"");
    if manifest.contains(of_crate) || manifest.contains(of_package) {
        return Ok(manifest.replacen(of_crate, of_package, 1));
    }
    Err(Failure::new("wasm/pkg/package.json does not hold the name of the crate, mrail-wasm"))
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::copy(from, to).map(|_| ()).map_err(Failure::doing(format!("copying {}", from.display())))
}

#[cfg(test)]
mod tests {
    use super::{Failure, Once, named, once};
    use std::path::PathBuf;

    #[test]
    fn the_package_is_named_mrail() {
        let manifest = "{\n  \"name\": \"mrail-wasm\",\n  \"main\": \"mrail_wasm.js\"\n}";
        let right = "{\n  \"name\": \"mrail\",\n  \"main\": \"mrail_wasm.js\"\n}";
        assert_eq!(named(manifest).ok().as_deref(), Some(right));
        assert_eq!(named(right).ok().as_deref(), Some(right));
        assert!(named("{ \"name\": \"other\" }").is_err());
    }

    #[test]
    fn what_failed_once_is_not_tried_again() {
        let cell = Once::new();
        let first = once(&cell, "it", || Err(Failure::new("no compiler")));
        assert_eq!(first.map_err(|f| f.to_string()), Err("no compiler".into()));
        let second = once(&cell, "it", || Ok(PathBuf::new()));
        assert_eq!(second.map_err(|f| f.to_string()), Err("it could not be built (said above)".into()));
    }
}
