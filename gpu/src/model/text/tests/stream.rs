//! Text as its tokens come.

use super::*;

fn all_bytes() -> Tokenizer {
    tiny("smollm").tokenizer().unwrap()
}

/// Streams tokens, and checks every piece on the way.
fn streamed(tokenizer: &Tokenizer, ids: &[u32], special: Special) -> String {
    let mut stream = Stream::new(special);
    let mut text = String::new();
    for (at, id) in ids.iter().enumerate() {
        text += &stream.push(tokenizer, *id).unwrap();
        // It is never more than the rest of a character behind, and what is out is not taken back.
        let so_far = tokenizer.decode(&ids[..=at], special).unwrap();
        let behind = so_far.strip_prefix(&text).unwrap();
        assert!(behind.is_empty() || behind == "\u{fffd}", "{behind:?} is missing");
        // Ended here, it is what decoding gives.
        assert_eq!(text.clone() + &stream.clone().finish(), so_far);
    }
    text + &stream.finish()
}

fn bytes_as_tokens(tokenizer: &Tokenizer, bytes: &[u8]) -> Vec<u32> {
    let id = |byte: &u8| (0..tokenizer.vocabulary()).find(|id| tokenizer.bytes(*id) == Ok(&[*byte])).unwrap();
    bytes.iter().map(id).collect()
}

#[test]
fn pieces_make_up_the_whole_wherever_it_is_cut() {
    let tokenizer = all_bytes();
    for golden in golden::read(data!("tiny-smollm.json")) {
        for ids in [&golden.named, &golden.ignored] {
            for special in [Special::Named, Special::Ignored] {
                assert_eq!(streamed(&tokenizer, ids, special), tokenizer.decode(ids, special).unwrap());
            }
            // Ended after every token, inside characters too.
            for end in 0..ids.len().min(40) {
                let whole = tokenizer.decode(&ids[..end], Special::Named).unwrap();
                assert_eq!(streamed(&tokenizer, &ids[..end], Special::Named), whole);
            }
        }
        let single = bytes_as_tokens(&tokenizer, golden.text.as_bytes());
        assert_eq!(streamed(&tokenizer, &single, Special::Named), golden.text);
    }
}

#[test]
fn a_character_comes_with_its_last_byte() {
    let tokenizer = all_bytes();
    let mut stream = Stream::new(Special::Ignored);
    let mut push = |bytes: &[u8]| {
        let ids = bytes_as_tokens(&tokenizer, bytes);
        ids.iter().map(|id| stream.push(&tokenizer, *id).unwrap()).collect::<Vec<_>>().concat()
    };
    assert_eq!(push(&[0xf0]), "");
    assert_eq!(push(&[0x9f, 0x98]), "");
    assert_eq!(push(&[0x80]), "😀");
    assert_eq!(push("e\u{301}\r\n".as_bytes()), "e\u{301}\r\n");
    assert_eq!(push(&[0xf0, 0x9f]), "");
    // What was begun is not gone on with.
    assert_eq!(push(b"x"), "\u{fffd}x");
    assert_eq!(push(&[0xff, 0x80]), "\u{fffd}\u{fffd}");
    // This can begin nothing: there are no such characters.
    assert_eq!(push(&[0xed]), "");
    assert_eq!(push(&[0xa0]), "\u{fffd}\u{fffd}");
    assert_eq!(push(&[0xe2, 0x82]), "");
    // A token that leaves no trace does not end a character.
    assert_eq!(stream.push(&tokenizer, 2).as_deref(), Ok(""));
    // Nor does one that is not there.
    assert!(stream.push(&tokenizer, u32::MAX).is_err());
    let last = bytes_as_tokens(&tokenizer, &[0xac])[0];
    assert_eq!(stream.clone().push(&tokenizer, last).as_deref(), Ok("€"));
    assert_eq!(stream.finish(), "\u{fffd}");
    assert_eq!(Stream::new(Special::Named).finish(), "");
}

#[test]
fn any_bytes_stream_to_what_they_decode_to() {
    let tokenizer = all_bytes();
    // Bytes at which UTF-8 takes a turn.
    let turns = [b'a', 0x80, 0x9f, 0xa0, 0xbf, 0xc2, 0xe0, 0xed, 0xf0, 0xf4, 0x8f, 0x90, 0xff];
    let ids = bytes_as_tokens(&tokenizer, &turns);
    for number in 0..turns.len().pow(4) {
        let digits = (0..4).map(|place| ids[number / turns.len().pow(place) % turns.len()]).collect::<Vec<_>>();
        assert_eq!(streamed(&tokenizer, &digits, Special::Named), tokenizer.decode(&digits, Special::Named).unwrap());
    }
}
