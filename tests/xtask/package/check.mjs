// Run by node in a throw-away project into which the packed npm package was installed: `node check.mjs MAP`.
// The package is taken as a user gets it; the wasm is given as bytes, since node's fetch reads no files.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import init, { MrailMap, prefixHash, version } from "mrail";

const folder = dirname(fileURLToPath(import.meta.resolve("mrail")));
const wasm = readdirSync(folder).find((name) => name.endsWith("_bg.wasm"));
assert.ok(wasm, "the package holds its wasm");
await init({ module_or_path: readFileSync(join(folder, wasm)) });

const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
assert.equal(version(), manifest.version);
assert.match(prefixHash(Uint32Array.of(1, 2, 3)), /^[0-9a-f]{16}$/);

const map = MrailMap.open(readFileSync(process.argv[2]), { trusted: true });
const { runs, sessions } = map.info();
assert.ok(sessions > 0 && runs >= sessions, `${runs} runs, ${sessions} sessions`);

// A run that answers: the map gives the answer again, and knows nothing of a context nobody asked.
const last = map.runs(0, runs).findLast((run) => run.kind === "session" && run.answerLength > 0);
const { tokens, genStart } = map.runTokens(last.run);
const [context, answer] = [tokens.slice(0, genStart), tokens.slice(genStart)];
assert.deepEqual(map.exactAnswer(context, answer.length, new Uint32Array()).tokens, answer);
assert.equal(map.exactAnswer(Uint32Array.of(49151, 49151, 49151), 8, new Uint32Array()), undefined);

assert.throws(() => MrailMap.open(new TextEncoder().encode("<!doctype html>"), { trusted: true }), { kind: "not-a-map" });
map.free();
console.log(`${manifest.name} ${manifest.version}: ${runs} runs opened, an answer of ${answer.length} tokens found`);
