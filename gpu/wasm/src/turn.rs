//! An answer on its way.
//!
//! The turn of [`mrail_gpu::decode`] borrows its decoder, so a task owns both while the answer is made. It does nothing by
//! itself: each `next()` of JavaScript's sends it a request, and it does one step for each.

use crate::Error;
use crate::backend::Mind;
use crate::object::{number, object};
use futures_channel::{mpsc, oneshot};
use futures_core::Stream as _;
use js_sys::{Promise, Uint32Array};
use mrail_gpu::decode::{End, Options, Origin, Source, Stats, Step, Token};
use mrail_gpu::model::text::{Special, Stream, Tokenizer};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

/// What a task is asked for.
pub(crate) enum Request {
    /// The next chunk.
    Next(oneshot::Sender<Result<JsValue, JsValue>>),
    /// To look whether it was stopped.
    Wake,
}

/// What a turn and its task both know.
#[derive(Default)]
pub(crate) struct State {
    stopped: Cell<bool>,
    stats: RefCell<Stats>,
    end: Cell<Option<End>>,
    /// Why the answer is not in the map.
    fault: RefCell<Option<String>>,
}

/// The way to a task.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(crate) requests: mpsc::UnboundedSender<Request>,
    pub(crate) state: Rc<State>,
}

impl Handle {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Request>) {
        let (requests, asked) = mpsc::unbounded();
        (Self { requests, state: Rc::default() }, asked)
    }

    /// Ends the task after the step that it is doing.
    pub(crate) fn stop(&self) {
        self.state.stopped.set(true);
        // A task that has ended hears nothing.
        self.requests.unbounded_send(Request::Wake).ok();
    }
}

/// An answer; `Turn` of `types.d.ts`.
#[wasm_bindgen(skip_typescript)]
pub struct Turn {
    pub(crate) handle: Handle,
    /// Settles when the runner is free again.
    pub(crate) free: Box<dyn Fn() -> Promise>,
}

#[wasm_bindgen]
impl Turn {
    /// The next chunk; undefined where the answer has ended.
    #[wasm_bindgen(skip_typescript)]
    pub fn next(&self) -> Promise {
        let (reply, answer) = oneshot::channel();
        self.handle.requests.unbounded_send(Request::Next(reply)).ok();
        future_to_promise(async move { answer.await.unwrap_or(Ok(JsValue::UNDEFINED)) })
    }

    /// Ends the answer here.
    #[wasm_bindgen(skip_typescript)]
    pub fn abort(&self) -> Promise {
        self.handle.stop();
        (self.free)()
    }

    /// What it took so far.
    #[wasm_bindgen(getter, skip_typescript)]
    pub fn stats(&self) -> JsValue {
        told(&self.handle.state.stats.borrow(), self.handle.state.fault.borrow().as_deref())
    }

    /// Why it ended; undefined as long as it has not.
    #[wasm_bindgen(getter, skip_typescript)]
    pub fn end(&self) -> Option<String> {
        let word = |end| match end {
            End::Stop => "stop",
            End::MaxNew => "maxNew",
            End::Full => "full",
            End::Open => "open",
        };
        self.handle.state.end.get().map(|end| word(end).to_owned())
    }
}

/// Nobody asks a turn that was dropped: its task ends, and the model is free.
impl Drop for Turn {
    fn drop(&mut self) {
        self.handle.stop();
    }
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}

/// Answers a context, a step at a time.
pub(crate) async fn run(
    decoder: &mut Mind,
    tokenizer: &Tokenizer,
    context: &[u32],
    options: &Options,
    state: &State,
    mut requests: mpsc::UnboundedReceiver<Request>,
) {
    let Ok(mut turn) = decoder.begin(context, options) else { return };
    let mut chunks =
        Chunks { tokenizer, stream: Some(Stream::new(Special::Ignored)), ready: VecDeque::new(), last: Origin::Model };
    let mut more = true;
    'asked: while let Some(request) = poll_fn(|cx| Pin::new(&mut requests).poll_next(cx)).await {
        if state.stopped.get() {
            break;
        }
        let Request::Next(reply) = request else { continue };
        while more && chunks.ready.is_empty() {
            let step = turn.next().await;
            state.stats.replace(turn.stats().clone());
            match step {
                Ok(Some(step)) => chunks.take(&step, turn.stats()),
                Ok(None) => {
                    more = false;
                    chunks.finish(turn.stats());
                }
                Err(error) => {
                    // Who has stopped it does not care why it could not go on.
                    let stopped = state.stopped.get();
                    let said = if stopped { Ok(JsValue::UNDEFINED) } else { Err(Error::from(&error).into()) };
                    reply.send(said).ok();
                    break 'asked;
                }
            }
        }
        // What a stopped turn has said since is in the map, and nobody waits for it.
        let chunk = if state.stopped.get() { None } else { chunks.ready.pop_front() };
        let ended = chunk.is_none();
        reply.send(Ok(chunk.unwrap_or_default())).ok();
        if ended {
            break;
        }
    }
    match turn.finish() {
        Ok(outcome) => {
            state.end.set(Some(outcome.end));
            state.stats.replace(outcome.stats);
        }
        Err(error) => {
            state.end.set(Some(End::Open));
            state.fault.replace(Some(error.to_string()));
        }
    }
}

/// Steps as chunks of one origin each.
struct Chunks<'t> {
    tokenizer: &'t Tokenizer,
    stream: Option<Stream>,
    ready: VecDeque<JsValue>,
    /// Of the last token.
    last: Origin,
}

impl Chunks<'_> {
    fn take(&mut self, step: &Step, stats: &Stats) {
        match step {
            Step::Read { tokens, of } => {
                let read = object([("tokens", (*tokens as f64).into()), ("of", (*of as f64).into())]);
                self.ready.push_back(chunk("", &[], ("context", None), read, stats));
            }
            Step::Tokens(tokens) => {
                for tokens in tokens.chunk_by(|a, b| a.origin == b.origin) {
                    self.push(tokens, stats);
                }
            }
        }
    }

    fn push(&mut self, tokens: &[Token], stats: &Stats) {
        let mut text = String::new();
        if let Some(stream) = &mut self.stream {
            // A token that the tokenizer does not know has no text.
            text.extend(tokens.iter().filter_map(|token| stream.push(self.tokenizer, token.id).ok()));
        }
        let ids: Vec<u32> = tokens.iter().map(|token| token.id).collect();
        self.last = tokens.last().map_or(self.last, |token| token.origin);
        self.ready.push_back(chunk(&text, &ids, words(self.last), JsValue::UNDEFINED, stats));
    }

    /// Half a character at the end is shown as what it is.
    fn finish(&mut self, stats: &Stats) {
        let rest = self.stream.take().map(Stream::finish).unwrap_or_default();
        if !rest.is_empty() {
            self.ready.push_back(chunk(&rest, &[], words(self.last), JsValue::UNDEFINED, stats));
        }
    }
}

fn words(origin: Origin) -> (&'static str, Option<&'static str>) {
    match origin {
        Origin::Map => ("map", None),
        Origin::Model => ("model", None),
        Origin::Draft(Source::Own) => ("draft", Some("own")),
        Origin::Draft(Source::Conversation) => ("draft", Some("conversation")),
        Origin::Draft(Source::Foreign) => ("draft", Some("foreign")),
    }
}

/// `Chunk` of `types.d.ts`.
fn chunk(text: &str, ids: &[u32], origin: (&str, Option<&str>), read: JsValue, stats: &Stats) -> JsValue {
    object([
        ("text", text.into()),
        ("tokens", Uint32Array::from(ids).into()),
        ("origin", origin.0.into()),
        ("source", origin.1.map_or(JsValue::UNDEFINED, JsValue::from)),
        ("read", read),
        ("stats", told(stats, None)),
    ])
}

/// `Stats` of `types.d.ts`.
fn told(stats: &Stats, fault: Option<&str>) -> JsValue {
    let count = |count: usize| JsValue::from_f64(count as f64);
    let accepted = object([
        ("own", count(stats.accepted.own)),
        ("conversation", count(stats.accepted.conversation)),
        ("foreign", count(stats.accepted.foreign)),
    ]);
    let faults = stats.faults.iter().map(ToString::to_string).chain(fault.map(str::to_owned));
    object([
        ("context", count(stats.context)),
        ("served", count(stats.served)),
        ("restored", count(stats.restored)),
        ("kept", count(stats.kept)),
        ("read", count(stats.read)),
        ("evaluated", number(stats.evaluated)),
        ("passes", count(stats.passes)),
        ("drafted", count(stats.drafted)),
        ("accepted", accepted),
        ("anchors", count(stats.anchors)),
        ("written", stats.written.into()),
        ("faults", faults.map(JsValue::from).collect::<js_sys::Array>().into()),
    ])
}
