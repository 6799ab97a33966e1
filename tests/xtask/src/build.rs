//! Builds the npm packages and the web app, each at most once in a run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::project::Project;
use crate::rust::{self, WASM};
use crate::shell::Failure;

/// The npm package's folder, built and optimised.
pub(crate) fn package(project: &Project) -> Result<PathBuf, Failure> {
    once(&project.package, "the npm package", || build_package(project, &MAP))
}

/// The folder of the npm package that runs models, likewise.
pub(crate) fn model_package(project: &Project) -> Result<PathBuf, Failure> {
    once(&project.model_package, "the model's npm package", || build_package(project, &MODEL))
}

/// The web app's folder of files to serve.
pub(crate) fn web_app(project: &Project) -> Result<PathBuf, Failure> {
    once(&project.web_app, "the web app", || {
        package(project)?;
        model_package(project)?;
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

/// A crate that becomes an npm package.
struct Package {
    folder: &'static str,
    krate: &'static str,
    /// How its users know it.
    name: &'static str,
}

const MAP: Package = Package { folder: "wasm", krate: "mrail-wasm", name: "mrail" };
const MODEL: Package = Package { folder: "gpu/wasm", krate: "mrail-gpu-wasm", name: "mrail-gpu" };

fn build_package(project: &Project, package: &Package) -> Result<PathBuf, Failure> {
    // wasm-pack optimises with the wasm-opt that it finds on the path, the one of the npm modules.
    if project.program(&["wasm-opt"]).is_none() {
        return Err(
            Failure::new("wasm-opt is not there: web/package.json must have `binaryen`").hint("cargo xtask setup")
        );
    }
    let pack = rust::cmd(project, "wasm-pack", WASM)?.arg("build").arg(package.folder);
    pack.args("--mode no-install --target web --profile wasm").stream()?;
    let crate_folder = project.path(package.folder);
    let folder = crate_folder.join("pkg");
    let manifest = folder.join("package.json");
    let doing = |what: &str| format!("{what} {}", manifest.display());
    let text = fs::read_to_string(&manifest).map_err(Failure::doing(doing("reading")))?;
    fs::write(&manifest, named(&text, package)?).map_err(Failure::doing(doing("writing")))?;
    copy(&project.path("LICENSE"), &folder.join("LICENSE"))?;
    let readme = crate_folder.join("README.md");
    if readme.exists() {
        copy(&readme, &folder.join("README.md"))?;
    }
    Ok(folder)
}

/// wasm-pack names the package after the crate; users know it by another name.
fn named(manifest: &str, package: &Package) -> Result<String, Failure> {
    let [of_crate, of_package] = [package.krate, package.name].map(|name| format!("\"name\": \"{name}\""));
    if manifest.contains(&of_crate) || manifest.contains(&of_package) {
        return Ok(manifest.replacen(&of_crate, &of_package, 1));
    }
    Err(Failure::new(format!(
        "{}/pkg/package.json does not hold the name of the crate, {}",
        package.folder, package.krate
    )))
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::copy(from, to).map(|_| ()).map_err(Failure::doing(format!("copying {}", from.display())))
}

#[cfg(test)]
mod tests {
    use super::{Failure, MAP, MODEL, Once, named, once};
    use std::path::PathBuf;

    #[test]
    fn the_package_is_named_mrail() {
        let manifest = "{\n  \"name\": \"mrail-wasm\",\n  \"main\": \"mrail_wasm.js\"\n}";
        let right = "{\n  \"name\": \"mrail\",\n  \"main\": \"mrail_wasm.js\"\n}";
        assert_eq!(named(manifest, &MAP).ok().as_deref(), Some(right));
        assert_eq!(named(right, &MAP).ok().as_deref(), Some(right));
        assert!(named("{ \"name\": \"other\" }", &MAP).is_err());
        assert!(named(manifest, &MODEL).is_err());
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
