"""Writes text/<name>.json: texts, and the tokens that SmolLM2 and small vocabularies of other kinds make of them.

    pip install gguf==0.19.0 regex tokenizers==0.23.3 && python3 text.py <SmolLM2-135M-Instruct.Q4_1.gguf>

The tokens come from the few lines of byte-level BPE below, which look ahead as the published patterns do, where the crate does
not. They are checked here against the Python package `tokenizers`, with its own pre-tokenizers, and have to be the same.

`tiny.json` is a vocabulary that is small enough to lie here: the merges of SmolLM2 that the texts need, and all bytes.
"""

import json
import sys
import unicodedata
from pathlib import Path

import regex
from gguf import GGUFReader
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

FOLDER = Path(__file__).parent / "text"

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# By their names in GGUF: the patterns that cut a text, one after the other.
PRE = {
    "smollm": [r"\p{N}", GPT2],
    "gpt-2": [GPT2],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"],
    "qwen2": [QWEN2],
    "llama-bpe": [QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")],
}

TEXTS = [
    "",
    "a",
    " ",
    "\n",
    "Hello, world!",
    "  Hello  world  ",
    "1234567890",
    "In 2024, 3.14159 and 1,000,000 were 42% of it; x2 y10 v1.2.3",
    "½ ² Ⅷ ٣٤٥ ১২৩ 一二三 𝟙𝟚",
    "1  2   3    4\t5\n6",
    "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n",
    "<|im_end|> a<|im_end|>a<|im_end|>\n\na <|im_end|>  a",
    "<|endoftext|><|endoftext|>",
    "<|im_end",
    "<|<|im_end|>|>",
    "the <file_sep> of <jupyter_code>x = 1<jupyter_output>",
    "😀",
    "Good 👍🏽 day 👩‍👩‍👧‍👦! 🇬🇧🇩🇪 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
    "e\u0301 é a\u0308\u0323 ñ n\u0303 \u0301",
    "क्षत्रिय हिन्दी ภาษาไทย العَرَبِيَّة עִבְרִית",
    "z̷a̵l̶g̸o̴",
    "\u1100\u1161\u11a8 각",
    "line\r\nline\r\n\r\n  line\rline\n\r\n",
    "\r\n",
    "a \r\n b",
    "fn main() {\n    let x: u32 = 0x1F;\n\tprintln!(\"{x:>8}\"); // done\n}\n",
    "def f(a, b=None):\n    return {**a, 'k': [i for i in range(10)]}\n\n\nclass A:\n        pass\n",
    "a" + " " * 64 + "b",
    " " * 200,
    "\t\t\tx\t \ty",
    " \n \n  \n\tx",
    "\u00a0nbsp\u2003em\u3000ideographic\u200bzero\u2028line\u0085next",
    "I'm you're he's WE'LL they'VE it'S don't 'Tis ''s o'clock 'ſ",
    "$100 + <tag attr=\"v\"/> ~ a|b ^2 == != <= `code` «q» — – … “x” ¿?",
    "https://example.org/a_b-c?d=e&f=%20#g user@example.org C:\\dir\\file.txt",
    "snake_case camelCase SCREAMING_CASE kebab-case MixedUP123abc",
    "日本語のテキスト。中文，没有空格！한국어 문장.",
    "Ελληνικά Русский язык Tiếng Việt Türkçe İstanbul ßẞ",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "................................................................",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "\ufeffBOM and \ufffd replaced and \u0000 nothing",
]


def letters() -> list[str]:
    own = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in own else next(others)) for byte in range(256)]


LETTERS = letters()


def cut(text: str, pre: str) -> list[str]:
    pieces = [text]
    for pattern in PRE[pre]:
        cuts = []
        for piece in pieces:
            at = 0
            for found in regex.finditer(pattern, piece):
                cuts += [piece[at : found.start()], found.group()]
                at = found.end()
            cuts.append(piece[at:])
        pieces = [piece for piece in cuts if piece]
    return pieces


def merge(word: list[str], ranks: dict[tuple[str, str], int]) -> list[list[str]]:
    """The word after each merge; the last one is what becomes tokens."""
    words = [word]
    while True:
        found = [(ranks[pair], at) for at, pair in enumerate(zip(word, word[1:])) if pair in ranks]
        if not found:
            return words
        _, at = min(found)
        word = [*word[:at], word[at] + word[at + 1], *word[at + 2 :]]
        words.append(word)


class Bpe:
    def __init__(self, tokens: list[str], types: list[int], merges: list[str], pre: str):
        self.ids = {token: at for at, token in enumerate(tokens)}
        self.special = [token for token, kind in zip(tokens, types) if kind != 1]
        self.ranks = {tuple(pair.split(" ")): at for at, pair in enumerate(merges)}
        self.pre = pre
        plain = {token: at for token, at in self.ids.items() if token not in self.special}
        whole = pre == "llama-bpe"
        self.other = Tokenizer(models.BPE(plain, [tuple(pair.split(" ")) for pair in merges], ignore_merges=whole))
        steps = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in PRE[pre]]
        if pre == "smollm":
            steps = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        elif pre == "gpt-2":
            steps = [pre_tokenizers.ByteLevel(add_prefix_space=False)]
        else:
            steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
        self.other.pre_tokenizer = pre_tokenizers.Sequence(steps)
        if pre == "qwen2":
            self.other.normalizer = normalizers.NFC()

    def lacks(self, text: str) -> bool:
        return any(LETTERS[byte] not in self.ids for byte in text.encode())

    def word(self, piece: str) -> list[int]:
        word = [LETTERS[byte] for byte in piece.encode()]
        if self.pre == "llama-bpe" and "".join(word) in self.ids:
            return [self.ids["".join(word)]]
        return [self.ids[token] for token in merge(word, self.ranks)[-1]]

    def plain(self, text: str) -> list[int]:
        if self.pre == "qwen2":
            text = unicodedata.normalize("NFC", text)
        ids = [id for piece in cut(text, self.pre) for id in self.word(piece)]
        assert ids == self.other.encode(text).ids, (self.pre, text)
        return ids

    def named(self, text: str) -> list[int]:
        pattern = "|".join(regex.escape(token) for token in sorted(self.special, key=len, reverse=True))
        ids, at = [], 0
        for found in regex.finditer(pattern, text):
            ids += [*self.plain(text[at : found.start()]), self.ids[found.group()]]
            at = found.end()
        return ids + self.plain(text[at:])

    def golden(self) -> list[dict]:
        texts = [text for text in TEXTS if not self.lacks(text)]
        return [{"text": text, "named": self.named(text), "ignored": self.plain(text)} for text in texts]


def write(name: str, value: object) -> None:
    if isinstance(value, list):
        lines = ",\n".join(json.dumps(line) for line in value)
        (FOLDER / name).write_text(f"[\n{lines}\n]\n")
    else:
        (FOLDER / name).write_text(json.dumps(value, separators=(",", ":")) + "\n")


def tiny(bpe: Bpe) -> dict:
    """The part of a vocabulary that the texts need, and all bytes."""
    pieces = {piece for pre in PRE for text in TEXTS for piece in cut(text, pre)}
    words = (merge([LETTERS[byte] for byte in piece.encode()], bpe.ranks) for piece in pieces)
    used = {token for steps in words for step in steps for token in step}
    merges = [f"{left} {right}" for (left, right) in bpe.ranks if left + right in used]
    needed = {part for pair in merges for part in pair.split(" ")} | {pair.replace(" ", "") for pair in merges}
    tokens = bpe.special + LETTERS + [token for token in bpe.ids if token in needed and len(token) > 1]
    return {"tokens": tokens, "special": len(bpe.special), "merges": merges}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    fields = GGUFReader(sys.argv[1]).fields
    read = {key: fields[f"tokenizer.ggml.{key}"].contents() for key in ["tokens", "token_type", "merges"]}
    real = Bpe(read["tokens"], read["token_type"], read["merges"], "smollm")
    write("smollm2.json", real.golden())
    small = tiny(real)
    write("tiny.json", small)
    types = [3] * small["special"] + [1] * (len(small["tokens"]) - small["special"])
    for pre in PRE:
        write(f"tiny-{pre}.json", Bpe(small["tokens"], types, small["merges"], pre).golden())
    print(len(small["tokens"]), "tokens,", len(small["merges"]), "merges")


main()
