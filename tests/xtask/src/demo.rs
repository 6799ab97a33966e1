//! Serves the web app on this machine, with the sample map open.

use std::env;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use crate::build;
use crate::project::Project;
use crate::shell::Failure;

/// Tried first, then its successors.
const PORT: u16 = 4173;

/// The page opens this map by itself.
const SAMPLE: &str = "?url=maps/smollm2-coding.mrail";

/// Builds, serves and opens the page; returns when the server ends.
pub(crate) fn run(project: &Project, port: Option<u16>, open: bool) -> Result<(), Failure> {
    let port = free_port(port)?;
    let start = Instant::now();
    println!("demo: building the npm packages and the web app (about 4 min the first time)");
    build::web_app(project)?;
    println!("demo: built in {}", crate::shell::took(start.elapsed()));
    let vite = project.path("web/node_modules/vite/bin/vite.js");
    let serve = project.cmd("node").arg(vite).args("preview --host 127.0.0.1 --strictPort --port");
    let mut server = serve.arg(port.to_string()).dir(&project.path("web")).start()?;
    wait_until_served(&mut server, port)?;
    let address = format!("http://127.0.0.1:{port}/{SAMPLE}");
    println!("\nThe sample map is open at\n\n    {address}\n\nCtrl-C ends the server.");
    if open {
        open_browser(project, &address);
    }
    let status = server.wait().map_err(Failure::doing("waiting for the server"))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("the server ended: {status}"))) }
}

/// The port asked for, or the first free one from `PORT` on.
fn free_port(asked: Option<u16>) -> Result<u16, Failure> {
    let is_free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    let mut ports = match asked {
        Some(port) => port..=port,
        None => PORT..=PORT + 50,
    };
    ports.find(|port| is_free(*port)).ok_or_else(|| {
        let which = asked.map_or(format!("ports {PORT} to {}", PORT + 50), |port| format!("port {port}"));
        Failure::new(format!("{which}: in use on this machine")).hint("cargo xtask demo --port N, with another N")
    })
}

fn wait_until_served(server: &mut Child, port: u16) -> Result<(), Failure> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(30) {
        if let Ok(Some(status)) = server.try_wait() {
            return Err(Failure::new(format!("the server did not start: {status}")));
        }
        if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(50));
    }
    server.kill().ok();
    Err(Failure::new(format!("nothing answered on port {port} for 30 s")))
}

/// Opens the page where there is a browser to open it in; that there is none is no fault.
fn open_browser(project: &Project, address: &str) {
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let opener = if cfg!(target_os = "macos") {
        project.program(&["open"]).map(|open| project.cmd_at(&open))
    } else if cfg!(windows) {
        Some(project.cmd("cmd").args("/C start"))
    } else if set("DISPLAY") || set("WAYLAND_DISPLAY") {
        project.program(&["xdg-open"]).map(|open| project.cmd_at(&open))
    } else {
        None
    };
    // Not waited for: some of these last as long as the browser.
    let opened = opener.is_some_and(|opener| opener.arg(address).start().is_ok());
    if !opened {
        println!("(No browser was opened: open the address yourself.)");
    }
}

#[cfg(test)]
mod tests {
    use super::free_port;
    use std::net::{Ipv4Addr, TcpListener};

    #[test]
    fn a_port_in_use_is_refused() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("its address").port();
        assert!(free_port(Some(port)).expect_err("in use").to_string().contains(&port.to_string()));
        assert!(free_port(None).is_ok_and(|free| free != port));
    }
}
