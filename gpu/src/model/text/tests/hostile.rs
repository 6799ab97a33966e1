//! Headers that are no tokenizer.

use super::*;

fn says(file: &File, text: &str) {
    assert_eq!(file.fails().to_string(), text);
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let file = letters(&[], &[]);
    says(
        &file.with("tokenizer.ggml.pre", Given::Text("tekken")),
        "tokenizer.ggml.pre asks for tekken, which is not supported; smollm, gpt-2, default, qwen2, llama-bpe are",
    );
    for model in ["llama", "bert", "t5", "rwkv", ""] {
        let text = format!("tokenizer.ggml.model asks for {model}, which is not supported; gpt2 is");
        says(&file.with("tokenizer.ggml.model", Given::Text(model)), &text);
    }
}

#[test]
fn every_needed_entry_is_missed_and_every_other_kind_of_value_named() {
    let file = letters(&[], &[]);
    for key in ["tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.ggml.tokens", "tokenizer.ggml.merges"] {
        assert_eq!(file.without(key).fails(), TextError::Missing { key });
    }
    assert!(file.without("tokenizer.ggml.token_type").tokenizer().is_ok());
    for (key, _) in &file.entries {
        for value in [Given::Bool(1), Given::I64(-1), Given::F32(0.5)] {
            assert!(matches!(file.with(key, value).fails(), TextError::Value { key: of, .. } if of == *key), "{key}");
        }
    }
    says(
        &file.with("tokenizer.ggml.tokens", Given::Text("a")),
        "tokenizer.ggml.tokens is \"a\", and should be an array",
    );
    says(&file.with("tokenizer.ggml.pre", Given::U8(1)), "tokenizer.ggml.pre is 1, and should be a text");
    let key = "tokenizer.ggml.add_bos_token";
    says(&file.with(key, Given::U32(1)), "tokenizer.ggml.add_bos_token is 1, and should be true or false");
    assert_eq!(file.with(key, Given::Bool(1)).fails(), TextError::Missing { key: "tokenizer.ggml.bos_token_id" });
    // Arrays of something else.
    for kind in [0, 4, 6] {
        let array = |value: Given<'static>| Given::Array(kind, vec![value; 4]);
        let value = match kind {
            0 => array(Given::U8(1)),
            4 => array(Given::U32(7)),
            _ => array(Given::F32(1.0)),
        };
        assert!(matches!(file.with("tokenizer.ggml.tokens", value.clone()).fails(), TextError::Utf8 { at: 0, .. }));
        assert!(matches!(file.with("tokenizer.ggml.merges", value.clone()).fails(), TextError::Utf8 { at: 0, .. }));
        // A type may be a whole number of any width.
        assert_eq!(file.with("tokenizer.ggml.token_type", value).tokenizer().is_ok(), kind == 0);
    }
}

#[test]
fn counts_and_types_are_checked() {
    let file = letters(&[], &[]);
    for count in [0, 3, 5] {
        let types = Given::Array(5, vec![Given::I32(1); count]);
        let counts = TextError::Counts { tokens: 4, types: count as u64 };
        assert_eq!(file.with("tokenizer.ggml.token_type", types).fails(), counts);
    }
    for (kind, shown) in [(0, "0"), (6, "6"), (7, "7"), (i32::MAX, "2147483647"), (-1, "a number below 0")] {
        let text = format!("token 4 is of type {shown}, which none can be; 1 to 5 are");
        says(&letters(&[("e", kind)], &[]), &text);
    }
    let none = letters(&[], &[]).with("tokenizer.ggml.tokens", Given::Array(8, vec![]));
    let none = none.with("tokenizer.ggml.token_type", Given::Array(5, vec![])).tokenizer().unwrap();
    assert_eq!((none.vocabulary(), none.encode("", Special::Named)), (0, Ok(vec![])));
    assert_eq!(none.encode("a", Special::Named), Err(TextError::Byte { byte: b'a' }));
    assert!(none.bytes(0).is_err());
}

#[test]
fn tokens_of_the_same_text_are_refused_and_gaps_are_not() {
    says(&letters(&[("e", 1), ("b", 3)], &[]), "tokens 1 and 5 have the same text");
    says(&letters(&[("gap", 5), ("gap", 5)], &[]), "tokens 4 and 5 have the same text");
    let gaps = letters(&[("", 5), ("", 1), ("", 3), ("", 4), ("gap", 5)], &[]).tokenizer().unwrap();
    assert_eq!(gaps.encode("abc", Special::Named), Ok(vec![0, 1, 2]));
    assert_eq!(gaps.decode(&[0, 4, 5, 6, 7, 8, 1], Special::Named).as_deref(), Ok("ab"));
}

#[test]
fn merges_are_two_tokens_that_make_up_a_third_one() {
    for merge in ["", " ", "a", "ab", "a  b", "a b c", "a x", "x a", "b a", " ab", "ab ", "a e", "ab cd", "é b"] {
        let merge = String::leak(merge.to_owned());
        let file = letters(&[("ab", 1), ("e", 3), ("ae", 1), ("é", 1)], &["a b", merge]);
        assert_eq!(file.fails(), TextError::Merge { at: 1, text: merge.to_owned() });
    }
    // The last one counts; nothing else happens.
    assert!(letters(&[("ab", 1)], &["a b", "a b"]).tokenizer().is_ok());
    let long = String::leak("x".repeat(1000));
    assert!(letters(&[], &[long]).fails().to_string().len() < 200);
}

#[test]
fn named_tokens_are_in_the_vocabulary() {
    let file = letters(&[], &[]);
    for key in [
        "tokenizer.ggml.bos_token_id",
        "tokenizer.ggml.eos_token_id",
        "tokenizer.ggml.eot_token_id",
        "tokenizer.ggml.eom_token_id",
    ] {
        assert!(file.with(key, Given::U32(3)).tokenizer().is_ok());
        for (value, id) in [(Given::U32(4), 4), (Given::U32(u32::MAX), u32::MAX.into()), (Given::U64(1 << 32), 1 << 32)]
        {
            assert_eq!(file.with(key, value).fails(), TextError::Id { id, vocabulary: 4, key: Some(key) });
        }
        says(&file.with(key, Given::I32(-1)), &format!("{key} is a number below 0, and should be a token's number"));
        says(&file.with(key, Given::Text("d")), &format!("{key} is \"d\", and should be a token's number"));
    }
}

#[test]
fn no_more_is_built_than_a_model_has() {
    let file = letters(&[], &[]);
    let many = |count: u64| Given::Array(8, vec![Given::Text(""); count as usize]);
    let large = |what, found, most| TextError::Large { what, found, most };
    let tokens = file.with("tokenizer.ggml.tokens", many(MOST_TOKENS + 1));
    assert_eq!(tokens.fails(), large("tokens", MOST_TOKENS + 1, MOST_TOKENS));
    let merges = file.with("tokenizer.ggml.merges", many(MOST_MERGES + 1));
    assert_eq!(merges.fails(), large("merges", MOST_MERGES + 1, MOST_MERGES));
    let long = String::leak("x".repeat(MOST_ADDED as usize + 1));
    for kind in [2, 3, 4] {
        let special = letters(&[(long, kind)], &[]);
        assert_eq!(special.fails(), large("bytes of special tokens", MOST_ADDED + 1, MOST_ADDED));
    }
    let just = letters(&[(&long[1..], 3)], &[]).tokenizer().unwrap();
    assert_eq!(just.encode(&long[1..], Special::Named), Ok(vec![4]));
    assert_eq!(letters(&[(long, 1)], &[]).tokenizer().unwrap().bytes(4).map(<[u8]>::len), Ok(long.len()));
}

#[test]
fn any_bytes_in_place_of_the_entries_are_an_error_or_a_tokenizer() {
    let file = letters(&[("ab", 1), ("<x>", 3), ("cd", 4)], &["a b"]);
    let file = file.with("tokenizer.ggml.eos_token_id", Given::U32(5));
    let build = file.entries.iter().fold(Build::default(), |build, (key, value)| build.entry(key, value));
    let bytes = build.bytes();
    for at in 24..bytes.len() {
        for with in [0x00, 0x01, 0x20, 0x61, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] = with;
            let Ok(header) = Header::parse(&bytes, bytes.len() as u64) else { continue };
            let Ok(tokenizer) = Tokenizer::from_header(&header) else { continue };
            for special in [Special::Named, Special::Ignored] {
                let ids = tokenizer.encode("abc<x>cd d", special);
                let known = |ids: Vec<u32>| ids.iter().all(|id| *id < tokenizer.vocabulary());
                assert!(ids.map_or(true, known), "{at} {with}");
            }
        }
    }
}
