"""Sets this library's speed and memory beside the reference's, on one machine in one run, and prints a table.

    python3 core/benches/ratios.py                 both sides, about five minutes
    python3 core/benches/ratios.py --here          only this side again; the reference's figures are kept
    python3 core/benches/ratios.py --print         only the table of the last run

Run it with a Python that has the reference: `cargo xtask setup` makes one at target/venv/bin/python. The machine should do
nothing else meanwhile. Each figure includes all that its result needs: the same map, contexts and budgets on both sides.
"""
import gzip, json, os, statistics, subprocess, sys, time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
MILLION = TARGET / "tmp" / "million.mrail"
CODING = ROOT / "tests/data/maps/coding.mrail"
CORPUS = ROOT / "tests/data/corpus/corpus.u16.gz"
KEPT = TARGET / "reference-times.json"
RUN = 5000

# name in criterion, name of the reference's figure, ratio to reach
ROWS = [
    ("open 1M, first locate and answer", "open 1M", 200),
    ("open 1M, first locate, answer and tree", "open 1M", 60),
    ("open coding.mrail", "open coding.mrail", None),
    ("locate 4096, on track", "locate 4096, on track", 100),
    ("locate 4096, off at 2000", "locate 4096, off at 2000", 100),
    ("locate 4096 with its chain", "locate 4096, on track", 3.5),
    ("answer 4600, 64 new", "answer 4600, 64 new", None),
    ("tree of 31, 1M tokens, on track", "tree of 31, 1M tokens, on track", 50),
    ("tree of 31, 1M tokens, off track", "tree of 31, 1M tokens, off track", 50),
    ("tree of 31, coding.mrail, on track", "tree of 31, coding.mrail, on track", 50),
    ("tree of 31, coding.mrail, off track", "tree of 31, coding.mrail, off track", 50),
    ("add a session of 4096", "add a session of 4096", None),
    ("add a track of 200k, answer 64", "add a track of 200k, answer 64", None),
    ("answer of a track of 200k", "answer of a track of 200k", None),
    ("copy coding, worst case", "copy coding, worst case", 50),
]
# one figure of this side over another, not to exceed
WITHIN = [
    ("locate 4096 with its chain", "4096 compressions", 1.1),
    ("add a track of 200k, answer 64", "chain of 200k", 1.2),
]


def corpus():
    raw = gzip.open(CORPUS).read()
    return [raw[i] | raw[i + 1] << 8 for i in range(0, len(raw), 2)]


def seconds(call, prepare=lambda: (), times=5):
    """CPU seconds of one call, median; what `prepare` does is not counted."""
    taken = []
    for _ in range(times):
        arguments = prepare()
        start = time.process_time()
        call(*arguments)
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def resident():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]) * 1024


def contexts_of(name):
    """The contexts that the tree benchmark has just used."""
    return [json.loads(line) for line in open(TARGET / "tmp" / f"{name}.jsonl")]


def reference_times():
    import mrail

    tokens, times = corpus(), {}
    runs = [tokens[at : at + RUN] for at in range(0, len(tokens) - RUN, RUN)]
    before = resident()
    times["open 1M"] = seconds(lambda: mrail.MapFile(str(MILLION)), times=1)
    million = mrail.MapFile(str(MILLION))
    times["memory"] = (resident() - before) / 1_000_000
    coding = mrail.MapFile(str(CODING))
    times["open coding.mrail"] = seconds(lambda: mrail.MapFile(str(CODING)))
    each = lambda call, arguments: statistics.median(seconds(lambda: call(a), times=3) for a in arguments)
    contexts = [run[:4096] for run in runs[:40]]
    wrong = [run[:2000] + [token ^ 1 for token in run[2000:4096]] for run in runs[:40]]
    times["locate 4096, on track"] = each(million.locate, contexts)
    times["locate 4096, off at 2000"] = each(million.locate, wrong)
    answer = lambda context: mrail.exact_answer(million, context, 64, set())
    times["answer 4600, 64 new"] = each(answer, [run[:4600] for run in runs[:40]])
    for name, map_ in ("1M tokens", million), ("coding.mrail", coding):
        for kind in "on track", "off track":
            tree = f"tree of 31, {name}, {kind}"
            times[tree] = each(lambda context: map_.rail.tree(context, 31), contexts_of(tree))
    scratch = TARGET / "tmp" / "scratch.mrail"
    new = tokens[::-1][:4096]

    def fresh():
        scratch.unlink(missing_ok=True)
        return (mrail.MapFile(str(scratch)),)

    times["add a session of 4096"] = seconds(lambda m: m.add_session(new, 4000), fresh)
    context = tokens[:200_000]
    said = context[70_000:70_030] + [7, 8, 9, 10] + context[150_000:150_030]
    times["add a track of 200k, answer 64"] = seconds(lambda m: m.add_track(context, said, "source"), fresh)
    (track,) = fresh()
    track.add_track(context, said, "source")
    times["answer of a track of 200k"] = seconds(lambda: mrail.exact_answer(track, context, 10**6, set()))
    times["copy coding, worst case"] = seconds(
        lambda: mrail.core.encode_copy([7] * 2000, [7] * 200_000, 4), times=3
    )
    scratch.unlink(missing_ok=True)
    return times


def this_side(name):
    estimates = TARGET / "criterion" / name.replace("/", "_") / "new" / "estimates.json"
    return json.load(open(estimates))["median"]["point_estimate"] * 1e-9


def driver_memory():
    """Bytes a token that opening with the draft rail adds to a small process (Linux)."""
    subprocess.run(["cargo", "build", "-q", "--release", "--bin", "mrail-driver"], cwd=ROOT, check=True)
    driver = subprocess.Popen([TARGET / "release" / "mrail-driver"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(**question):
        driver.stdin.write(json.dumps(question) + "\n")
        driver.stdin.flush()
        answer = json.loads(driver.stdout.readline())
        assert answer["ok"], answer

    def resident_of():
        lines = open(f"/proc/{driver.pid}/status")
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) * 1024

    ask(op="open", path=str(CODING))
    ask(op="tree", ctx=[1], budget=1)
    before = resident_of()
    ask(op="open", path=str(MILLION), m="million")
    ask(op="tree", m="million", ctx=corpus()[:100], budget=31)
    after = resident_of()
    driver.stdin.close()
    driver.wait()
    return (after - before) / 1_000_000


def main():
    if "--print" not in sys.argv:
        subprocess.run(["cargo", "bench", "-q", "-p", "mrail"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    if "--print" not in sys.argv and "--here" not in sys.argv or not KEPT.exists():
        json.dump(reference_times(), open(KEPT, "w"))
    reference = json.load(open(KEPT))
    print("| what | reference | here | ratio | to reach |\n|---|---|---|---|---|")
    missed = []
    for name, theirs, goal in ROWS:
        ratio = reference[theirs] / this_side(name)
        if goal and ratio < goal:
            missed.append(name)
        print(f"| {name} | {reference[theirs] * 1e3:.3g} ms | {this_side(name) * 1e3:.3g} ms | {ratio:.3g} | {goal or ''} |")
    for name, base, limit in WITHIN:
        ratio = this_side(name) / this_side(base)
        if ratio > limit:
            missed.append(name)
        print(f"| {name}, over {base} | | | {ratio:.3f} | at most {limit} |")
    if sys.platform == "linux":
        memory = driver_memory()
        if memory > 40:
            missed.append("memory")
        print(f"| resident after opening 1M with the rail, bytes a token | {reference['memory']:.0f} | {memory:.1f} | {reference['memory'] / memory:.3g} | at most 40 |")
    if missed:
        sys.exit("missed: " + "; ".join(missed))


if __name__ == "__main__":
    main()
