//! What the model is asked: `data/decoding/prompts.json` holds the prompts of the conformance maps' held-out and general requests,
//! and the answers that llama.cpp gave to the latter, as `SmolLM2`'s token ids. A tiny model takes them modulo its vocabulary.
//! `data/prompts.json` holds 205 whole ones for the real model (`tests/oracle/README.md` lists them).

use mrail::Map;
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Prompts {
    /// Whole prompts, as the chat template makes them: 40 held-out requests, then 40 general ones.
    pub(crate) asked: Vec<Vec<u32>>,
    /// A turn more: what stands between an answer and the next one.
    pub(crate) turns: Vec<Vec<u32>>,
    /// Of each general prompt the answer of another program.
    answers: Vec<Vec<u32>>,
}

impl Prompts {
    pub(crate) fn read(vocabulary: u32) -> Self {
        let text = include_str!("../data/decoding/prompts.json");
        let data: Value = serde_json::from_str(text).expect("prompts.json");
        let ids = |value: &Value| {
            let ids = value.as_array().expect("a list").iter();
            ids.map(|id| id.as_u64().expect("an id") as u32 % vocabulary).collect::<Vec<_>>()
        };
        let (head, tail) = (ids(&data["head"]), ids(&data["tail"]));
        let general = data["general"].as_array().expect("general");
        let held_out = data["heldout"].as_array().expect("heldout").iter();
        let middles: Vec<_> = held_out.chain(general.iter().map(|pair| &pair[0])).map(ids).collect();
        Self {
            asked: middles.iter().map(|middle| [&head[..], middle, &tail].concat()).collect(),
            turns: middles.iter().map(|middle| [middle, &tail[..]].concat()).collect(),
            answers: general.iter().map(|pair| ids(&pair[1])).collect(),
        }
    }

    /// A text of so many tokens, no two of which are alike.
    pub(crate) fn document(&self, number: usize, len: usize) -> Vec<u32> {
        let texts = self.answers.iter().cycle().skip(number * 7).step_by(1 + number % 3);
        texts.flatten().copied().skip(number).take(len).collect()
    }

    /// The map that another program wrote: its answers to the general prompts.
    pub(crate) fn foreign(&self) -> Map<'static> {
        let runs = self.asked.iter().skip(self.asked.len() - self.answers.len()).zip(&self.answers);
        map(runs.map(|(prompt, answer)| (prompt.clone(), answer.clone())))
    }
}

/// Prompts by name: held-out, general and coding requests, conversations of some turns, and long turns. 34 to 1200 tokens.
pub(crate) fn many() -> Vec<(String, Vec<u32>)> {
    let data: Value = serde_json::from_str(include_str!("../data/prompts.json")).expect("prompts.json");
    let ids = |value: &Value| {
        let ids = value.as_array().expect("a list").iter();
        ids.map(|id| id.as_u64().expect("an id") as u32).collect::<Vec<_>>()
    };
    let prompts = data["prompts"].as_array().expect("prompts").iter().map(|prompt| {
        let prefix = prompt["prefix"].as_u64().expect("an index") as usize;
        let name = prompt["name"].as_str().expect("a name");
        (name.to_owned(), [ids(&data["prefixes"][prefix]), ids(&prompt["rest"])].concat())
    });
    prompts.collect()
}

/// A map of these contexts and answers.
pub(crate) fn map(runs: impl IntoIterator<Item = (Vec<u32>, Vec<u32>)>) -> Map<'static> {
    let mut map = Map::create();
    for (context, answer) in runs {
        let append = map.prepare_session(&[&context[..], &answer].concat(), context.len()).expect("room");
        map.commit(&append).expect("in order");
    }
    map
}

/// A map whose drafts are the model's own up to some place, a different one for each run, and wrong from there on: right and wrong
/// ones stand beside each other.
pub(crate) fn adversarial(context: &[u32], answer: &[u32], vocabulary: u32) -> Map<'static> {
    map((0..=answer.len()).step_by(3).map(|right| {
        let wrong = answer[right..].iter().map(|token| (token + 1 + right as u32) % vocabulary);
        (context.to_vec(), answer[..right].iter().copied().chain(wrong).collect())
    }))
}

/// A map whose drafts are wrong from some depth on: the first one behind so many right tokens, the next ones, each of which begins
/// where the one before it ends, behind other numbers of them.
pub(crate) fn misleading(context: &[u32], answer: &[u32], vocabulary: u32, mut right: usize) -> Map<'static> {
    let all = [context, answer].concat();
    // The first token of an answer has no draft.
    let (mut runs, mut last, mut from) = (Vec::new(), 0, context.len() + 1);
    right %= DEEPEST;
    while from < all.len() {
        // Nothing in front of a run by which a draft before it could go on.
        let lead = &all[last.max(from.saturating_sub(NMAX))..from];
        let to = all.len().min(from + right);
        let wrong = all[to..].iter().map(|token| (token + 1) % vocabulary).take(4);
        runs.push((lead.to_vec(), all[from..to].iter().copied().chain(wrong).collect()));
        (last, from, right) = (from + 1, to + 1, (right + 7) % DEEPEST);
    }
    map(runs)
}

/// Tokens of an n-gram that drafts are looked up by, and nodes of a draft's path, at most.
const NMAX: usize = 6;
pub(crate) const DEEPEST: usize = 24;
