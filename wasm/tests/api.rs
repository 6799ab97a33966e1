//! The package as JavaScript calls it, in a browser.
#![cfg(target_arch = "wasm32")]

mod common;

use common::{CODING, answer, bytes, data, fault, get, n, number, object, open, open_with, run, string, tokens, words};
use js_sys::{Array, Uint8Array, Uint32Array};
use mrail_wasm::{MrailMap, prefix_hash, version};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

const GENERAL: &[u8] = data!("maps/general.mrail");
const MIXED: &[u8] = data!("maps/mixed.mrail");
const ANCHORS: &[u8] = data!("maps/anchors.mrail");
const TRACKS: &[u8] = data!("maps/tracks.mrail");

#[wasm_bindgen_test]
fn hashes_are_the_golden_ones() {
    for (context, hash) in [
        (&[][..], "0000000000000000"),
        (&[1], "5771b81f7cb9a149"),
        (&[1, 2], "c0875e19c204ad38"),
        (&[1, 2, u32::MAX], "5a8679eab6ca152a"),
    ] {
        assert_eq!(prefix_hash(&words(context)).unwrap(), hash);
    }
    assert_eq!(version(), env!("CARGO_PKG_VERSION"));
}

#[wasm_bindgen_test]
fn a_map_tells_what_it_holds() {
    let info = open(CODING).info();
    for (key, value) in [
        ("byteLength", 130_086),
        ("validLength", 130_086),
        ("runs", 198),
        ("foreignRuns", 0),
        ("sessions", 198),
        ("tracks", 0),
        ("tokens", 31_678),
        ("answerTokens", 16_497),
        ("anchors", 0),
        ("anchorDeltas", 0),
        ("useHashes", 0),
        ("uses", 0),
        ("problems", 0),
    ] {
        assert_eq!(number(&info, key), value, "{key}");
    }
    assert_eq!(string(&info, "tail"), "none");
    let kinds: Array = get(&info, "kinds").unchecked_into();
    let session = kinds.get(0);
    let of_kind = (number(&session, "kind"), string(&session, "name"), number(&session, "records"));
    assert_eq!((kinds.length(), of_kind), (1, (1, "session".to_owned(), 198)));
    assert_eq!(number(&session, "bytes"), 130_086 - 8);

    let info = open(ANCHORS).info();
    assert_eq!((number(&info, "anchors"), number(&info, "anchorDeltas")), (12, 71));
    // Past 32 bits.
    assert_eq!(get(&info, "uses").as_f64(), Some(4_294_967_395.0));
    let (kinds, total) = (Array::from(&get(&info, "kinds")), number(&info, "validLength"));
    assert_eq!(kinds.iter().map(|kind| number(&kind, "bytes")).sum::<usize>(), total - 8);
}

#[wasm_bindgen_test]
fn each_run_of_a_real_map_is_answered_from_the_map() {
    let map = open(CODING);
    for of in 0..198 {
        let (context, answered) = run(&map, of);
        let located = map.locate(&words(&context)).unwrap();
        assert_eq!((number(&located, "lcp"), number(&located, "shared")), (context.len(), context.len()));
        let by = number(&located, "run");
        let found = answer(&map, &context).unwrap();
        assert_eq!((&context, &found), (&run(&map, by).0, &run(&map, by).1), "run {of}");
        assert!(by == of || found.len() >= answered.len(), "run {of}");
        assert_eq!(answer(&map, &[&context[..], &[49_151]].concat()), None);
    }
}

#[wasm_bindgen_test]
fn an_answer_says_why_it_ends() {
    let mut map = MrailMap::create();
    map.append_session(&words(&[1, 2, 3, 4, 5]), &n(2.0)).unwrap();
    for (max_new, stop, end, answered) in [
        (9.0, &[][..], "run", &[3, 4, 5][..]),
        (9_007_199_254_740_991.0, &[], "run", &[3, 4, 5]),
        (9.0, &[4], "stop", &[3, 4]),
        (1.0, &[4], "maxNew", &[3]),
        (0.0, &[4], "maxNew", &[]),
    ] {
        let found = map.exact_answer(&words(&[1, 2]), &n(max_new), &words(stop)).unwrap().unwrap();
        assert_eq!((string(&found, "end").as_str(), &tokens(&found, "tokens")[..]), (end, answered));
        assert_eq!(number(&found, "run"), 0);
    }
    assert!(map.exact_answer(&words(&[1]), &n(9.0), &words(&[])).unwrap().is_none());
}

#[wasm_bindgen_test]
fn odd_files_open_as_far_as_they_are_good() {
    for (file, runs, tail) in [
        (&data!("maps/empty.mrail")[..], 0, "none"),
        (data!("maps/torn_header.mrail"), 30, "torn"),
        (data!("maps/torn_header5.mrail"), 30, "torn"),
        (data!("maps/torn_payload.mrail"), 30, "torn"),
        (data!("maps/unknown_kind.mrail"), 30, "none"),
    ] {
        let info = open(file).info();
        assert_eq!((number(&info, "byteLength"), string(&info, "tail").as_str()), (file.len(), tail));
        assert_eq!((number(&info, "runs"), number(&info, "problems")), (runs, 0));
        assert_eq!(number(&info, "validLength") == file.len(), tail == "none");
    }
    let unknown = open(data!("maps/unknown_kind.mrail"));
    let kinds = Array::from(&get(&unknown.info(), "kinds"));
    assert!(kinds.iter().any(|kind| string(&kind, "name") == "unknown"));
}

#[wasm_bindgen_test]
fn what_is_no_map_is_refused_by_name() {
    for (file, message, offset) in [
        (&b"<!doctype html><title>404 Not Found</title>"[..], "<!doctyp", 0),
        (b"MRA", "3 bytes", 3),
        (b"", "0 bytes", 0),
        (b"MRAIL\x04\0\0", "version 4", 5),
    ] {
        let refused = || MrailMap::open(&bytes(file), &object(r#"{"trusted":true}"#));
        let (kind, text) = fault(refused());
        assert_eq!(kind, "not-a-map");
        assert!(text.contains(message), "{text}");
        assert_eq!(number(&refused().unwrap_err(), "offset"), offset);
        let merged = MrailMap::merge(&Array::of2(&bytes(CODING), &bytes(file)));
        assert_eq!(fault(merged).0, "not-a-map");
    }
}

#[wasm_bindgen_test]
fn damage_hides_nothing_and_is_not_written_over() {
    // The first record's length now covers good records behind it.
    let mut damaged = CODING.to_vec();
    damaged[11] = 0xFF;
    let mut map = open(&damaged);
    let info = map.info();
    assert_eq!((string(&info, "tail").as_str(), number(&info, "validLength")), ("damaged", 8));
    let refused = map.append_session(&words(&[1, 2]), &n(1.0));
    assert_eq!(number(refused.as_ref().unwrap_err(), "offset"), 8);
    assert_eq!(fault(refused).0, "damaged");
    assert_eq!(number(&map.info(), "runs"), 0);

    // A count that disagrees with its record's length: that record alone is left out, and says why.
    let mut damaged = CODING.to_vec();
    damaged[8 + 5 + 4] ^= 1;
    let map = open(&damaged);
    let info = map.info();
    assert_eq!((number(&info, "runs"), number(&info, "problems")), (197, 1));
    let records = map.records(&n(0.0), &n(2.0)).unwrap();
    assert!(string(&records[0], "problem").contains("the tokens"), "{}", string(&records[0], "problem"));
    assert!(get(&records[1], "problem").is_undefined());
}

#[wasm_bindgen_test]
fn wrong_arguments_are_named() {
    let coding = bytes(CODING);
    let opened = |options: &str| MrailMap::open(&coding, &object(options));
    for (options, name) in [
        ("null", "options"),
        ("3", "options"),
        ("{}", "options.trusted"),
        (r#"{"trusted":1}"#, "options.trusted"),
        (r#"{"trusted":null}"#, "options.trusted"),
        (r#"{"trusted":true,"stride":0}"#, "options.stride"),
        (r#"{"trusted":true,"stride":1.5}"#, "options.stride"),
        (r#"{"trusted":true,"stride":"2"}"#, "options.stride"),
        (r#"{"trusted":true,"limit":-1}"#, "options.limit"),
        (r#"{"trusted":true,"limit":9007199254740992}"#, "options.limit"),
        (r#"{"trusted":true,"limit":null}"#, "options.limit"),
        (r#"{"trusted":true,"nmax":0}"#, "1 to 16"),
        (r#"{"trusted":true,"nmax":17}"#, "1 to 16"),
        (r#"{"trusted":true,"railPrompts":0}"#, "options.railPrompts"),
        (r#"{"trusted":true,"throughTracks":"yes"}"#, "options.throughTracks"),
        (r#"{"trusted":true,"foreign":{}}"#, "options.foreign"),
        (r#"{"trusted":true,"foreign":[7]}"#, "options.foreign[0]"),
        (r#"{"trusted":true,"foreign":[{"bytes":[1,2]}]}"#, "options.foreign[0].bytes"),
    ] {
        let (kind, text) = fault(opened(options));
        assert!(kind == "invalid-argument" && text.contains(name), "{options}: {kind}: {text}");
    }
    for no_bytes in [JsValue::UNDEFINED, JsValue::NULL, "MRAIL".into(), object("[1]"), words(&[1])] {
        let (kind, text) = fault(MrailMap::open(&no_bytes, &object(r#"{"trusted":true}"#)));
        assert!(kind == "invalid-argument" && text.starts_with("bytes must be a Uint8Array, not "), "{text}");
    }

    let mut map = open(CODING);
    let ids = words(&[1, 2]);
    for no_count in [f64::NAN, f64::INFINITY, -1.0, 0.5, 9_007_199_254_740_992.0].map(JsValue::from) {
        for (result, name) in [
            (map.runs(&no_count, &n(1.0)).map(drop), "start"),
            (map.runs(&n(0.0), &no_count).map(drop), "count"),
            (map.records(&no_count, &n(1.0)).map(drop), "start"),
            (map.anchors(&n(0.0), &no_count).map(drop), "count"),
            (map.run(&no_count).map(drop), "run"),
            (map.run_tokens(&no_count).map(drop), "run"),
            (map.find_tokens(&ids, &no_count).map(drop), "start"),
            (map.exact_answer(&ids, &no_count, &ids).map(drop), "maxNew"),
            (map.track_answer(&no_count, &ids).map(drop), "run"),
            (map.draft_tree(&ids, &no_count).map(drop), "budget"),
            (map.learn_tracks(&ids, &no_count).map(drop), "limit"),
            (map.append_session(&ids, &no_count).map(drop), "genStart"),
            (map.append_track(&ids, &ids, &"".into(), &no_count).map(drop), "minCopy"),
            (map.append_use(&ids, &no_count).map(drop), "hits"),
        ] {
            let (kind, text) = fault(result);
            assert!(kind == "invalid-argument" && text.starts_with(name), "{name}: {kind}: {text}");
        }
    }
    for no_tokens in
        [JsValue::UNDEFINED, object("[1,2]"), bytes(&[1]), "1".into(), js_sys::Int32Array::new_with_length(1).into()]
    {
        for (result, name) in [
            (prefix_hash(&no_tokens).map(drop), "context"),
            (map.locate(&no_tokens).map(drop), "context"),
            (map.exact_answer(&no_tokens, &n(1.0), &ids).map(drop), "context"),
            (map.exact_answer(&ids, &n(1.0), &no_tokens).map(drop), "stop"),
            (map.find_tokens(&no_tokens, &n(0.0)).map(drop), "needle"),
            (map.track_answer(&n(0.0), &no_tokens).map(drop), "context"),
            (map.append_session(&no_tokens, &n(0.0)).map(drop), "tokens"),
            (map.append_track(&ids, &no_tokens, &"".into(), &JsValue::UNDEFINED).map(drop), "answer"),
        ] {
            let (kind, text) = fault(result);
            assert!(kind == "invalid-argument" && text.starts_with(name), "{name}: {kind}: {text}");
        }
    }
    for (result, part) in [
        (map.append_session(&ids, &n(3.0)).map(drop), "token 3"),
        (map.append_use(&ids, &n(4_294_967_296.0)).map(drop), "hits"),
        (map.append_track(&ids, &ids, &n(1.0), &JsValue::UNDEFINED).map(drop), "source"),
        (map.append_track(&ids, &ids, &"".into(), &n(0.0)).map(drop), ""),
        (MrailMap::merge(&bytes(CODING)).map(drop), "maps"),
        (MrailMap::merge(&Array::of1(&n(1.0))).map(drop), "maps[0]"),
    ] {
        let (kind, text) = fault(result);
        assert!(kind == "invalid-argument" && text.contains(part), "{part}: {kind}: {text}");
    }
    let long = "x".repeat(65_536);
    assert_eq!(fault(map.append_track(&ids, &ids, &long.into(), &JsValue::UNDEFINED)).0, "too-large");
    assert_eq!(number(&map.info(), "runs"), 198, "nothing was added");
}

#[wasm_bindgen_test]
fn a_getter_that_throws_is_an_error_like_others() {
    let thrower = js_sys::Object::new();
    let getter = js_sys::Reflect::get(&js_sys::global(), &"JSON".into()).unwrap();
    let property = object("{}");
    // JSON.parse of nothing throws.
    js_sys::Reflect::set(&property, &"get".into(), &get(&getter, "parse")).unwrap();
    js_sys::Object::define_property(&thrower, &"trusted".into(), property.unchecked_ref());
    let (kind, text) = fault(MrailMap::open(&bytes(CODING), &thrower));
    assert_eq!((kind.as_str(), text.as_str()), ("invalid-argument", "options.trusted cannot be read"));
}

#[wasm_bindgen_test]
fn results_outlive_the_growth_of_memory_and_the_map() {
    let mut map = open(CODING);
    let (context, answered) = run(&map, 3);
    let found = map.exact_answer(&words(&context), &n(99.0), &words(&[])).unwrap().unwrap();
    let tree = map.draft_tree(&words(&context), &n(31.0)).unwrap();
    let file = map.append_session(&words(&[1, 2, 3]), &n(1.0)).unwrap();
    let held = (tokens(&tree, "tokens"), Uint8Array::from(get(&file, "bytes")).to_vec());
    let before = core::arch::wasm32::memory_size(0);
    let ballast: Vec<Vec<u8>> = (0..64).map(|i| vec![i; 1 << 20]).collect();
    assert!(core::arch::wasm32::memory_size(0) > before, "memory has grown");
    drop(map);
    assert_eq!(tokens(&found, "tokens"), answered);
    assert_eq!((tokens(&tree, "tokens"), Uint8Array::from(get(&file, "bytes")).to_vec()), held);
    assert_eq!(ballast.len(), 64);
}

#[wasm_bindgen_test]
fn memory_is_flat_from_the_third_map_on() {
    let mut pages = Vec::new();
    for _ in 0..50 {
        let mut map = open(CODING);
        let (context, _) = run(&map, 7);
        assert!(answer(&map, &context).is_some());
        map.draft_tree(&words(&context), &n(31.0)).unwrap();
        map.append_session(&words(&context), &n(1.0)).unwrap();
        map.runs(&n(0.0), &n(200.0)).unwrap();
        drop(map);
        pages.push(core::arch::wasm32::memory_size(0));
    }
    assert!(pages[2..].iter().all(|now| *now == pages[2]), "{pages:?}");
}

/// Does what a host does to a file.
fn write(file: &mut Vec<u8>, write: &impl AsRef<JsValue>) {
    file.truncate(number(write, "offset"));
    file.extend(Uint8Array::from(get(write, "bytes")).to_vec());
}

#[wasm_bindgen_test]
fn what_is_appended_is_there_when_the_file_is_opened_again() {
    let context: Vec<u32> = (100..160).collect();
    let answered = [&context[5..25], &[7, 8]].concat();
    for start in [CODING, data!("maps/torn_payload.mrail"), data!("maps/empty.mrail")] {
        let mut map = open(start);
        let mut file = start.to_vec();
        let first = number(&map.info(), "runs");
        let session = map.append_session(&words(&[1, 2, 3, 4]), &n(2.0)).unwrap();
        assert_eq!(number(&session, "run"), first);
        assert_eq!(string(&map.info(), "tail"), "none");
        write(&mut file, &session);
        let track = map.append_track(&words(&context), &words(&answered), &"päge".into(), &JsValue::UNDEFINED).unwrap();
        assert_eq!(number(&track, "run"), first + 1);
        write(&mut file, &track);
        let uses = map.append_use(&words(&[1, 2]), &n(3.0)).unwrap();
        assert!(get(&uses, "run").is_undefined());
        write(&mut file, &uses);
        assert_eq!(file, map.bytes());
        assert_eq!(number(&map.info(), "validLength"), file.len());
        for map in [&map, &open(&file)] {
            assert_eq!(answer(map, &[1, 2]).unwrap(), [3, 4]);
            assert_eq!(answer(map, &context).unwrap(), answered);
            assert_eq!(answer(map, &[&context[..], &answered[..20]].concat()).unwrap(), [7, 8], "through the track");
            let infos = map.runs(&n(first as f64), &n(9.0)).unwrap();
            let told = |of: usize, key| number(&infos[of], key);
            assert_eq!((told(0, "contextLength"), told(0, "answerLength"), told(0, "uses")), (2, 2, 3));
            assert_eq!((told(1, "contextLength"), told(1, "answerLength"), told(1, "uses")), (60, 22, 0));
            assert_eq!((string(&infos[1], "kind"), string(&infos[1], "source")), ("track".into(), "päge".into()));
            assert_eq!(told(0, "offset"), number(&session, "offset"));
            assert_eq!(told(1, "offset"), number(&track, "offset"));
        }
    }
}

#[wasm_bindgen_test]
fn a_new_map_starts_as_its_bytes() {
    let mut map = MrailMap::create();
    let mut file = map.bytes();
    assert_eq!((file.len(), number(&map.info(), "byteLength")), (8, 8));
    write(&mut file, &map.append_session(&words(&[5, 6]), &n(1.0)).unwrap());
    assert_eq!(answer(&open(&file), &[5]).unwrap(), [6]);
}

#[wasm_bindgen_test]
fn merged_maps_answer_what_each_answered() {
    let file = MrailMap::merge(&Array::of3(&bytes(CODING), &bytes(GENERAL), &bytes(CODING))).unwrap();
    let (map, coding, general) = (open(&file), open(CODING), open(GENERAL));
    let count = |map: &MrailMap, key| number(&map.info(), key);
    assert_eq!(count(&map, "runs"), count(&coding, "runs") + count(&general, "runs"));
    assert_eq!(count(&map, "uses"), count(&general, "uses"));
    for (one, runs) in [(&coding, 198), (&general, 40)] {
        for of in 0..runs {
            let (context, _) = run(one, of);
            assert_eq!(answer(&map, &context), answer(one, &context), "run {of}");
        }
    }
    assert_eq!(MrailMap::merge(&Array::new()).unwrap().len(), 8);
}

/// The tokens that tracks' contexts are taken from: a gzip file of 16-bit integers.
fn corpus() -> Vec<u32> {
    let file: &[u8] = data!("corpus/corpus.u16.gz");
    assert_eq!(file[..3], [0x1F, 0x8B, 8]);
    let header = if file[3] == 8 { 10 + file[10..].iter().position(|byte| *byte == 0).unwrap() + 1 } else { 10 };
    let content = miniz_oxide::inflate::decompress_to_vec(&file[header..file.len() - 8]).unwrap();
    content.as_chunks().0.iter().map(|pair| u32::from(u16::from_le_bytes(*pair))).collect()
}

#[wasm_bindgen_test]
fn tracks_are_answered_against_real_contexts() {
    let corpus = corpus();
    let vectors: serde_json::Value = serde_json::from_slice(data!("vectors/tracks.json")).unwrap();
    let list = |value: &serde_json::Value| serde_json::from_value::<Vec<u32>>(value.clone()).unwrap();
    let mut map = open(TRACKS);
    // Contexts of 21k to 27k tokens.
    for track in &vectors["tracks"].as_array().unwrap()[..3] {
        let of = track["sid"].as_u64().unwrap() as usize;
        let stretch = list(&track["ctx"][0]["c"]);
        let (from, len) = (stretch[0] as usize, stretch[1] as usize);
        let context = [&corpus[from..from + len], &list(&track["ctx"][1]["t"])].concat();
        let answered = list(&track["answer"]);
        assert!(context.len() > 21_000 && answered.len() > 9);
        assert_eq!(map.track_answer(&n(of as f64), &words(&context)).unwrap(), answered);
        assert_eq!(answer(&map, &context).unwrap(), answered);
        let into = [&context[..], &answered[..9]].concat();
        assert_eq!(answer(&map, &into).unwrap(), answered[9..]);
        let strict = open_with(TRACKS, r#"{"trusted":true,"throughTracks":false}"#);
        assert_eq!(answer(&strict, &into), None);
        let info = map.run(&n(of as f64)).unwrap().unwrap();
        assert_eq!((number(&info, "contextLength"), number(&info, "answerLength")), (context.len(), answered.len()));
        assert!(map.run_tokens(&n(of as f64)).unwrap().is_none(), "its tokens are elsewhere");

        let mut other = context.clone();
        other[5] ^= 1;
        for wrong in [&other[..], &context[1..]] {
            assert_eq!(fault(map.track_answer(&n(of as f64), &words(wrong))).0, "wrong-context");
            assert_eq!(answer(&map, wrong), None);
        }
        let learnt = |map: &mut MrailMap| map.learn_tracks(&words(&context), &JsValue::UNDEFINED).unwrap();
        assert_eq!((learnt(&mut map), learnt(&mut map)), (1, 0));
        let drafted = map.draft_tree(&words(&context), &n(1.0)).unwrap();
        assert_eq!(tokens(&drafted, "tokens"), answered[..1]);
    }
    assert_eq!(fault(map.track_answer(&n(99_999.0), &words(&[1]))).0, "track");
    assert_eq!(fault(open(CODING).track_answer(&n(0.0), &words(&[1]))).0, "track");
}

/// A few bytes of a hostile map must not become gigabytes.
#[wasm_bindgen_test]
fn an_answer_that_no_memory_holds_is_refused_or_cut() {
    let context = vec![7; 65_535];
    let mut payload = Vec::new();
    payload.extend(65_535u32.to_le_bytes());
    payload.extend(mrail::PrefixHash::of(&context).0);
    payload.extend([0, 0]);
    payload.extend(40_000u32.to_le_bytes());
    payload.extend([1, 0, 0, 0, 0, 0xFF, 0xFF].repeat(40_000));
    let mut file = [&b"MRAIL\x03\0\0\x05"[..], &(payload.len() as u32).to_le_bytes()].concat();
    file.extend(payload);
    let map = open(&file);
    assert_eq!(fault(map.track_answer(&n(0.0), &words(&context))).0, "too-large");
    assert_eq!(answer(&map, &context).unwrap().len(), 1 << 24);
    assert_eq!(get(&map.run(&n(0.0)).unwrap().unwrap(), "answerLength").as_f64(), Some(40_000.0 * 65_535.0));
}

type Page<'m> = &'m dyn Fn(usize, usize) -> Vec<mrail_wasm::Plain>;

#[wasm_bindgen_test]
fn lists_come_in_pages() {
    let map = open(ANCHORS);
    let at = |start: usize, count: usize| (n(start as f64), n(count as f64));
    let runs = |start, count| map.runs(&at(start, count).0, &at(start, count).1).unwrap();
    let records = |start, count| map.records(&at(start, count).0, &at(start, count).1).unwrap();
    let anchors = |start, count| map.anchors(&at(start, count).0, &at(start, count).1).unwrap();
    for (page, total) in [(&runs as Page<'_>, 16), (&records, 132), (&anchors, 83)] {
        let offsets = |page: Vec<_>| page.iter().map(|entry| number(entry, "offset")).collect::<Vec<_>>();
        let whole = offsets(page(0, usize::MAX));
        assert_eq!(whole.len(), total);
        assert!(whole.is_sorted());
        let paged: Vec<usize> = (0..total).step_by(7).flat_map(|start| offsets(page(start, 7))).collect();
        assert_eq!(paged, whole);
        assert!(page(total, 5).is_empty() && page(3, 0).is_empty());
    }
    let delta = anchors(0, 99).into_iter().find(|anchor| !get(anchor, "parent").is_undefined()).unwrap();
    assert_eq!((string(&delta, "hash").len(), string(&delta, "parent").len()), (16, 16));
    assert!(number(&delta, "position") > 0 && number(&delta, "byteLength") > 29);
    // Of several records of a hash the first counts, here as in the reference.
    let twice = open(data!("maps/dup_anchor.mrail"));
    assert_eq!(twice.anchors(&n(0.0), &n(9.0)).unwrap().len(), 4);
    assert_eq!(twice.records(&n(0.0), &n(9.0)).unwrap().len(), 6);
    assert!(map.run(&n(16.0)).unwrap().is_none() && map.run_tokens(&n(16.0)).unwrap().is_none());
}

#[wasm_bindgen_test]
fn what_is_handed_out_is_plain_data() {
    let map = open(ANCHORS);
    let located = map.locate(&words(&run(&map, 0).0)).unwrap();
    let anchor = get(&located, "anchor");
    assert_eq!(string(&anchor, "hash").len(), 16);
    assert!(number(&anchor, "position") <= number(&located, "lcp"));
    for object in [map.info(), located] {
        let prototype = js_sys::Object::get_prototype_of(object.as_ref());
        assert!(js_sys::Object::is(&prototype, &js_sys::Object::get_prototype_of(&js_sys::Object::new())));
    }
}

/// `types.d.ts` is written by hand, so it could promise what is not there.
#[wasm_bindgen_test]
fn the_class_has_every_method_that_its_type_declares() {
    let types = include_str!("../src/types.d.ts");
    let (_, class) = types.split_once("export class MrailMap {").unwrap();
    let (class, _) = class.split_once("\n}").unwrap();
    let map = JsValue::from(open(CODING));
    let constructor = get(&map, "constructor");
    let mut found = 0;
    for line in class.lines().map(str::trim).filter(|line| !line.starts_with(['/', '*', '['])) {
        let (owner, signature) = line.strip_prefix("static ").map_or((&map, line), |rest| (&constructor, rest));
        let Some((name, _)) = signature.split_once('(') else { continue };
        if name != "private constructor" {
            assert!(get(owner, name).is_function(), "{name}");
            found += 1;
        }
    }
    assert_eq!(found, 20);

    let call = |name| get(&map, name).unchecked_into::<js_sys::Function>().call0(&map);
    assert!(call("info").is_ok());
    call("free").unwrap();
    assert!(call("info").unwrap_err().is_instance_of::<js_sys::Error>(), "a map that is gone");
}

#[wasm_bindgen_test]
fn tokens_are_found_in_runs() {
    let mut map = MrailMap::create();
    for of in [&[1, 2, 3, 4][..], &[2, 3], &[9], &[1, 2, 2, 3]] {
        map.append_session(&words(of), &n(0.0)).unwrap();
    }
    let find = |needle: &[u32], start: f64| map.find_tokens(&words(needle), &n(start)).unwrap();
    assert_eq!(
        [find(&[2, 3], 0.0), find(&[2, 3], 1.0), find(&[2, 3], 2.0), find(&[2, 3], 4.0)],
        [Some(0), Some(1), Some(3), None]
    );
    assert_eq!(
        [find(&[3, 4], 0.0), find(&[4, 5], 0.0), find(&[9, 1], 0.0), find(&[9], 0.0)],
        [Some(0), None, None, Some(2)]
    );
    let coding = open(CODING);
    let (context, _) = run(&coding, 150);
    assert!(coding.find_tokens(&words(&context), &n(0.0)).unwrap() <= Some(150));
    assert_eq!(open(TRACKS).find_tokens(&words(&[1_000_000]), &n(0.0)).unwrap(), None);
}

#[wasm_bindgen_test]
fn a_map_that_is_not_trusted_is_described_and_never_answers() {
    for file in [CODING, GENERAL, MIXED, ANCHORS, data!("maps/torn_payload.mrail")] {
        let (trusted, mut map) = (open(file), open_with(file, r#"{"trusted":false}"#));
        let described = |map: &MrailMap| String::from(js_sys::JSON::stringify(map.info().as_ref()).unwrap());
        assert_eq!(described(&map), described(&trusted));
        assert_eq!(map.bytes(), trusted.bytes());
        let runs = number(&map.info(), "runs");
        for of in (0..runs).filter(|of| map.run_tokens(&n(*of as f64)).unwrap().is_some()) {
            let (context, answered) = run(&map, of);
            assert_eq!((&context, &answered), (&run(&trusted, of).0, &run(&trusted, of).1));
            for len in [context.len(), context.len() + answered.len() / 2] {
                let asked = &[&context[..], &answered].concat()[..len];
                let located = map.locate(&words(asked)).unwrap();
                assert_eq!(number(&located, "lcp"), len);
                assert!(get(&located, "run").is_undefined() && get(&located, "anchor").is_undefined());
                assert_eq!(answer(&map, asked), None);
            }
        }
        for of in map.runs(&n(0.0), &n(999.0)).unwrap() {
            assert_eq!(get(&of, "foreign").as_bool(), Some(true));
        }
        assert_eq!(fault(map.append_session(&words(&[1, 2]), &n(1.0))).0, "invalid-argument");
        assert_eq!(fault(map.append_use(&words(&[1, 2]), &n(1.0))).0, "invalid-argument");
    }
    let mut map = open_with(CODING, r#"{"trusted":false}"#);
    let (context, _) = run(&map, 0);
    let drafted = map.draft_tree(&words(&context), &n(9.0)).unwrap();
    assert_eq!(tokens(&drafted, "tokens").len(), 9);
    assert_eq!(get(&drafted, "parents").unchecked_into::<js_sys::Int32Array>().get_index(0), -1);
}

#[wasm_bindgen_test]
fn foreign_maps_draft_beside_an_own_one_and_never_answer() {
    let options = object(r#"{"trusted":true}"#);
    let foreign = object("{\"limit\":5}");
    js_sys::Reflect::set(&foreign, &"bytes".into(), &bytes(CODING)).unwrap();
    js_sys::Reflect::set(&options, &"foreign".into(), &Array::of1(&foreign)).unwrap();
    let mut map = MrailMap::open(&bytes(GENERAL), &options).unwrap();
    let info = map.info();
    assert_eq!((number(&info, "runs"), number(&info, "foreignRuns"), number(&info, "sessions")), (45, 5, 45));
    assert_eq!(number(&info, "byteLength"), GENERAL.len());
    let coding = open(CODING);
    for of in 0..5 {
        let (context, _) = run(&coding, of);
        assert_eq!(answer(&map, &context), None);
        let located = map.locate(&words(&context)).unwrap();
        assert_eq!(number(&located, "lcp"), context.len());
        assert!(get(&located, "run").is_undefined());
        assert_eq!(tokens(&map.draft_tree(&words(&context), &n(4.0)).unwrap(), "tokens").len(), 4);
        assert_eq!(get(&map.run(&n(of as f64)).unwrap().unwrap(), "foreign").as_bool(), Some(true));
    }
    let general = open(GENERAL);
    for of in 0..40 {
        let (context, _) = run(&general, of);
        assert_eq!(answer(&map, &context), answer(&general, &context));
    }
    // What is appended goes behind the own file, whatever stands in front of it in the numbering.
    let added = map.append_session(&words(&[1, 2, 3]), &n(1.0)).unwrap();
    assert_eq!((number(&added, "run"), number(&added, "offset")), (45, GENERAL.len()));
}

#[wasm_bindgen_test]
fn limits_and_strides_are_passed_on() {
    let map = open_with(CODING, r#"{"trusted":true,"limit":3,"stride":16,"railPrompts":false,"nmax":3}"#);
    assert_eq!(number(&map.info(), "runs"), 3);
    let (context, _) = run(&map, 0);
    let located = map.locate(&words(&context[..39])).unwrap();
    assert_eq!((number(&located, "lcp"), number(&located, "shared")), (32, 39));
    // As good as no limit.
    assert_eq!(number(&open_with(CODING, r#"{"trusted":true,"limit":9007199254740991}"#).info(), "runs"), 198);
}

#[wasm_bindgen_test]
fn arrays_may_be_parts_of_larger_buffers() {
    let whole = Uint8Array::new_with_length(CODING.len() as u32 + 7);
    let part = whole.subarray(3, CODING.len() as u32 + 3);
    part.copy_from(CODING);
    let map = MrailMap::open(&part, &object(r#"{"trusted":true}"#)).unwrap();
    let (context, answered) = run(&map, 9);
    let whole = Uint32Array::new_with_length(context.len() as u32 + 2);
    let part = whole.subarray(1, context.len() as u32 + 1);
    part.copy_from(&context);
    let found = map.exact_answer(&part, &n(999.0), &words(&[])).unwrap().unwrap();
    assert_eq!(tokens(&found, "tokens"), answered);
}
