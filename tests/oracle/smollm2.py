"""Writes gpu/tests/data/smollm2.json: the greedy answers of a llama model by exact f32 arithmetic on its dequantised weights.

    pip install gguf==0.19.0 numpy
    python3 tests/oracle/smollm2.py --check
    python3 tests/oracle/smollm2.py MODEL.gguf shared/conformance/maps gpu/tests/data/smollm2.json
    python3 tests/oracle/smollm2.py --survey MODEL.gguf shared/conformance/maps

README.md beside this file says what the fields mean. The package `gguf` only finds the tensors; they are dequantised here, and
no code is shared with what is to be checked. `--check` compares the forward pass with plain loops over a tiny random model, and
sees that mistakes put into it on purpose are noticed.
"""

import argparse
import dataclasses
import datetime
import hashlib
import itertools
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import prompts

STEPS = 48
TOP = 5
F16_MAX = 65504.0

Array = np.ndarray


# The file


def q4_1(blocks: Array, kind: type) -> Array:
    """32 numbers in 20 bytes: f16 d and m, then 16 bytes, their lower halves first; a number is d q + m, d q exact in f32."""
    rows, size = blocks.shape
    parts = blocks.reshape(rows, size // 20, 20)
    scales = np.ascontiguousarray(parts[:, :, :4]).view("<f2").astype(kind)
    codes = np.concatenate([parts[:, :, 4:] & 15, parts[:, :, 4:] >> 4], axis=2).astype(kind)
    return (scales[:, :, :1] * codes + scales[:, :, 1:]).reshape(rows, -1)


def q8_0(blocks: Array, kind: type) -> Array:
    """32 numbers in 34 bytes: f16 d, then 32 signed bytes q; a number is d q."""
    rows, size = blocks.shape
    parts = blocks.reshape(rows, size // 34, 34)
    scales = np.ascontiguousarray(parts[:, :, :2]).view("<f2").astype(kind)
    codes = np.ascontiguousarray(parts[:, :, 2:]).view(np.int8).astype(kind)
    return (scales * codes).reshape(rows, -1)


def read(path: Path) -> "Raw":
    # Not needed by --check's loops, so imported here.
    from gguf import GGUFReader

    file = GGUFReader(path)

    def field(name: str) -> object:
        return file.fields[name].contents()

    assert field("general.architecture") == "llama", "only llama is written here"
    assert not any("rope.scaling" in name for name in file.fields), "rope scaling is not written here"
    heads, width = field("llama.attention.head_count"), field("llama.embedding_length")
    tensors = {t.name: (t.tensor_type.name, np.asarray(t.data)) for t in file.tensors}
    assert "output.weight" not in tensors, "a separate output is not written here"
    assert not any(name.endswith(".bias") for name in tensors), "biases are not written here"
    sizes = Sizes(
        layers=field("llama.block_count"),
        heads=heads,
        kv_heads=field("llama.attention.head_count_kv"),
        head_dim=width // heads,
        eps=field("llama.attention.layer_norm_rms_epsilon"),
        base=field("llama.rope.freq_base"),
    )
    assert field("llama.rope.dimension_count") == sizes.head_dim, "a head turned in part is not written here"
    return Raw(sizes, tensors)


@dataclasses.dataclass(frozen=True)
class Sizes:
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    eps: float
    base: float


@dataclasses.dataclass(frozen=True)
class Raw:
    sizes: Sizes
    tensors: dict[str, tuple[str, Array]]

    def weights(self, kind: type) -> dict[str, Array]:
        """All tensors as numbers of one kind: f32, or f64 with no rounding on the way."""
        made = {}
        for name, (form, data) in self.tensors.items():
            if form == "F32":
                made[name] = data.astype(kind)
            else:
                made[name] = {"Q4_1": q4_1, "Q8_0": q8_0}[form](data, kind)
        return made


# The model


def neighbours(x: Array, cos: Array, sin: Array) -> Array:
    """Turns the pairs (2 i, 2 i + 1) of x [rows, heads, dim] by the angles whose cos and sin are [rows, dim / 2]."""
    a, b = x[:, :, 0::2], x[:, :, 1::2]
    cos, sin = cos[:, None, :], sin[:, None, :]
    out = np.empty_like(x)
    out[:, :, 0::2] = a * cos - b * sin
    out[:, :, 1::2] = a * sin + b * cos
    return out


class Model:
    """A forward pass in which every number is of kind `kind`; `rotate` is another only where --check makes a mistake."""

    def __init__(self, sizes: Sizes, weights: dict[str, Array], kind: type, rotate: Callable = neighbours) -> None:
        self.sizes, self.weights, self.kind, self.rotate = sizes, weights, kind, rotate
        assert all(w.dtype == kind for w in weights.values())

    def norm(self, x: Array, weight: Array) -> Array:
        mean = np.mean(x * x, axis=1, dtype=self.kind, keepdims=True)
        return x / np.sqrt(mean + self.kind(self.sizes.eps)) * weight

    def forward(self, tokens: list[int], cache: "Cache") -> Array:
        """The logits after each of the tokens, which come after those in the cache; their keys and values are put there."""
        s, w, kind = self.sizes, self.weights, self.kind
        rows, past, dim = len(tokens), cache.length, s.head_dim
        # Angles in f64, and only their cos and sin are rounded: f32 angles of late positions would be far off.
        pairs = np.arange(dim // 2, dtype=np.float64)
        angles = np.arange(past, past + rows, dtype=np.float64)[:, None] * s.base ** (-2.0 * pairs / dim)
        cos, sin = np.cos(angles).astype(kind), np.sin(angles).astype(kind)
        later = np.arange(past + rows)[None, :] > np.arange(past, past + rows)[:, None]
        x = w["token_embd.weight"][tokens]
        for layer in range(s.layers):
            name = f"blk.{layer}."
            h = self.norm(x, w[name + "attn_norm.weight"])
            q = (h @ w[name + "attn_q.weight"].T).reshape(rows, s.heads, dim)
            k = (h @ w[name + "attn_k.weight"].T).reshape(rows, s.kv_heads, dim)
            v = (h @ w[name + "attn_v.weight"].T).reshape(rows, s.kv_heads, dim)
            keys, values = cache.add(layer, self.rotate(k, cos, sin), v)
            mixed = self.attention(self.rotate(q, cos, sin), keys, values, later)
            x = x + mixed @ w[name + "attn_output.weight"].T
            h = self.norm(x, w[name + "ffn_norm.weight"])
            gate, up = h @ w[name + "ffn_gate.weight"].T, h @ w[name + "ffn_up.weight"].T
            # exp of a very negative gate's opposite is infinite, and the quotient then 0, as it should be.
            with np.errstate(over="ignore"):
                gate = gate / (1 + np.exp(-gate))
            x = x + (gate * up) @ w[name + "ffn_down.weight"].T
        cache.length += rows
        logits = self.norm(x, w["output_norm.weight"]) @ w["token_embd.weight"].T
        assert logits.dtype == kind
        return logits

    def attention(self, q: Array, keys: Array, values: Array, later: Array) -> Array:
        s = self.sizes
        group = s.heads // s.kv_heads
        scale = self.kind(1 / math.sqrt(s.head_dim))
        out = np.empty_like(q)
        for head in range(s.heads):
            scores = q[:, head] @ keys[:, head // group].T * scale
            scores[later] = -np.inf
            scores = np.exp(scores - scores.max(axis=1, keepdims=True))
            scores /= scores.sum(axis=1, keepdims=True)
            out[:, head] = scores @ values[:, head // group]
        return out.reshape(len(q), -1)


class Cache:
    """Turned keys, and values, of all tokens so far; with `half` they are rounded to f16 as they come in, and read as f32."""

    def __init__(self, layers: int, half: bool = False) -> None:
        self.length, self.half = 0, half
        self.kept: list = [None] * layers

    def add(self, layer: int, keys: Array, values: Array) -> tuple[Array, Array]:
        new = [keys, values]
        if self.half:
            new = [np.clip(x, -F16_MAX, F16_MAX).astype(np.float16).astype(x.dtype) for x in new]
        if self.kept[layer] is not None:
            new = [np.concatenate(both) for both in zip(self.kept[layer], new)]
        self.kept[layer] = new
        return new[0], new[1]


def greedy(model: Model, ids: list[int], steps: int, half: bool = False) -> tuple[list[int], Array]:
    """The tokens chosen, and the logits that each was chosen by. Stop tokens stop nothing."""
    cache = Cache(model.sizes.layers, half)
    tokens, rows = [], []
    fresh = list(ids)
    for _ in range(steps):
        rows.append(model.forward(fresh, cache)[-1])
        tokens.append(int(rows[-1].argmax()))  # the first of equal ones
        fresh = tokens[-1:]
    return tokens, np.stack(rows)


def given(model: Model, ids: list[int], tokens: list[int], half: bool = False) -> Array:
    """The logits before each of `tokens`, in one pass over all of them."""
    return model.forward(ids + tokens[:-1], Cache(model.sizes.layers, half))[len(ids) - 1 :]


def best(logits: Array) -> Array:
    """The ids of the largest logits, the lowest first of equal ones."""
    return np.argsort(-logits, kind="stable")[:TOP]


# The answers


def chosen(maps: Path) -> list[tuple[str, list[int], list[int] | None]]:
    """Twelve prompts of many kinds: name, ids, and what llama.cpp answered where the record has that."""
    heldout = {record["id"]: record for record in prompts.read(maps, "heldout")}
    general = {record["id"]: record for record in prompts.read(maps, "general_runs")}
    names = ["coding7", "coding28", "coding39", "coding84", "coding137", "coding149"]
    made = [(name, heldout[name]["prompt"], heldout[name]["answer"]) for name in names]
    names = ["general1", "general20", "general26", "general38"]
    made += [(name, general[name]["prompt"], general[name]["answer"]) for name in names]
    made.append(("turns", prompts.chat([general["general21"], general["general37"]]), None))
    page = [heldout[name] for name in ["coding12", "coding65", "coding111", "coding165", "coding73"]]
    made.append(("page", prompts.document(page, 420), None))
    return made


def first(a: list[int], b: list[int]) -> int | None:
    """Where two answers part; None if they do not as far as both go."""
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), None)


def number(x: float) -> float:
    """The shortest decimal that reads back as this f32."""
    return float(str(np.float32(x)))


def make(path: Path, maps: Path, out: Path) -> None:
    raw = read(path)
    model = Model(raw.sizes, raw.weights(np.float32), np.float32)
    made, seen = [], []
    for name, ids, llama in chosen(maps):
        tokens, logits = greedy(model, ids, STEPS)
        top = [best(row) for row in logits]
        values = [[number(x) for x in row[ids]] for row, ids in zip(logits, top)]
        margins = [number(np.float32(row[ids[0]]) - np.float32(row[ids[1]])) for row, ids in zip(logits, top)]
        assert [int(ids[0]) for ids in top] == tokens
        seen.append(logits)
        made.append(
            {
                "name": name,
                "prompt": ids,
                "tokens": tokens,
                "margins": margins,
                "top": [[int(i) for i in ids] for ids in top],
                "logits": values,
                "llama": None if llama is None else first(tokens, llama),
            }
        )
        print(f"{name}: {len(ids)} ids, smallest margin {min(margins)}, llama.cpp parts at {made[-1]['llama']}", flush=True)
    half = []
    order = 0.0
    for one, logits in zip(made, seen):
        ids, tokens = one["prompt"], one["tokens"]
        answer, _ = greedy(model, ids, STEPS, half=True)
        difference = number(abs(given(model, ids, tokens, half=True) - logits).max())
        half.append({"name": one["name"], "tokens": answer, "parts": first(answer, tokens), "difference": difference})
        order = max(order, abs(given(model, ids, tokens) - logits).max())
        print(f"f16 {half[-1]['name']}: parts at {half[-1]['parts']}, logits differ by {difference}", flush=True)
    print(f"f32, all tokens in one pass: logits differ by {order}", flush=True)
    model = Model(raw.sizes, raw.weights(np.float64), np.float64)
    exact = []
    for one, logits in zip(made, seen):
        wide = given(model, one["prompt"], one["tokens"])
        # The same choice at every step, and so the same greedy answer.
        exact.append({"name": one["name"], "difference": number(abs(wide - logits).max())})
        exact[-1]["parts"] = first([int(row.argmax()) for row in wide], one["tokens"])
        print(f"f64 {one['name']}: parts at {exact[-1]['parts']}, logits differ by {exact[-1]['difference']}", flush=True)
    head = {
        "model": {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()},
        "numpy": np.__version__,
        "command": f"python3 tests/oracle/smollm2.py {path.name} shared/conformance/maps gpu/tests/data/smollm2.json",
        "date": datetime.date.today().isoformat(),
        "order": number(order),
    }
    parts = [f'"{name}":{prompts.compact(value)}' for name, value in head.items()]
    for name, values in [("prompts", made), ("f16", half), ("f64", exact)]:
        parts.append(f'"{name}":[\n' + ",\n".join(prompts.compact(value) for value in values) + "\n]")
    out.write_text("{" + ",\n".join(parts) + "}\n", encoding="ascii")
    print(f"{out.stat().st_size} bytes")


def survey(path: Path, maps: Path) -> None:
    """A line for each of the 80 held-out and general prompts: how near its choices are, and who parts where."""
    raw = read(path)
    model = Model(raw.sizes, raw.weights(np.float32), np.float32)
    wide = Model(raw.sizes, raw.weights(np.float64), np.float64)
    print("prompt, smallest margin @ step, where llama.cpp parts @ step: margin, f16: difference and parting, f64: the same")
    for record in prompts.read(maps, "heldout") + prompts.read(maps, "general_runs"):
        ids = record["prompt"]
        tokens, logits = greedy(model, ids, STEPS)
        two = np.partition(logits, -2, axis=1)
        margins = two[:, -1] - two[:, -2]

        line = [record["id"], f"{margins.min():.5f} @{margins.argmin()}", parting(tokens, record["answer"], margins)]
        for other in [given(model, ids, tokens, half=True), given(wide, ids, tokens)]:
            choices = [int(row.argmax()) for row in other]
            line.append(f"{abs(other - logits).max():.5f} {parting(tokens, choices, margins)}")
        print(", ".join(line), flush=True)


def parting(tokens: list[int], other: list[int], margins: Array) -> str:
    at = first(tokens, other)
    return "-" if at is None else f"@{at}: {margins[at]:.5f}"


# The check of the oracle itself


def loops(sizes: Sizes, weights: dict[str, Array], tokens: list[int]) -> list[list[float]]:
    """The logits after each token, by Python's f64 numbers and one loop after the other."""
    w = {name: tensor.tolist() for name, tensor in weights.items()}
    dim, group = sizes.head_dim, sizes.heads // sizes.kv_heads

    def norm(x: list[float], weight: list[float]) -> list[float]:
        r = math.sqrt(math.fsum(a * a for a in x) / len(x) + sizes.eps)
        return [a / r * b for a, b in zip(x, weight)]

    def product(matrix: list[list[float]], x: list[float]) -> list[float]:
        return [math.fsum(a * b for a, b in zip(row, x)) for row in matrix]

    def turned(x: list[float], position: int) -> list[float]:
        out = list(x)
        for start in range(0, len(x), dim):
            for i in range(dim // 2):
                angle = position * sizes.base ** (-2 * i / dim)
                # A pair is a complex number, and is multiplied by another of length 1.
                z = complex(x[start + 2 * i], x[start + 2 * i + 1]) * complex(math.cos(angle), math.sin(angle))
                out[start + 2 * i], out[start + 2 * i + 1] = z.real, z.imag
        return out

    kept: list[list[tuple]] = [[] for _ in range(sizes.layers)]
    result = []
    for position, token in enumerate(tokens):
        x = w["token_embd.weight"][token]
        for layer in range(sizes.layers):
            name = f"blk.{layer}."
            h = norm(x, w[name + "attn_norm.weight"])
            q = turned(product(w[name + "attn_q.weight"], h), position)
            k = turned(product(w[name + "attn_k.weight"], h), position)
            kept[layer].append((k, product(w[name + "attn_v.weight"], h)))
            mixed = []
            for head in range(sizes.heads):
                at, own = head // group * dim, head * dim
                scores = [math.fsum(q[own + i] * key[at + i] for i in range(dim)) / math.sqrt(dim) for key, _ in kept[layer]]
                shares = [math.exp(score) for score in scores]
                total = math.fsum(shares)
                for i in range(dim):
                    mixed.append(math.fsum(s * value[at + i] for s, (_, value) in zip(shares, kept[layer])) / total)
            x = [a + b for a, b in zip(x, product(w[name + "attn_output.weight"], mixed))]
            h = norm(x, w[name + "ffn_norm.weight"])
            gate, up = product(w[name + "ffn_gate.weight"], h), product(w[name + "ffn_up.weight"], h)
            inner = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]
            x = [a + b for a, b in zip(x, product(w[name + "ffn_down.weight"], inner))]
        result.append(product(w["token_embd.weight"], norm(x, w["output_norm.weight"])))
    return result


def tiny(random: np.random.Generator) -> tuple[Sizes, dict[str, Array]]:
    sizes = Sizes(layers=2, heads=6, kv_heads=2, head_dim=8, eps=1e-2, base=50.0)
    width, inner, words = 48, 40, 30
    weights = {"token_embd.weight": random.normal(0, 1, (words, width)), "output_norm.weight": random.normal(1, 0.3, width)}
    for layer in range(sizes.layers):
        for name, rows, columns in [
            ("attn_q", sizes.heads * sizes.head_dim, width),
            ("attn_k", sizes.kv_heads * sizes.head_dim, width),
            ("attn_v", sizes.kv_heads * sizes.head_dim, width),
            ("attn_output", width, sizes.heads * sizes.head_dim),
            ("ffn_gate", inner, width),
            ("ffn_up", inner, width),
            ("ffn_down", width, inner),
        ]:
            weights[f"blk.{layer}.{name}.weight"] = random.normal(0, 2 / math.sqrt(columns), (rows, columns))
        for name in ["attn_norm", "ffn_norm"]:
            weights[f"blk.{layer}.{name}.weight"] = random.normal(1, 0.3, width)
    # Numbers that f32 holds, so that both kinds have the same model.
    return sizes, {name: tensor.astype(np.float32).astype(np.float64) for name, tensor in weights.items()}


def halves(x: Array, cos: Array, sin: Array) -> Array:
    """A mistake: pairs (i, i + dim / 2)."""
    half = x.shape[2] // 2
    a, b, cos, sin = x[:, :, :half], x[:, :, half:], cos[:, None, :], sin[:, None, :]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=2)


class Interleaved(Model):
    """A mistake: head h reads key-value head h mod kv_heads."""

    def attention(self, q: Array, keys: Array, values: Array, later: Array) -> Array:
        own = np.arange(self.sizes.heads) % self.sizes.kv_heads
        every = Model(dataclasses.replace(self.sizes, kv_heads=self.sizes.heads), self.weights, self.kind)
        return every.attention(q, keys[:, own], values[:, own], later)


class Unmasked(Model):
    """A mistake: a token sees those after it."""

    def attention(self, q: Array, keys: Array, values: Array, later: Array) -> Array:
        return super().attention(q, keys, values, np.zeros_like(later))


def check() -> None:
    random = np.random.default_rng(4)
    sizes, weights = tiny(random)
    tokens = random.integers(0, 30, 24).tolist()
    expected = np.array(loops(sizes, weights, tokens))

    def off(model: Model, *cuts: int, half: bool = False) -> float:
        """How far the logits are from those of the loops, the tokens read in passes that end at the cuts."""
        cache = Cache(model.sizes.layers, half)
        ends = [0, *cuts, len(tokens)]
        logits = [model.forward(tokens[a:b], cache) for a, b in itertools.pairwise(ends)]
        return float(abs(np.concatenate(logits) - expected).max())

    def near(what: str, difference: float, bound: float) -> None:
        print(f"{what}: {difference:.1e}")
        assert difference < bound, f"{what} is not within {bound}"

    def far(what: str, difference: float, bound: float = 0.1) -> None:
        print(f"noticed, {what}: {difference:.1e}")
        assert difference > bound, f"{what} is not noticed"

    wide = Model(sizes, weights, np.float64)
    narrow_weights = {name: tensor.astype(np.float32) for name, tensor in weights.items()}
    narrow = Model(sizes, narrow_weights, np.float32)
    each = range(1, len(tokens))
    near("f64 in one pass", off(wide), 1e-11)
    near("f64 token by token", off(wide, *each), 1e-11)
    near("f64 in three passes", off(wide, 7, 8), 1e-11)
    near("f32 in one pass", off(narrow), 1e-3)
    near("f32 token by token", off(narrow, *each), 1e-3)
    near("keys and values in f16", off(narrow, half=True), 0.1)
    far("keys and values in f16", off(narrow, half=True), 10 * off(narrow))
    far("RoPE's pairs half a head apart", off(Model(sizes, weights, np.float64, halves)))
    far("RoPE turned the other way", off(Model(sizes, weights, np.float64, lambda x, c, s: neighbours(x, c, -s))))
    far("no RoPE", off(Model(sizes, weights, np.float64, lambda x, c, s: x)))
    far("another base", off(Model(dataclasses.replace(sizes, base=100.0), weights, np.float64)))
    far("another epsilon", off(Model(dataclasses.replace(sizes, eps=2e-2), weights, np.float64)), 1e-3)
    far("heads grouped otherwise", off(Interleaved(sizes, weights, np.float64)))
    far("later tokens seen", off(Unmasked(sizes, weights, np.float64)))
    for name in weights:
        changed = {**weights, name: weights[name] * 1.02}
        far(f"{name} too large by a fiftieth", off(Model(sizes, changed, np.float64)), 1e-3)

    answer, logits = greedy(wide, tokens, 6)
    assert np.abs(given(wide, tokens, answer) - logits).max() < 1e-11
    spread = loops(sizes, weights, tokens + answer[:-1])[len(tokens) - 1 :]
    assert [row.index(max(row)) for row in spread] == answer
    assert best(np.array([1.0, 3.0, 2.0, 3.0, 0.0, 0.0])).tolist() == [1, 3, 2, 0, 4], "equal logits, the lowest id first"
    print("greedy answers are equal")
    check_blocks(random)


def check_blocks(random: np.random.Generator) -> None:
    """Blocks of random bytes and sound scales, number by number, and as the package reads them where it is there."""
    for name, numbers, size, scales in [("Q4_1", q4_1, 20, 2), ("Q8_0", q8_0, 34, 1)]:
        blocks = random.integers(0, 256, (3, 4 * size), dtype=np.uint8)
        for start in range(0, 4 * size, size):
            sound = random.normal(0, 1, (3, scales)).astype("<f2")
            blocks[:, start : start + 2 * scales] = sound.view(np.uint8)
        expected = []
        for start in range(0, blocks.size, size):
            block = blocks.reshape(-1)[start : start + size].tobytes()
            d, m = [*np.frombuffer(block, "<f2", scales).tolist(), 0.0][:2]
            for i in range(32):
                if name == "Q4_1":
                    q = block[4 + i % 16] >> 4 * (i // 16) & 15
                else:
                    q = int.from_bytes(block[2 + i : 3 + i], "little", signed=True)
                expected.append(d * q + m)
        # f64 holds these numbers as they are; f32 is their rounding.
        wide = numbers(blocks, np.float64)
        assert wide.reshape(-1).tolist() == expected, name
        narrow = numbers(blocks, np.float32)
        assert (narrow == wide.astype(np.float32)).all(), name
        try:
            from gguf import GGMLQuantizationType
            from gguf.quants import dequantize
        except ImportError:
            print(f"{name} is what its bytes say (not compared with the package gguf, which is not here)")
            continue
        assert (dequantize(blocks, GGMLQuantizationType[name]) == narrow).all(), name
        print(f"{name} is what its bytes say, and what the package gguf reads")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare the forward pass with plain loops, and write nothing")
    parser.add_argument("--survey", action="store_true", help="compare more prompts, and write nothing")
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="MODEL.gguf, the folder of maps, the file to write")
    args = parser.parse_args()
    if args.check:
        check()
    elif args.survey and len(args.paths) == 2:
        survey(*args.paths)
    elif not args.survey and len(args.paths) == 3:
        make(*args.paths)
    else:
        sys.exit(parser.format_usage())


if __name__ == "__main__":
    main()
