import { execFileSync, spawn } from "node:child_process";

/** The program that a variable names, as `cargo xtask test` sets it, or the first of these names on PATH. */
function program(variable, ...names) {
  if (process.env[variable]) return process.env[variable];
  for (const name of names) {
    try {
      return execFileSync("which", [name], { encoding: "utf8" }).trim();
    } catch {
      // The next one.
    }
  }
  throw new Error(`no ${names.join(" or ")} on PATH, and ${variable} is not set`);
}

/**
 * Firefox with a fresh profile, over its driver: Playwright drives a Firefox of its own only. `tabs` share the profile; of each
 * there is `goto`, `reload`, `back`, `run` (a function in the page, with one argument) and `close`.
 */
export async function launchFirefox() {
  const driver = spawn(program("MRAIL_GECKODRIVER", "geckodriver"), ["--port=0", "--websocket-port=0"], { stdio: ["ignore", "pipe", "ignore"] });
  const url = await new Promise((resolve, reject) => {
    let said = "";
    driver.stdout.on("data", (data) => {
      said += data;
      const port = /Listening on [^:]+:(\d+)/.exec(said)?.[1];
      if (port) resolve(`http://127.0.0.1:${port}`);
    });
    driver.on("exit", (code) => reject(new Error(`geckodriver ended with ${code}: ${said}`)));
    driver.on("error", reject);
  });
  const call = async (method, path, body = {}) => {
    const response = await fetch(url + path, { method, ...(method === "POST" && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }) });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`${value.error}: ${value.message}`);
    return value;
  };
  const options = { args: ["-headless"], binary: program("MRAIL_FIREFOX", "firefox", "firefox-esr") };
  const session = await call("POST", "/session", { capabilities: { alwaysMatch: { browserName: "firefox", "moz:firefoxOptions": options } } }).catch((error) => {
    driver.kill();
    throw error;
  });
  const at = `/session/${session.sessionId}`;
  await call("POST", `${at}/timeouts`, { script: 60_000, pageLoad: 60_000 });

  const first = await call("GET", `${at}/window`);

  /** Commands go to the window that was switched to last. */
  let queue = Promise.resolve();
  const inTab = (handle, method, path, body) => {
    const done = queue.then(async () => {
      await call("POST", `${at}/window`, { handle });
      return call(method, at + path, body);
    });
    queue = done.catch(() => {});
    return done;
  };
  const tab = (handle) => ({
    goto: (url) => inTab(handle, "POST", "/url", { url }),
    reload: () => inTab(handle, "POST", "/refresh"),
    back: () => inTab(handle, "POST", "/back"),
    run: async (work, argument) => {
      const script = `const done = arguments[1]; (${work})(arguments[0]).then((value) => done({ value }), (error) => done({ error: String(error) }));`;
      const { value, error } = await inTab(handle, "POST", "/execute/async", { script, args: [argument ?? null] });
      if (error) throw new Error(error);
      return value;
    },
    close: () => inTab(handle, "DELETE", "/window"),
  });
  return {
    // From the one that is there at the start, and stays.
    tab: async () => tab((await inTab(first, "POST", "/window/new", { type: "tab" })).handle),
    close: async () => {
      await call("DELETE", at).catch(() => {});
      driver.kill();
    },
  };
}
