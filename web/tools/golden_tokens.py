#!/usr/bin/env python3
"""Writes tests/data/tokenizer/golden.json: texts and the ids that llama.cpp gives them.

The oracle is llama.cpp itself with the real model (see extract_tokenizer.py for the GGUF), through the PyPI package
`xllamacpp` in a virtual environment of its own:

    python3 -m venv venv && venv/bin/pip install xllamacpp
    venv/bin/python web/tools/golden_tokens.py SmolLM2-135M-Instruct.Q4_1.gguf tests/data/tokenizer/golden.json

It shares no code with the tokenizer of the page.
"""

import json
import sys
import urllib.request

import xllamacpp

SYSTEM = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"

TEXTS = {
    "empty": "",
    "one space": " ",
    "spaces": "a  b   c    d     e",
    "leading spaces": "   three before",
    "trailing spaces": "three after   ",
    "only newlines": "\n\n\n",
    "newlines and spaces": "a\n  b\n\n    c\n \n",
    "tabs": "\tif x:\n\t\treturn\t1",
    "CRLF": "one\r\ntwo\r\n\r\nthree\r",
    "digits": "0 1 12 123 1234 12345678901234567890",
    "digits in words": "abc123def 4x4 v1.2.3-rc4 2026-11-29T18:33:00",
    "other digits": "٣٤٥ ๑๒๓ १२३ ²³ ½ Ⅷ ㊿ 🄌",
    "contractions": "it's I'm we're you've she'll he'd don't IT'S 'tis 's",
    "punctuation": "a,b;c:d!e?f...g—h–i(j)[k]{l}<m>\"n\"'o'",
    "code": "def f(x: int) -> str:\n    return f\"{x!r:>{10}}\"  # ok\n",
    "rust": "fn main() { let x: &[u8] = b\"\\x00\"; println!(\"{x:?}\"); }",
    "url": "https://example.org/a/b?c=d&e=%20f#g",
    "accents": "Crème brûlée, naïve façade, Ångström, Größe, İstanbul",
    "combining marks": "e\u0301 n\u0303 a\u030a o\u0308\u0304 q\u0307\u0323",
    "composed and not": "\u00e9 e\u0301",
    "emoji": "😀 🎉🎉 👍🏽",
    "emoji sequences": "👩‍🔬 👨‍👩‍👧‍👦 🏳️‍🌈 🇫🇷🇯🇵 1️⃣",
    "Chinese": "你好，世界。今天天气很好！",
    "Japanese": "こんにちは、世界。カタカナ ｶﾀｶﾅ",
    "Korean": "안녕하세요 세계",
    "Arabic": "مرحبا بالعالم",
    "Hebrew": "שָׁלוֹם עולם",
    "Hindi": "नमस्ते दुनिया",
    "Thai": "สวัสดีชาวโลก",
    "Cyrillic": "Привет, мир! Ёж",
    "Greek": "Γειά σου Κόσμε",
    "mathematics": "∀x∈ℝ: ⌈x⌉ ≥ x ∧ ∫₀^∞ e^{−x²}dx = √π/2",
    "no-break and zero-width spaces": "a\u00a0b\u200bc\u2003d\ufeffe\u3000f",
    "odd line ends": "a\u2028b\u2029c\u0085d\u000be\u000cf",
    "control characters": "a\u0000b\u0001c\u007fd\u001be",
    "private and last planes": "\ue000 \U000f0000 \U0010ffff \U00050000",
    "replacement character": "a\ufffdb",
    "special token alone": "<|im_end|>",
    "text after a special token": "<|im_start|>user\nHi",
    "text right after special tokens": "<|im_end|>a<|im_end|> b<|im_end|>\nc<|im_end|>1",
    "special tokens in a row": "<|endoftext|><|im_start|><|im_end|><repo_name><file_sep>",
    "almost special": "<|im_start> <|im_end|<|im_end |> <im_end> im_start",
    "special token in a word": "foo<|im_end|>bar",
    "jupyter": "<jupyter_code>print(1)<jupyter_output>1<empty_output>",
    "chat": SYSTEM + "<|im_start|>user\nWhat is 17 * 23?<|im_end|>\n<|im_start|>assistant\n",
    "chat, spaces kept": SYSTEM + "<|im_start|>user\n  two before, two after  <|im_end|>\n<|im_start|>assistant\n",
    "chat, emoji": SYSTEM + "<|im_start|>user\nWas heißt 👩‍🔬 auf Französisch?\r\nBitte.<|im_end|>\n<|im_start|>assistant\n",
    "chat, empty": SYSTEM + "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n",
    "long word": "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "repeated": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa --------------------------------- =================",
    "camel and snake": "someCamelCaseName some_snake_case_name SCREAMING_CASE kebab-case-name",
    "words of a prototype": "constructor __proto__ toString hasOwnProperty valueOf",
}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.n_ctx = 256
    params.warmup = False
    server = xllamacpp.Server(params)

    def post(path, body):
        request = urllib.request.Request(
            server.listening_address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        return json.load(urllib.request.urlopen(request))

    def ids(text):
        # The server answers an empty content with an error of its own; no text has no tokens.
        return post("/tokenize", {"content": text, "add_special": False, "parse_special": True})["tokens"] if text else []

    rows = [{"name": name, "text": text, "ids": ids(text)} for name, text in TEXTS.items()]
    lines = ",\n".join(json.dumps(row, ensure_ascii=True, separators=(",", ":")) for row in rows)
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(f"[\n{lines}\n]\n")
    print(f"{len(rows)} texts")


if __name__ == "__main__":
    main()
