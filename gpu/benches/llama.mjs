// llama.cpp on the same file, for the benchmark `speed`: reads a prompt, decodes behind it, and says how long each took. The first
// line says what runs it; then it answers every line of its input with a round.
//
// node llama.mjs FOLDER MODEL BACKEND IDS TOKENS: FOLDER is where npm has put node-llama-cpp, BACKEND is cpu or vulkan, IDS are the
// prompt's tokens with commas between them.
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, modelPath, backend, ids, count] = process.argv.slice(2);
const found = createRequire(join(folder, "package.json")).resolve("node-llama-cpp");
const { getLlama } = await import(pathToFileURL(found).href);

const llama = await getLlama({ gpu: backend === "cpu" ? false : backend, build: "never", progressLogs: false });
const devices = await llama.getGpuDeviceNames();
// It would go on without a word, on the processor.
if (backend !== "cpu" && devices.length === 0) throw new Error(`llama.cpp finds no device for ${backend}`);
const model = await llama.loadModel({ modelPath, gpuLayers: backend === "cpu" ? 0 : "max" });
const threads = llama.cpuMathCores;
const context = await model.createContext({ contextSize: 1024, batchSize: 512, threads });
const sequence = context.getSequence();
const prompt = ids.split(",").map(Number);
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);

async function round() {
    await sequence.clearHistory();
    const start = performance.now();
    await sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(0, -1));
    const read = performance.now();
    let tokens = 0;
    for await (const _ of sequence.evaluate(prompt.slice(-1), { temperature: 0, yieldEogToken: true })) {
        if (++tokens === Number(count)) break;
    }
    const end = performance.now();
    return { read: (prompt.length - 1) / (read - start) * 1e3, decode: tokens / (end - read) * 1e3, tokens };
}

say({ backend: llama.gpu || "cpu", devices, threads });
for await (const _ of createInterface({ input: process.stdin })) {
    say(await round());
}
process.exit(0);
