"""Writes gpu/tests/data/prompts.json: prompts as lists of token ids, for the test that drafts never change the output.

    python3 tests/oracle/prompts.py shared/conformance/maps gpu/tests/data/prompts.json

The single turns are prompts of the folder `maps`, as they lie there. Longer prompts are put together from the ids of several
records, so no tokenizer is needed: SmolLM2's special tokens part the turns, and no merge of bytes crosses them.
"""

import json
import sys
from pathlib import Path

# <|im_end|>, and around it the ids of the chat format.
END = 2
NEWLINE = 198
USER = [1, 4093, NEWLINE]  # <|im_start|>user\n
CLOSE = [END, NEWLINE]  # <|im_end|>\n
ASSISTANT = [1, 520, 9531, NEWLINE]  # <|im_start|>assistant\n


def read(maps: Path, name: str) -> list[dict]:
    return [json.loads(line) for line in (maps / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def system(record: dict) -> list[int]:
    """The ids before the first user's turn."""
    ids = record["prompt"]
    return ids[: next(i for i in range(len(ids)) if ids[i : i + 3] == USER)]


def request(record: dict) -> list[int]:
    """The ids of what the user says, in a prompt of one turn."""
    said = record["prompt"][len(system(record)) :]
    end = CLOSE + ASSISTANT
    assert said[:3] == USER and said[-len(end) :] == end and said.count(END) == 1, record["id"]
    return said[3 : -len(end)]


def answer(record: dict) -> list[int]:
    """The answer without its stop token; one that was cut off has none."""
    return [token for token in record["answer"] if token != END]


def chat(records: list[dict]) -> list[int]:
    """The requests of the records as one conversation, each but the last with its answer; the next answer comes after it."""
    ids = list(system(records[0]))
    for record in records[:-1]:
        ids += USER + request(record) + CLOSE + ASSISTANT + answer(record) + CLOSE
    return ids + USER + request(records[-1]) + CLOSE + ASSISTANT


def document(records: list[dict], length: int) -> list[int]:
    """`length` ids: one turn that holds a page of requests and answers, cut off at its end, and then asks the last request."""
    head = system(records[0]) + USER
    tail = [NEWLINE, NEWLINE] + request(records[-1]) + CLOSE + ASSISTANT
    page = []
    for record in records[:-1]:
        page += request(record) + [NEWLINE] + answer(record) + [NEWLINE, NEWLINE]
    page = page[: length - len(head) - len(tail)]
    ids = head + page + tail
    assert len(ids) == length, "too few records for a page of this length"
    return ids


def collect(maps: Path) -> list[tuple[str, list[int]]]:
    heldout, general = read(maps, "heldout"), read(maps, "general_runs")
    runs = read(maps, "coding_runs")[::2]
    prompts = [(record["id"], record["prompt"]) for record in heldout + general + runs]
    # Records 10 apart are about different things; the answer is mostly another kind than what is asked next.
    for name, records in [("heldout", heldout), ("general", general)]:
        for i in range(10):
            two = [records[i * 3], records[i * 3 + 10]]
            prompts.append((f"two-{name}{i}", chat(two)))
    prompts += [
        ("chat-general", chat(general[20:29])),
        ("chat-heldout", chat(heldout[0:7])),
        ("chat-mixed", chat(general[29:34] + heldout[20:25])),
        ("page-general", document(general[5:], 641)),
        ("page-heldout", document(heldout[7:], 960)),
        ("page-mixed", document(general[30:] + heldout[28:], 1200)),
    ]
    assert len({name for name, _ in prompts}) == len(prompts)
    return prompts


def main() -> None:
    maps, out = Path(sys.argv[1]), Path(sys.argv[2])
    prompts = collect(maps)
    prefixes, lines = [], []
    for name, ids in prompts:
        prefix = system({"prompt": ids})
        if prefix not in prefixes:
            prefixes.append(prefix)
        rest = ids[len(prefix) :]
        lines.append(compact({"name": name, "prefix": prefixes.index(prefix), "rest": rest}))
    head = '{"prefixes":' + compact(prefixes)
    out.write_text(head + ',\n"prompts":[\n' + ",\n".join(lines) + "\n]}\n", encoding="ascii")
    lengths = sorted(len(ids) for _, ids in prompts)
    print(f"{len(prompts)} prompts of {lengths[0]} to {lengths[-1]} ids, {out.stat().st_size} bytes")


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    main()
