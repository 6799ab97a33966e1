//! Power is cut everywhere, and nothing acknowledged may be missing afterwards, nothing torn may be there.

use super::layout::{BUFFER, Shape, begin, header, seal_header};
use super::mock::{Mock, MockError, TEARS, Tear};
use super::*;
use crate::map::{Map, Options};
use crate::record::Records;
use crate::run::Session;
use crate::tail::Tail;
use crate::usage::Use;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

/// One appended record, as the model keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Grown {
    Run { sid: u32, tokens: Vec<u32>, gen_start: u32 },
    Use { prefix: PrefixHash, hits: u32 },
}

impl Grown {
    fn run(tokens: &[u32], gen_start: u32) -> Self {
        Self::Run { sid: 7, tokens: tokens.to_vec(), gen_start }
    }

    fn used(hits: u32) -> Self {
        Self::Use { prefix: PrefixHash::of(&[hits]), hits }
    }

    fn parse(kind: u8, payload: &[u8]) -> Self {
        match kind {
            SESSION => {
                let Session { sid, gen_start, tokens } = Session::parse(payload).unwrap();
                Self::Run { sid, tokens: tokens.iter().collect(), gen_start }
            }
            USE => {
                let Use { hash, hits } = Use::parse(payload).unwrap();
                Self::Use { prefix: hash, hits }
            }
            _ => panic!("kind {kind}"),
        }
    }

    fn append<F: NorFlash>(&self, region: &mut AppendRegion<F>) -> Result<(), Error<F::Error>> {
        match self {
            Self::Run { sid, tokens, gen_start } => region.append_session(*sid, tokens.iter().copied(), *gen_start),
            Self::Use { prefix, hits } => region.append_use(*prefix, *hits),
        }
    }

    fn size<F: NorFlash>(&self) -> u64 {
        match self {
            Self::Run { tokens, .. } => AppendRegion::<F>::session_size(tokens.len() as u32),
            Self::Use { .. } => AppendRegion::<F>::use_size(),
        }
    }
}

type Region<'f, const W: usize, const R: usize, const S: usize> = AppendRegion<&'f mut Mock<W, R, S>>;

/// The region leaves one erase unit free before it and one behind.
fn range<const W: usize, const R: usize, const S: usize>(mock: &Mock<W, R, S>) -> Range<u32> {
    S as u32..(mock.bytes.len() - S) as u32
}

fn open<const W: usize, const R: usize, const S: usize>(mock: &mut Mock<W, R, S>) -> Region<'_, W, R, S> {
    let range = range(mock);
    AppendRegion::open(mock, range).unwrap()
}

fn formatted<const W: usize, const R: usize, const S: usize>(units: usize) -> Mock<W, R, S> {
    let mut mock = Mock::new(units + 2);
    let range = range(&mock);
    AppendRegion::format(&mut mock, range).unwrap();
    mock
}

fn read_all<F: NorFlash<Error = MockError>>(region: &mut AppendRegion<F>) -> Vec<Grown> {
    let mut grown = Vec::new();
    let mut records = region.records();
    while let Some(mut record) = records.next().unwrap() {
        let mut payload = Vec::new();
        while payload.len() < record.len() as usize {
            payload.extend_from_slice(record.read(payload.len() as u32, &mut [0; 7]).unwrap());
        }
        grown.push(Grown::parse(record.kind(), &payload));
    }
    grown
}

/// The records that any reader knows.
fn known(bytes: &[u8]) -> Vec<Grown> {
    let known = Records::new(bytes).unwrap().filter(|record| record.kind < HEAD);
    known.map(|record| Grown::parse(record.kind, record.payload)).collect()
}

/// What any reader finds in a whole map.
fn read_map(bytes: &[u8]) -> Vec<Grown> {
    let map = Map::open(bytes.to_vec(), Options::default()).unwrap();
    assert_eq!((map.tail(), map.problem_count()), (Tail::None, 0));
    let grown = known(bytes);
    let mut runs = 0;
    for record in &grown {
        match record {
            Grown::Run { .. } => runs += 1,
            Grown::Use { prefix, .. } => {
                let all = grown.iter().map(|other| match other {
                    Grown::Use { prefix: same, hits } if same == prefix => u64::from(*hits),
                    _ => 0,
                });
                assert_eq!(map.uses(*prefix), all.sum::<u64>());
            }
        }
    }
    assert_eq!(map.len(), runs);
    grown
}

/// Opens the region and looks at it from all sides. What reads as erased must not have been written.
fn check<const W: usize, const R: usize, const S: usize>(mock: &mut Mock<W, R, S>) -> Vec<Grown> {
    let range = range(mock);
    let mut region = open(mock);
    let grown = read_all(&mut region);
    assert_eq!(region.len() as usize, grown.len());
    let mut file = Vec::new();
    let len = region.read_out(|piece| file.extend_from_slice(piece)).unwrap();
    assert_eq!(len as usize, file.len());
    assert_eq!(read_map(&file), grown, "read out");
    let plain: usize = file.len() - MAGIC.len();
    let payloads: usize = grown
        .iter()
        .map(|record| if let Grown::Run { tokens, .. } = record { 17 + 4 * tokens.len() } else { 17 })
        .sum();
    assert_eq!(plain, payloads, "nothing but the records");

    let (valid, hidden, used) = (region.valid_len() as usize, region.hidden() as usize, region.used());
    assert!(valid as u32 <= used && used <= range.len() as u32);
    let mapped = &mock.bytes[range.start as usize..range.end as usize];
    assert_eq!(read_map(&mapped[..valid]), grown[..grown.len() - hidden], "as it lies");
    if valid == used as usize {
        let all = Map::open(mapped.to_vec(), Options::default()).unwrap();
        assert_eq!((hidden, all.tail().len()), (0, mapped.len() - valid), "the erased rest is a tail");
    }
    assert_eq!((mock.misuse, mock.first_written_ones()), (None, None));
    grown
}

/// Appends until power goes. Returns what was acknowledged, and how many of `list`.
fn append_until_cut<const W: usize, const R: usize, const S: usize>(mock: &mut Mock<W, R, S>, list: &[Grown]) -> usize {
    let range = range(mock);
    let mut region = match AppendRegion::open(&mut *mock, range) {
        Ok(region) => region,
        Err(Error::Flash(MockError::PowerCut)) => return 0,
        Err(error) => panic!("{error}"),
    };
    for (at, record) in list.iter().enumerate() {
        match record.append(&mut region) {
            Ok(()) => {}
            Err(Error::Flash(MockError::PowerCut)) => return at,
            Err(error) => panic!("{error}"),
        }
    }
    list.len()
}

/// After a cut: all that was acknowledged, and perhaps the one that was under way. Returns how many are there.
fn check_after_cut<const W: usize, const R: usize, const S: usize>(
    mock: &mut Mock<W, R, S>,
    list: &[Grown],
    acknowledged: usize,
) -> usize {
    mock.power_on();
    let grown = check(mock);
    assert!(grown.len() == acknowledged || grown.len() == acknowledged + 1, "{acknowledged}: {grown:?}");
    assert_eq!(grown, list[..grown.len()]);
    grown.len()
}

/// Bytes of a frame that is whole and committed, as tokens: what a reader that searches would fall for.
fn disguised<F: NorFlash>() -> Vec<u32> {
    let payload = [9u32, 1, 0, 666].map(u32::to_le_bytes).concat();
    let sealed = F::sealed_len(16).unwrap();
    let mut record = [&header(SESSION, 16)[..], &payload].concat();
    let mut crc = layout::Crc::START;
    crc.update(&record);
    record.extend(seal_header(16, sealed));
    record.extend(crc.value().to_le_bytes());
    record.resize(sealed as usize, 0xFF);
    let mut frame = begin(16, F::BEGIN_LEN).to_vec();
    frame.resize(F::BEGIN_LEN, 0xFF);
    frame.extend(record);
    // Where it would begin at a word's border: the payload starts 17 bytes behind one.
    let skew = (2 * F::WORD).max(32) - 17;
    let mut bytes = vec![0xFF; skew % F::WORD.max(4)];
    bytes.extend(&frame);
    bytes.resize(bytes.len().next_multiple_of(4), 0xFF);
    bytes.chunks(4).map(|word| u32::from_le_bytes(*word.first_chunk().unwrap())).collect()
}

fn short_list<F: NorFlash>() -> Vec<Grown> {
    vec![
        Grown::run(&[1, 9690, 198, 520, u32::MAX, 2], 3),
        Grown::used(3),
        Grown::run(&disguised::<F>(), 0),
        Grown::run(&[], 0),
    ]
}

/// Cuts the power after every byte, with every kind of tear, and goes on. After each of these cuts, with one kind of tear
/// each, it cuts again all through the append that closes what the first cut left.
fn every_cut<const W: usize, const R: usize, const S: usize>(units: usize) {
    let list = short_list::<Mock<W, R, S>>();
    let empty = formatted::<W, R, S>(units);
    let mut whole = empty.clone();
    assert_eq!(append_until_cut(&mut whole, &list), list.len());
    assert_eq!(check(&mut whole), list);
    assert_eq!(open(&mut whole).hidden(), 0);
    let total = whole.spent - empty.spent;
    let (mut single, mut double, mut hidden) = (0, 0, 0);
    for cut in 0..total {
        for (kind, tear) in TEARS.into_iter().enumerate() {
            let mut mock = empty.clone();
            mock.cut_after(cut, tear, (10 * cut + kind) as u64);
            let acknowledged = append_until_cut(&mut mock, &list);
            let there = check_after_cut(&mut mock, &list, acknowledged);
            let clean = matches!(tear, Tear::Old | Tear::New);
            if clean {
                // Between two words: what is not committed shows to nobody, not even to one who reads all bytes.
                let mapped = &mock.bytes[S..mock.bytes.len() - S];
                assert_eq!(Map::open(mapped.to_vec(), Options::default()).unwrap().problem_count(), 0);
                assert_eq!(known(mapped), list[..there]);
            }
            let rest = &list[there..];
            let mut once = mock.clone();
            let next = rest.len().min(1);
            assert_eq!(append_until_cut(&mut once, &rest[..next]), next);
            let cost = once.spent - mock.spent;
            assert_eq!(append_until_cut(&mut once, &rest[next..]), rest.len() - next);
            assert_eq!(check(&mut once), list);
            let hides = open(&mut once).hidden() > 0;
            assert!(!(clean && hides), "closed, at {cut}");
            hidden += usize::from(hides);
            single += 1;
            if kind != cut % TEARS.len() {
                continue;
            }
            let step = W.div_ceil(4);
            for again in (cut % step..cost).step_by(step) {
                let mut mock = mock.clone();
                mock.cut_after(again, TEARS[(again + cut) % TEARS.len()], again as u64);
                let acknowledged = append_until_cut(&mut mock, rest);
                let there = check_after_cut(&mut mock, &list, there + acknowledged);
                assert_eq!(append_until_cut(&mut mock, &list[there..]), list.len() - there);
                assert_eq!(read_all(&mut open(&mut mock)), list);
                double += 1;
            }
        }
    }
    std::println!("words of {W}: {total} bytes, {single} cuts ({hidden} hide records), {double} pairs of cuts");
}

extern crate std;

#[test]
fn every_cut_words_of_1() {
    every_cut::<1, 1, 64>(24);
}

#[test]
fn every_cut_words_of_2() {
    every_cut::<2, 2, 32>(48);
}

#[test]
fn every_cut_words_of_4() {
    every_cut::<4, 4, 128>(12);
}

#[test]
fn every_cut_words_of_8() {
    every_cut::<8, 1, 256>(6);
}

#[test]
fn every_cut_words_of_16() {
    every_cut::<16, 8, 64>(32);
}

#[test]
fn every_cut_words_of_32() {
    every_cut::<32, 32, 128>(24);
}

#[test]
fn every_cut_words_of_3_and_of_64() {
    every_cut::<3, 1, 48>(40);
    every_cut::<64, 4, 256>(24);
}

/// Cuts inside `format`: a region that is refused, or old records that are whole.
fn every_cut_of_format<const W: usize, const R: usize, const S: usize>(units: usize) {
    let list = short_list::<Mock<W, R, S>>();
    let mut old = formatted::<W, R, S>(units);
    append_until_cut(&mut old, &list);
    let (before, range) = (old.spent, range(&old));
    let mut new = old.clone();
    AppendRegion::format(&mut new, range.clone()).unwrap();
    for cut in 0..new.spent - before {
        for (seed, tear) in (0..).zip(TEARS) {
            let mut mock = old.clone();
            mock.cut_after(cut, tear, seed * 1000 + cut as u64);
            let error = AppendRegion::format(&mut mock, range.clone()).unwrap_err();
            assert_eq!(error, Error::Flash(MockError::PowerCut));
            mock.power_on();
            match AppendRegion::open(&mut mock, range.clone()) {
                Ok(mut region) => {
                    let mut rest = list.iter();
                    assert!(cut < S || region.is_empty(), "the head goes first");
                    assert!(read_all(&mut region).iter().all(|record| rest.any(|old| old == record)));
                    match Grown::run(&[5; 40], 1).append(&mut region) {
                        Ok(()) => assert_eq!(read_all(&mut region).pop(), Some(Grown::run(&[5; 40], 1))),
                        Err(error) => assert!(matches!(error, Error::Full { .. } | Error::NotErased { .. }), "{error}"),
                    }
                }
                Err(Error::Erased | Error::NotARegion { .. }) => {}
                // A head cut inside its last word.
                Err(Error::OtherWord { .. } | Error::OtherVersion { .. }) if !matches!(tear, Tear::Old | Tear::New) => {
                }
                Err(error) => panic!("{error} after a cut at {cut}, {tear:?}"),
            }
            assert_eq!(mock.misuse, None);
            AppendRegion::format(&mut mock, range.clone()).unwrap();
            assert_eq!(append_until_cut(&mut mock, &list), list.len());
            assert_eq!(check(&mut mock), list);
        }
    }
}

#[test]
fn an_interrupted_format_loses_only_what_it_was_to_lose() {
    every_cut_of_format::<1, 1, 64>(8);
    every_cut_of_format::<4, 4, 64>(8);
    every_cut_of_format::<8, 1, 256>(2);
    every_cut_of_format::<32, 32, 64>(14);
}

#[derive(Clone, Debug)]
enum Step {
    Append(Grown),
    Reopen,
    ReadOut,
    Format,
}

/// After how many bytes, which tear, and a seed.
type Cut = (usize, usize, u64);

fn steps() -> impl Strategy<Value = Vec<(Step, Option<Cut>)>> {
    let token = prop_oneof![Just(u32::MAX), Just(0), any::<u32>()];
    let run = (any::<u32>(), prop::collection::vec(token, 0..60), any::<prop::sample::Index>()).prop_map(
        |(sid, tokens, index)| {
            let gen_start = index.index(tokens.len() + 1) as u32;
            Grown::Run { sid, tokens, gen_start }
        },
    );
    let used = (0u32..4, any::<u32>()).prop_map(|(of, hits)| Grown::Use { prefix: PrefixHash::of(&[of]), hits });
    let step = prop_oneof![
        6 => run.prop_map(Step::Append),
        4 => used.prop_map(Step::Append),
        1 => Just(Step::Reopen),
        1 => Just(Step::ReadOut),
        1 => Just(Step::Format),
    ];
    let cut = prop::option::weighted(0.5, (0usize..300, 0..TEARS.len(), any::<u64>()));
    prop::collection::vec((step, cut), 1..40)
}

/// Runs the list on a flash and on a model: the list of what was acknowledged.
fn against_the_model<const W: usize, const R: usize, const S: usize>(units: usize, list: &[(Step, Option<Cut>)]) {
    let mut mock = formatted::<W, R, S>(units);
    let range = range(&mock);
    let mut model: Vec<Grown> = Vec::new();
    let mut image = mock.clone();
    let mut region = open(&mut image);
    for (step, cut) in list {
        match step {
            Step::Append(record) => {
                let (free, needed) = (region.free(), record.size::<Mock<W, R, S>>());
                // A cut goes through a fresh opening, so that the flash can be told about it.
                if let Some((after, tear, seed)) = cut {
                    mock = image.clone();
                    mock.cut_after(*after, TEARS[*tear], *seed);
                    let mut cut = AppendRegion::open(&mut mock, range.clone()).unwrap();
                    let result = record.append(&mut cut);
                    mock.power_on();
                    let before = model.len();
                    match result {
                        Ok(()) => model.push(record.clone()),
                        Err(Error::Flash(MockError::PowerCut)) => {
                            if read_all(&mut open(&mut mock)).len() > before {
                                model.push(record.clone());
                            }
                        }
                        Err(error) => assert_eq!(error, Error::Full { needed, free }),
                    }
                    image = mock.clone();
                    assert_eq!(check(&mut image), model);
                    region = open(&mut image);
                } else {
                    match record.append(&mut region) {
                        Ok(()) => {
                            assert!(needed <= u64::from(free));
                            assert_eq!(u64::from(free - region.free()), needed);
                            model.push(record.clone());
                        }
                        Err(error) => {
                            assert!(needed > u64::from(free));
                            assert_eq!(error, Error::Full { needed, free });
                        }
                    }
                }
            }
            Step::Reopen => {
                let (used, hidden, valid) = (region.used(), region.hidden(), region.valid_len());
                region = open(&mut image);
                assert_eq!((region.used(), region.hidden(), region.valid_len()), (used, hidden, valid));
            }
            Step::ReadOut => {
                let mut file = Vec::new();
                region.read_out(|piece| file.extend_from_slice(piece)).unwrap();
                assert_eq!(read_map(&file), model);
            }
            Step::Format => {
                if let Some((after, tear, seed)) = cut {
                    image.cut_after(*after * 8, TEARS[*tear], *seed);
                    let result = AppendRegion::format(&mut image, range.clone());
                    assert!(matches!(result, Ok(_) | Err(Error::Flash(MockError::PowerCut))));
                    image.power_on();
                }
                region = AppendRegion::format(&mut image, range.clone()).unwrap();
                model.clear();
            }
        }
        assert_eq!(region.len() as usize, model.len());
    }
    assert_eq!(check(&mut image), model);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_list_of_operations_keeps_what_it_acknowledged(list in steps(), shape in 0..6) {
        match shape {
            0 => against_the_model::<1, 1, 64>(20, &list),
            1 => against_the_model::<2, 4, 128>(10, &list),
            2 => against_the_model::<4, 1, 128>(12, &list),
            3 => against_the_model::<8, 8, 256>(8, &list),
            4 => against_the_model::<16, 1, 512>(6, &list),
            _ => against_the_model::<32, 32, 256>(12, &list),
        }
    }

    /// Any bytes behind a good head: opening ends, and nothing is written where something is.
    #[test]
    fn any_bytes_are_safe(
        noise in prop::collection::vec(prop_oneof![3 => any::<u8>(), 2 => Just(0xFF), 1 => 0xF0u8..0xF4], 0..700),
        at in 16usize..80,
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0usize..8), 0..6),
    ) {
        any_bytes::<1, 1, 64>(&noise, at, &flips);
        any_bytes::<4, 4, 64>(&noise, at, &flips);
        any_bytes::<32, 1, 64>(&noise, at, &flips);
    }
}

fn any_bytes<const W: usize, const R: usize, const S: usize>(
    noise: &[u8],
    at: usize,
    flips: &[(prop::sample::Index, usize)],
) {
    let mut mock = formatted::<W, R, S>(16);
    append_until_cut(&mut mock, &short_list::<Mock<W, R, S>>()[..2]);
    let mut bytes = mock.bytes;
    let place = S + at.max(W)..(S + at.max(W) + noise.len()).min(17 * S);
    let len = place.len();
    bytes[place].copy_from_slice(&noise[..len]);
    for (index, bit) in flips {
        let at = S + 16 + index.index(15 * S);
        bytes[at] ^= 1 << bit;
    }
    let mut mock = Mock::<W, R, S>::holding(bytes);
    let range = range(&mock);
    let Ok(mut region) = AppendRegion::open(&mut mock, range) else { return };
    let (mut records, mut kept) = (region.records(), 0);
    while let Some(record) = records.next().unwrap() {
        assert!(layout::is_content(record.kind()));
        kept += 1;
    }
    for _ in 0..3 {
        match Grown::used(1).append(&mut region) {
            Ok(()) => kept += 1,
            Err(Error::Full { .. } | Error::NotErased { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        assert_eq!(region.len(), kept);
    }
    assert_eq!(mock.misuse, None);
}

#[test]
fn a_cut_that_is_no_header_hides_nothing() {
    // Cut inside the payload: a VOID takes the place, and plain readers see all of it.
    let mut mock = formatted::<8, 1, 256>(4);
    mock.cut_after(60, Tear::Undefined, 1);
    assert_eq!(append_until_cut(&mut mock, &[Grown::run(&[1; 40], 1)]), 0);
    mock.power_on();
    let mut region = open(&mut mock);
    assert_eq!((region.valid_len(), region.used()), (16, 16 + 16 + 192), "magic and HEAD");
    region.append_use(PrefixHash::EMPTY, 5).unwrap();
    assert_eq!((region.hidden(), region.valid_len()), (0, region.used()));
    let kinds: Vec<_> = Records::new(&mock.bytes[256..]).unwrap().map(|record| record.kind).collect();
    assert_eq!(kinds[..6], [HEAD, BEGIN, VOID, BEGIN, USE, SEAL]);
}

#[test]
fn a_cut_header_hides_what_comes_later_from_plain_readers_alone() {
    let mut mock = formatted::<8, 1, 256>(4);
    // A BEGIN is two words here, and the one with its header comes last.
    mock.cut_after(10, Tear::Undefined, 1);
    assert_eq!(append_until_cut(&mut mock, &[Grown::used(1)]), 0);
    mock.power_on();
    let mut region = open(&mut mock);
    region.append_use(PrefixHash::EMPTY, 5).unwrap();
    assert_eq!((region.hidden(), region.valid_len(), region.len()), (1, 16, 1));
    let mut file = Vec::new();
    region.read_out(|piece| file.extend_from_slice(piece)).unwrap();
    assert_eq!(read_map(&file).len(), 1);
}

#[test]
fn the_first_bytes_are_as_documented() {
    let mut mock = formatted::<4, 4, 64>(4);
    let mut region = open(&mut mock);
    assert_eq!(region.used(), 16);
    region.append_use(PrefixHash(*b"prefixes"), 7).unwrap();
    assert_eq!(u64::from(region.used()) - 16, Region::<'_, 4, 4, 64>::use_size());
    let expected = [
        &b"MRAIL\x03\0\0\xF0\x03\0\0\0\x01\x04\0"[..],
        b"\xF1\x0B\0\0\0\x0C\0\0\0\xF3\xFF\xFF\xFF\xFF\xFF\xFF",
        b"\x03\x0C\0\0\0prefixes\x07\0\0\0",
        b"\xF2\x06\0\0\0",
    ]
    .concat();
    let (start, end) = (64, 64 + expected.len());
    assert_eq!(mock.bytes[start..end], expected);
    assert_eq!(mock.bytes[end + 4..end + 7], [0xFF, 0xFF, 0xFF]);
}

#[test]
fn only_a_region_is_opened_and_only_format_erases() {
    type Small = Mock<4, 4, 64>;
    let opened = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes.resize(128, 0xFF);
        let mut mock = Small::holding(bytes.clone());
        let error = AppendRegion::open(&mut mock, 0..128).unwrap_err();
        assert_eq!((mock.spent, &mock.bytes), (0, &bytes));
        error
    };
    assert_eq!(opened(&[]), Error::Erased);
    let mut map = Map::create();
    let run = map.prepare_session(&[1, 2, 3, 4, 5, 6], 1).unwrap();
    map.commit(&run).unwrap();
    assert_eq!(opened(&map.bytes()), Error::NotARegion { found: MAGIC });
    assert_eq!(opened(b"<!doctype html>"), Error::NotARegion { found: *b"<!doctyp" });
    assert_eq!(opened(&head(8, 16)), Error::OtherWord { found: 8, expected: 4 });
    let mut later = head(4, 16);
    later[13] = 2;
    assert_eq!(opened(&later), Error::OtherVersion { found: 2, expected: 1 });
}

#[test]
fn sizes_and_ranges_that_cannot_be_used_are_named() {
    let geometry = |read, word, erase| Some(Error::Geometry { read, word, erase, max: BUFFER });
    assert_eq!(AppendRegion::open(Mock::<8, 1, 20>::new(2), 0..20).err(), geometry(1, 8, 20));
    assert_eq!(AppendRegion::open(Mock::<512, 1, 512>::new(2), 0..512).err(), geometry(1, 512, 512));
    assert_eq!(AppendRegion::open(Mock::<1, 1, 8>::new(2), 0..8).err(), geometry(1, 1, 8));
    for (start, end) in [(0, 0), (64, 0), (0, 63), (32, 64), (0, 192), (0, u32::MAX)] {
        let error = Error::Range { start, end, erase: 64, capacity: 128 };
        assert_eq!(AppendRegion::open(Mock::<4, 4, 64>::new(2), start..end).err(), Some(error));
    }
    let text = AppendRegion::open(Mock::<4, 4, 64>::new(2), 0..192).unwrap_err().to_string();
    assert_eq!(text, "0..192 is no range of whole erase units of 64 bytes in a flash of 128 bytes");
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() {
    let mut mock = formatted::<4, 4, 64>(2);
    let before = mock.bytes.clone();
    let mut region = open(&mut mock);
    let free = region.free();
    assert_eq!(free, 128 - 16);
    let most = (0..free).take_while(|&n| Region::<'_, 4, 4, 64>::session_size(n) <= u64::from(free)).last().unwrap();
    let error = region.append_session(0, vec![1; most as usize + 1], 0).unwrap_err();
    assert_eq!(error, Error::Full { needed: 116, free: 112 });
    assert_eq!(error.to_string(), "the record takes 116 bytes, the region has 112 left");
    assert_eq!(region.append_session(0, [1, 2], 3), Err(Error::AnswerPastEnd { gen_start: 3, len: 2 }));
    assert_eq!(region.append_session(0, 0..u32::MAX, 3), Err(Error::Full { needed: (1 << 34) + 38, free: 112 }));
    assert_eq!(region.into_flash().bytes, before);
    let mut region = open(&mut mock);
    region.append_session(0, vec![1; most as usize], 0).unwrap();
    assert_eq!((region.len(), region.free()), (1, 0));
    assert!(matches!(region.append_use(PrefixHash::EMPTY, 1), Err(Error::Full { free: 0, .. })));
    assert_eq!(check(&mut mock).len(), 1);
}

/// An iterator that gives fewer than it says.
struct Liar(usize);

impl Iterator for Liar {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0, Some(self.0))
    }
}

impl ExactSizeIterator for Liar {}

#[test]
fn missing_tokens_and_a_flash_that_forgets_are_no_records() {
    let mut mock = formatted::<4, 4, 64>(8);
    let mut region = open(&mut mock);
    assert_eq!(region.append_session(0, Liar(5), 0), Err(Error::TokensMissing { said: 5, given: 0 }));
    region.append_use(PrefixHash::EMPTY, 1).unwrap();
    let offset = region.used();
    mock.forgets = true;
    assert_eq!(open(&mut mock).append_use(PrefixHash::EMPTY, 2), Err(Error::NotKept { offset }));
    mock.forgets = false;
    open(&mut mock).append_use(PrefixHash::EMPTY, 3).unwrap();
    let hits = |hits| Grown::Use { prefix: PrefixHash::EMPTY, hits };
    assert_eq!(check(&mut mock), [hits(1), hits(3)]);
    assert_eq!(open(&mut mock).hidden(), 0);
}

#[test]
fn a_driver_that_fails_is_no_end() {
    // The region stays open: the same value goes on after an error.
    let mut mock = formatted::<4, 4, 64>(8);
    mock.cut_after(30, Tear::Partial, 3);
    let mut region = open(&mut mock);
    assert_eq!(region.append_use(PrefixHash::EMPTY, 1), Err(Error::Flash(MockError::PowerCut)));
    region.io.flash.power_on();
    region.append_use(PrefixHash::EMPTY, 2).unwrap();
    assert_eq!((region.len(), region.hidden()), (1, 0));
    assert_eq!(check(&mut mock), [Grown::Use { prefix: PrefixHash::EMPTY, hits: 2 }]);
}

#[test]
fn a_writer_that_cuts_a_torn_tail_is_caught() {
    // What a host does to a file on disk, done to flash: going on where the last whole record ends.
    let mut mock = formatted::<4, 4, 64>(8);
    mock.cut_after(30, Tear::Partial, 3);
    append_until_cut(&mut mock, &[Grown::used(1)]);
    mock.power_on();
    let mut region = open(&mut mock);
    region.end = region.valid_len();
    let end = region.end;
    let error = FrameWriter::new(&mut region.io, end + 16, USE_LEN, 28).begin(USE).err();
    assert_eq!(error, Some(MockError::WrittenTwice(64 + end as usize + 4)));
    assert_eq!(mock.misuse, error);
}
