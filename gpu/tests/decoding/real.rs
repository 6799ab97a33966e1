//! SmolLM2 beside itself: `MRAIL_MODEL=<path to the .gguf> cargo test --release -p mrail-gpu --test decoding -- --ignored`, 6 prompts
//! of 24 tokens. With `MRAIL_FULL=1` and `--nocapture` more than 200 contexts of 32 tokens, told one by one.

use super::{DOCUMENTS, KEPT, RAILS, Rail, Tally, check, load, rails, stops};
use crate::prompts::{DEEPEST, Prompts, many};
use mrail_gpu::decode::{Engine, Options};
use mrail_gpu::model::cpu;
use mrail_gpu::model::gguf::Seekable;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// A context, what it is, and the turns that follow it.
pub(crate) struct Asked {
    pub(crate) name: String,
    context: Vec<u32>,
    turns: usize,
}

impl Asked {
    /// The turn that follows, if one does: after an answer something else is asked.
    pub(crate) fn next(self, more: Vec<u32>) -> Option<Self> {
        let turns = self.turns.checked_sub(1)?;
        let context = [self.context, more].concat();
        Some(Self { name: format!("{}, another turn", self.name), context, turns })
    }
}

/// Tokens of an answer.
const SAID: usize = 24;
const SAID_IN_FULL: usize = 32;

/// Another six from everywhere.
fn some(texts: &Prompts) -> VecDeque<Asked> {
    let asked = texts.asked.iter().enumerate().step_by(14);
    asked.map(|(at, context)| Asked { name: format!("prompt {at}"), context: context.clone(), turns: 0 }).collect()
}

/// All prompts, two more turns after every sixteenth of them, and documents.
pub(crate) fn all(texts: &Prompts) -> VecDeque<Asked> {
    let prompts = many().into_iter().enumerate();
    let prompts = prompts.map(|(at, (name, context))| Asked { name, context, turns: 2 * usize::from(at % 16 == 0) });
    let documents = DOCUMENTS.into_iter().enumerate();
    let documents = documents.map(|(at, len)| Asked {
        name: format!("document of {len}"),
        context: texts.document(at, len),
        turns: 0,
    });
    prompts.chain(documents).collect()
}

#[test]
#[ignore = "needs a model of 98 MB: MRAIL_MODEL=<SmolLM2-135M-Instruct.Q4_1.gguf>"]
fn output_of_smollm2_never_changes() {
    let is_full = std::env::var_os("MRAIL_FULL").is_some();
    let path = std::env::var_os("MRAIL_MODEL").expect("MRAIL_MODEL names no file");
    let file = std::fs::File::open(&path).expect("the file that MRAIL_MODEL names");
    let mut source = Seekable::new(file).expect("its length");
    let mut decoder = load(&mut source, KEPT[1], cpu::Options::default());
    let texts = Prompts::read(decoder.engine().vocabulary());
    let (mut queue, said) = if is_full { (all(&texts), SAID_IN_FULL) } else { (some(&texts), SAID) };
    let start = Instant::now();
    println!("\nmodel: {}", model(Path::new(&path)));
    println!("machine: {}", machine());
    println!("{:?}, answers of {said} tokens, trees of 1, 8 and 31", KEPT[1]);
    let (mut whole, mut number) = (Tally::default(), 0);
    while let Some(asked) = queue.pop_front() {
        let Asked { name, context, .. } = &asked;
        let begun = Instant::now();
        // One in ten is read again for each of its answers, in chunks of the usual size.
        let restored = is_full && number % 10 != 5;
        decoder.engine_mut().remember(restored);
        let usual = Options { max_new: said, draft: 0, stops: stops(number).to_vec(), ..Options::default() };
        let plainly = if restored { Options { chunk: NonZeroUsize::MAX, ..usual } } else { usual };
        let rails = if is_full { rails(number) } else { &RAILS[number % 4..=number % 4] };
        let (answer, tally) = check(&mut decoder, (number / RAILS.len(), name, context), &plainly, rails, &texts);
        number += 1;
        println!(
            "{number:3} {name}, {} tokens, {}, {}: {} drafted, {} accepted, {} wrong, {}, {:.1} s",
            context.len(),
            how(rails),
            if restored { "restored" } else { "read" },
            tally.drafted,
            tally.accepted,
            tally.wrong(),
            if tally.divergences == 0 { "equal" } else { "DIVERGENT" },
            begun.elapsed().as_secs_f32(),
        );
        whole.add(&tally);
        let next = &texts.turns[number % texts.turns.len()];
        queue.extend(asked.next([&answer[..], next].concat()));
    }
    let wrong = decoder.engine().wrong();
    let depths: Vec<_> = wrong.iter().map(|(depth, times)| format!("{depth} {times} times")).collect();
    println!("drafts were wrong at depth {}", depths.join(", "));
    let what = if is_full { "all" } else { "a part" };
    println!("{what}, in {} s: {whole}", start.elapsed().as_secs());
    assert_eq!(whole.divergences, 0);
    assert!(if is_full { whole.contexts >= 200 } else { whole.contexts == 6 });
    assert!(!is_full || (1..=DEEPEST).all(|depth| wrong.contains_key(&depth)));
    assert!(whole.accepted > 0 && whole.wrong() > 0, "{whole} shows little");
}

fn how(rails: &[Rail]) -> &'static str {
    match rails {
        [Rail::Conversation] => "conversation",
        [Rail::Foreign] => "foreign",
        [Rail::Adversarial] => "adversarial",
        [Rail::Misleading] => "misleading",
        _ => "each rail",
    }
}

/// Name, size and hash of a model's file.
fn model(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let bytes = path.metadata().map_or(0, |data| data.len());
    let hash = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).arg(path).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        text.split_whitespace().next().map(str::to_owned)
    };
    let hash = hash("sha256sum", &[]).or_else(|| hash("shasum", &["-a", "256"]));
    format!(
        "{name}, {bytes} bytes, SHA-256 {}",
        hash.as_deref().unwrap_or("unknown, since no program is here that computes it")
    )
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, NonZeroUsize::get);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    format!("{}, {cores} cores, {}", name.map_or(std::env::consts::ARCH, |(_, name)| name), std::env::consts::OS)
}
