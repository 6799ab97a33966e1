"""Writes quant/<type>.blocks, random blocks, and quant/<type>.f32, what they hold as the `gguf` package reads them.

    pip install gguf==0.19.0 numpy && python3 quant.py

The numbers are little-endian. Scales are any finite half precision, subnormal ones among them; NaN is left out, since its bits
are nobody's promise.
"""

from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

FOLDER = Path(__file__).parent / "quant"
# Where a block's half-precision scales lie, in bytes from its start.
SCALES = {
    "Q4_0": [0],
    "Q4_1": [0, 2],
    "Q5_0": [0],
    "Q5_1": [0, 2],
    "Q8_0": [0],
    "Q4_K": [0, 2],
    "Q5_K": [0, 2],
    "Q6_K": [208],
}
# Bits of the exponent in the last byte of a plain number, of which one is cleared.
PLAIN = {"F32": (3, 0x01), "F16": (1, 0x04), "BF16": (1, 0x01)}


def blocks(name: str, random: np.random.Generator) -> np.ndarray:
    kind = GGMLQuantizationType[name]
    length, size = GGML_QUANT_SIZES[kind]
    made = random.integers(0, 256, (max(512 // length, 2), size), dtype=np.uint8)
    for at in SCALES.get(name, []):
        high = made[:, at + 1]
        high[(high & 0x7C) == 0x7C] ^= 0x40
        made[0, at + 1] &= 0x83  # subnormal
    if name in PLAIN:
        at, bit = PLAIN[name]
        made[:, at] &= 0xFF ^ bit
    return made


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    random = np.random.default_rng(2024)
    for name in [*PLAIN, *SCALES]:
        made = blocks(name, random)
        kind = GGMLQuantizationType[name]
        flat = made.reshape(1, -1)
        plain = {"F32": np.float32, "F16": np.float16}.get(name)
        numbers = dequantize(flat.view(plain) if plain else flat, kind).astype("<f4")
        assert np.isfinite(numbers).all(), name
        (FOLDER / f"{name}.blocks").write_bytes(made.tobytes())
        (FOLDER / f"{name}.f32").write_bytes(numbers.tobytes())


if __name__ == "__main__":
    main()
