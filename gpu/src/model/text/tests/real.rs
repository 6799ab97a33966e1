//! A model that people use: SmolLM2-135M-Instruct, 98 MB, which is not in this repository.
//!
//! `MRAIL_MODEL=<path to the .gguf> cargo test -p mrail-gpu --lib real -- --ignored`

use super::*;
use crate::model::gguf::Seekable;
use std::fs::File;

fn header() -> Header {
    let path = std::env::var_os("MRAIL_MODEL").expect("MRAIL_MODEL names no file");
    let mut source = Seekable::new(File::open(path).expect("the file that MRAIL_MODEL names")).unwrap();
    Header::read(&mut source).unwrap()
}

#[test]
#[ignore = "needs a model of 98 MB: MRAIL_MODEL=<SmolLM2-135M-Instruct.Q4_1.gguf>"]
fn smollm2_makes_the_tokens_of_another_implementation() {
    let tokenizer = Tokenizer::from_header(&header()).unwrap();
    assert_eq!(tokenizer.vocabulary(), 49152);
    assert_eq!((tokenizer.bos(), tokenizer.eos(), tokenizer.eot()), (Some(1), Some(2), None));
    assert_eq!((tokenizer.stops(), tokenizer.adds_bos()), (&[2][..], false));
    let golden = golden::read(data!("smollm2.json"));
    golden::check(&tokenizer, &golden, false);
    for one in golden {
        let mut stream = Stream::new(Special::Named);
        let pieces = one.named.iter().map(|id| stream.push(&tokenizer, *id).unwrap()).collect::<Vec<_>>().concat();
        assert_eq!(pieces + &stream.finish(), one.text);
    }
    // The vocabulary lacks some bytes that text can have.
    assert_eq!(tokenizer.encode("a\u{4}", Special::Ignored), Err(TextError::Byte { byte: 4 }));
    assert!(tokenizer.lacks('\u{4}') && !tokenizer.lacks('\0'));
    // Every token is what its bytes say.
    for id in 0..tokenizer.vocabulary() {
        assert_eq!(tokenizer.is_special(id), id < 17);
        assert!(!tokenizer.bytes(id).unwrap().is_empty());
    }
}

#[test]
#[ignore = "needs a model of 98 MB: MRAIL_MODEL=<SmolLM2-135M-Instruct.Q4_1.gguf>"]
fn smollm2_is_talked_to_as_it_was_trained() {
    let header = header();
    let chat = Chat::from_header(&header).unwrap();
    let text = chat.render(&[Message { role: "user", content: "What is 2+2?" }], true).unwrap();
    let wanted = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n\
                  <|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(text, wanted);
    let tokenizer = Tokenizer::from_header(&header).unwrap();
    let ids = tokenizer.encode(&text, Special::Named).unwrap();
    assert_eq!(ids.iter().filter(|id| tokenizer.is_special(**id)).count(), 5);
    assert_eq!(ids[0], 1);
    assert_eq!(tokenizer.decode(&ids, Special::Named).as_ref(), Ok(&text));
}
