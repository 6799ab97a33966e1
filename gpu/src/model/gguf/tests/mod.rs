mod hostile;

use super::build::{Build, Given, file, metadata, tensors};
use super::*;
use crate::model::quant::Element;
use std::io::{Cursor, ErrorKind};

fn parse(bytes: &[u8]) -> Result<Header, GgufError> {
    Header::parse(bytes, bytes.len() as u64)
}

fn tiny() -> Build {
    file(&metadata("llama"), &tensors(false, true))
}

/// Counts what is read of bytes.
struct Counted<'a> {
    bytes: &'a [u8],
    read: Vec<(u64, usize)>,
}

impl Source for Counted<'_> {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
        self.read.push((offset, into.len()));
        self.bytes.read_at(offset, into)
    }
}

#[test]
fn values_are_what_was_written() {
    let nested = Given::Array(
        9,
        vec![Given::Array(4, vec![Given::U32(1), Given::U32(2)]), Given::Array(8, vec![Given::Text("x")])],
    );
    let values = [
        ("b", Given::U8(200)),
        ("a", Given::I8(-3)),
        ("c", Given::U16(60000)),
        ("d", Given::I16(-300)),
        ("e", Given::U32(4_000_000_000)),
        ("f", Given::I32(-5)),
        ("g", Given::F32(0.5)),
        ("h", Given::Bool(1)),
        ("i", Given::Text("text")),
        ("j", nested),
        ("k", Given::U64(1 << 40)),
        ("l", Given::I64(7)),
        ("m", Given::F64(0.25)),
        ("n", Given::Array(7, vec![Given::Bool(0), Given::Bool(1)])),
    ];
    let build = values.iter().fold(Build::default().version(2), |build, (key, value)| build.entry(key, value));
    let bytes = build.bytes();
    let header = parse(&bytes).unwrap();
    assert_eq!((header.version(), header.tensors().len()), (2, 0));
    let keys: Vec<&str> = header.entries().map(|(key, _)| key).collect();
    assert_eq!(keys, ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"]);
    let numbers =
        ["a", "b", "c", "d", "e", "f", "g", "k", "l"].map(|key| header.get(key).and_then(|value| value.as_u64()));
    let billions = Some(4_000_000_000);
    assert_eq!(numbers, [None, Some(200), Some(60000), None, billions, None, None, Some(1 << 40), Some(7)]);
    let fractions = ["g", "m", "e"].map(|key| header.get(key).and_then(|value| value.as_f32()));
    assert_eq!(fractions, [Some(0.5), Some(0.25), None]);
    assert_eq!(header.get("h").and_then(|value| value.as_bool()), Some(true));
    assert_eq!(header.get("i").and_then(|value| value.as_str()), Some("text"));
    assert_eq!(header.get("o"), None);
    let array = |key| header.get(key).and_then(|value| value.as_array()).unwrap();
    assert_eq!(array("n").iter().collect::<Vec<_>>(), [Value::Bool(false), Value::Bool(true)]);
    let outer: Vec<Array<'_>> = array("j").iter().filter_map(|value| value.as_array()).collect();
    assert_eq!(outer.iter().map(Array::kind).collect::<Vec<_>>(), [Kind::U32, Kind::Text]);
    assert_eq!(outer[0].iter().collect::<Vec<_>>(), [Value::U32(1), Value::U32(2)]);
    assert_eq!(outer[1].iter().collect::<Vec<_>>(), [Value::Text(b"x")]);
}

#[test]
fn tensors_are_where_they_were_put() {
    let build =
        Build::default().aligned(64).tensor("b", &[32, 3], Element::Q8_0).tensor("a", &[2, 3, 4, 5], Element::F32);
    let header = parse(&build.bytes()).unwrap();
    let data = header.data_start();
    assert_eq!((data % 64, data - header.header_bytes() < 64), (0, true));
    let (a, b) = (header.tensor("a").unwrap(), header.tensor("b").unwrap());
    assert_eq!((b.range(), b.row(), b.rows(), b.row_bytes()), (data..data + 102, 32, 3, 34));
    assert_eq!((a.range(), a.row(), a.rows(), a.row_bytes()), (data + 128..data + 128 + 480, 2, 60, 8));
    assert_eq!((a.numbers(), a.bytes(), a.dims(), a.element()), (120, 480, [2, 3, 4, 5], Element::F32));
    assert_eq!(header.tensors().iter().map(Tensor::name).collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!(header.tensor("c"), None);
}

#[test]
fn every_cut_asks_for_more_or_says_that_the_file_ends() {
    let bytes = tiny().bytes();
    let (whole, len) = (parse(&bytes).unwrap(), bytes.len() as u64);
    for cut in 0..bytes.len() {
        match Header::parse(&bytes[..cut], len) {
            Ok(header) => assert!(header == whole && cut as u64 >= header.header_bytes(), "cut at {cut}"),
            Err(GgufError::Incomplete { needs }) => assert!(needs > cut as u64 && needs <= whole.header_bytes()),
            Err(error) => panic!("cut at {cut}: {error}"),
        }
        let error = parse(&bytes[..cut]).unwrap_err();
        let named = match error {
            GgufError::Cut { needs, len, .. } => needs > len && len == cut as u64,
            // The counts are more than what is left can hold.
            GgufError::Count { count, most, .. } => count > most,
            GgufError::PastEnd { start, bytes, len, .. } => start + bytes > len && len == cut as u64,
            GgufError::NotGguf { .. } => cut < 4,
            _ => false,
        };
        assert!(named, "cut at {cut}: {error}");
    }
}

#[test]
fn bytes_that_come_one_by_one_give_the_same_header() {
    let bytes = tiny().bytes();
    let (mut have, mut asked) = (0, 0);
    let header = loop {
        match Header::parse(&bytes[..have], bytes.len() as u64) {
            Err(GgufError::Incomplete { needs }) => have = needs as usize,
            other => break other.unwrap(),
        }
        asked += 1;
    };
    assert_eq!(header, parse(&bytes).unwrap());
    assert_eq!(have as u64, header.header_bytes());
    assert!(asked > 100);
}

#[test]
fn of_a_long_file_little_more_than_the_header_is_read() {
    let words = vec![Given::Text("word"); 40_000];
    let long = Build::default().entry("words", &Given::Array(8, words)).tensor("t", &[1 << 20], Element::F32);
    let bytes = long.bytes();
    let mut source = Counted { bytes: &bytes, read: Vec::new() };
    let header = Header::read(&mut source).unwrap();
    assert_eq!(header, parse(&bytes).unwrap());
    assert!(header.header_bytes() > 400_000);
    // Each byte once, in order, and of the tensors no more than the header has.
    let mut next = 0;
    for (offset, len) in &source.read {
        assert_eq!(*offset, next);
        next += *len as u64;
    }
    assert_eq!((source.read[0], source.read.len()), ((0, 64 << 10), 4));
    assert!(next <= 2 * header.header_bytes());

    let mut file = Seekable::new(Cursor::new(bytes)).unwrap();
    assert_eq!(Header::read(&mut file).unwrap(), header);
}

#[test]
fn a_source_that_fails_is_named() {
    struct Failing(u64);
    impl Source for Failing {
        fn size(&self) -> u64 {
            self.0
        }
        fn read_at(&mut self, _: u64, _: &mut [u8]) -> std::io::Result<()> {
            Err(ErrorKind::TimedOut.into())
        }
    }
    let error = Header::read(&mut Failing(u64::MAX)).unwrap_err();
    assert_eq!(error, GgufError::Read { at: 0, bytes: 64 << 10, why: "timed out".into() });
    assert_eq!(Header::read(&mut &b""[..]), Err(GgufError::NotGguf { found: Vec::new() }));
    let mut nothing = [0; 1];
    assert!((&b"abc"[..]).read_at(3, &mut nothing).is_err());
    assert!((&b"abc"[..]).read_at(u64::MAX, &mut nothing).is_err());
}

#[test]
fn what_lies_behind_the_end_is_not_looked_at() {
    let bytes = tiny().bytes();
    let longer = [&bytes[..], &[0xFF; 100]].concat();
    assert_eq!(Header::parse(&longer, bytes.len() as u64), parse(&bytes));
}
