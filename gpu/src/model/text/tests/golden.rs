//! Texts and tokens that another implementation made: `gpu/tests/data/text.py`.

use super::*;

/// A text, and its tokens where names of special tokens are such tokens and where they are text.
pub(super) struct Golden {
    pub(super) text: String,
    pub(super) named: Vec<u32>,
    pub(super) ignored: Vec<u32>,
}

pub(super) fn read(json: &str) -> Vec<Golden> {
    let all: Value = serde_json::from_str(json).unwrap();
    let ids = |list: &Value| list.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect();
    let golden = |one: &Value| Golden {
        text: one["text"].as_str().unwrap().to_owned(),
        named: ids(&one["named"]),
        ignored: ids(&one["ignored"]),
    };
    all.as_array().unwrap().iter().map(golden).collect()
}

/// Every text becomes its tokens, and the tokens the text, unless it was composed.
pub(super) fn check(tokenizer: &Tokenizer, all: &[Golden], composes: bool) {
    assert!(all.len() > 40);
    for Golden { text, named, ignored } in all {
        assert_eq!(tokenizer.encode(text, Special::Named).as_ref(), Ok(named), "{text:?}");
        assert_eq!(tokenizer.encode(text, Special::Ignored).as_ref(), Ok(ignored), "{text:?}");
        let decoded = tokenizer.decode(named, Special::Named).unwrap();
        assert_eq!(tokenizer.decode(ignored, Special::Named).as_ref(), Ok(&decoded));
        assert!(decoded == *text || composes, "{text:?} comes back as {decoded:?}");
        // Encoded again, the composed form stays.
        assert_eq!(tokenizer.encode(&decoded, Special::Named).as_ref(), Ok(named), "{text:?}");
        let visible: Vec<u32> = named.iter().copied().filter(|id| !tokenizer.is_special(*id)).collect();
        assert_eq!(tokenizer.decode(named, Special::Ignored), tokenizer.decode(&visible, Special::Named));
        // What was not recognised is text, which a reader sees.
        assert_eq!(tokenizer.decode(ignored, Special::Ignored).as_ref(), Ok(&decoded));
    }
}

#[test]
fn each_pre_tokenizer_makes_the_tokens_of_another_implementation() {
    for (pre, json) in [
        ("smollm", data!("tiny-smollm.json")),
        ("gpt-2", data!("tiny-gpt-2.json")),
        ("default", data!("tiny-default.json")),
        ("qwen2", data!("tiny-qwen2.json")),
        ("llama-bpe", data!("tiny-llama-bpe.json")),
    ] {
        assert!(PRE_TOKENIZERS.contains(&pre));
        check(&tiny(pre).tokenizer().unwrap(), &read(json), pre == "qwen2");
    }
    assert_eq!(PRE_TOKENIZERS.len(), 5);
}

#[test]
fn a_run_of_white_space_takes_no_longer_than_it_is() {
    let tokenizer = tiny("smollm").tokenizer().unwrap();
    let qwen2 = tiny("qwen2").tokenizer().unwrap();
    for text in [" ".repeat(1 << 18), "\n".repeat(1 << 18), " \t".repeat(1 << 17) + "x", "x".repeat(1 << 18)] {
        for tokenizer in [&tokenizer, &qwen2] {
            let ids = tokenizer.encode(&text, Special::Ignored).unwrap();
            assert!(tokenizer.decode(&ids, Special::Ignored).as_ref() == Ok(&text));
        }
    }
}

#[test]
fn special_tokens_cannot_be_written_unless_asked_for() {
    // A control token that merges could make, too, and one that lies in the text of another one.
    let more = [("ab", 1), ("abc", 3), ("<ab>", 3), ("cd", 4), ("?", 2), ("x", 5), ("<", 1), (">", 1)];
    let file = letters(&more, &["a b"]);
    let tokenizer = file.tokenizer().unwrap();
    assert_eq!(tokenizer.encode("abc", Special::Ignored), Ok(vec![4, 2]));
    assert_eq!(tokenizer.encode("abc", Special::Named), Ok(vec![5]));
    assert_eq!(tokenizer.encode("<ab>abcdd", Special::Named), Ok(vec![6, 5, 3, 3]));
    // A user's token is text, whoever asks.
    assert_eq!(tokenizer.encode("<ab>cdd", Special::Ignored), Ok(vec![10, 4, 11, 7, 3]));
    assert_eq!(tokenizer.decode(&[6, 0, 5, 7, 9, 8], Special::Named).as_deref(), Ok("<ab>aabccd?"));
    assert_eq!(tokenizer.decode(&[6, 0, 5, 7, 9, 8], Special::Ignored).as_deref(), Ok("acd"));
    assert!(tokenizer.is_special(8) && !tokenizer.is_special(7) && !tokenizer.is_special(99));
    assert_eq!(
        file.with("tokenizer.ggml.merges", Given::Array(8, vec![Given::Text("ab c")])).fails(),
        TextError::Merge { at: 0, text: "ab c".into() }
    );
}

#[test]
fn a_byte_without_a_token_is_an_error_and_can_be_asked_for() {
    let tokenizer = letters(&[("é", 4)], &[]).tokenizer().unwrap();
    assert_eq!(tokenizer.encode("abx", Special::Ignored), Err(TextError::Byte { byte: b'x' }));
    assert_eq!(tokenizer.encode("abè", Special::Ignored), Err(TextError::Byte { byte: 0xc3 }));
    assert!(tokenizer.lacks('x') && tokenizer.lacks('é') && !tokenizer.lacks('a'));
    // A user's token needs no bytes.
    assert_eq!(tokenizer.encode("aéb", Special::Ignored), Ok(vec![0, 4, 1]));
    assert_eq!(tokenizer.decode(&[0, 4, 1], Special::Ignored).as_deref(), Ok("aéb"));
}

#[test]
fn a_token_past_the_vocabulary_is_an_error() {
    let tokenizer = letters(&[], &[]).tokenizer().unwrap();
    assert_eq!(tokenizer.vocabulary(), 4);
    let unknown = |id: u32| TextError::Id { id: id.into(), vocabulary: 4, key: None };
    for id in [4, 5, u32::MAX] {
        assert_eq!(tokenizer.bytes(id), Err(unknown(id)));
        assert_eq!(tokenizer.decode(&[0, id], Special::Named), Err(unknown(id)));
    }
    assert_eq!(tokenizer.bytes(3), Ok(&b"d"[..]));
    assert_eq!(unknown(9).to_string(), "there is no token 9: the vocabulary has 4");
}

#[test]
fn first_and_last_tokens_are_those_that_the_file_names() {
    let file = letters(&[], &[]);
    let plain = file.tokenizer().unwrap();
    assert_eq!((plain.bos(), plain.eos(), plain.eot(), plain.adds_bos()), (None, None, None, false));
    assert!(plain.stops().is_empty());
    let file = file.with("tokenizer.ggml.bos_token_id", Given::U32(1));
    let file = file.with("tokenizer.ggml.eos_token_id", Given::U64(3));
    let file = file.with("tokenizer.ggml.eot_token_id", Given::I32(2));
    let all = file.tokenizer().unwrap();
    assert_eq!((all.bos(), all.eos(), all.eot(), all.adds_bos()), (Some(1), Some(3), Some(2), false));
    assert_eq!(all.stops(), [2, 3]);
    let same = file.with("tokenizer.ggml.eom_token_id", Given::U32(3)).tokenizer().unwrap();
    assert_eq!(same.stops(), [2, 3]);
    // One kind of tokenizer adds the first token if nothing says that it does not.
    let llama = file.with("tokenizer.ggml.pre", Given::Text("llama-bpe"));
    assert!(llama.tokenizer().unwrap().adds_bos());
    assert!(!llama.without("tokenizer.ggml.bos_token_id").tokenizer().unwrap().adds_bos());
    assert!(!llama.with("tokenizer.ggml.add_bos_token", Given::Bool(0)).tokenizer().unwrap().adds_bos());
    assert!(file.with("tokenizer.ggml.add_bos_token", Given::Bool(1)).tokenizer().unwrap().adds_bos());
}
