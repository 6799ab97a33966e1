//! A model beside its map.

use crate::args::{Properties, boolean, bytes, optional, tokens, word};
use crate::backend::{Mind, Place, bytes_of, destroy, told_needs};
use crate::error::Error;
use crate::load::{Loaded, load};
use crate::map;
use crate::object::{number, object};
use crate::text::Text;
use crate::turn::{Handle, Turn, run};
use futures_channel::oneshot;
use js_sys::{Promise, Uint8Array};
use mrail::Map;
use mrail_gpu::attention::LayerSetup;
use mrail_gpu::decode::{Journal, Options, usual_draft};
use mrail_gpu::model::Model;
use mrail_gpu::model::gguf::Header;
use mrail_gpu::model::memory::Needs;
use mrail_gpu::model::text::Special;
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{future_to_promise, spawn_local};

/// Tokens that are read before a turn can be stopped.
const CHUNK: NonZeroUsize = NonZeroUsize::new(64).expect("it is not 0");

/// What does not change while a model is loaded.
pub(crate) struct Facts {
    name: Option<String>,
    architecture: &'static str,
    layers: u32,
    vocabulary: u32,
    context: u32,
    exact_until: Option<u64>,
    file_bytes: u64,
    /// Of weights, and of state.
    bytes: (u64, u64),
    needs: Needs,
    numerics: Numerics,
}

/// What decides an answer beside the model, as `mrail-decode` writes it beside a map.
pub(crate) struct Numerics {
    pub(crate) arithmetic: String,
    pub(crate) kv: &'static str,
    /// Band and store; none where every token is kept.
    pub(crate) memory: Option<(u32, u32)>,
}

impl Numerics {
    /// `Numerics` of `types.d.ts`.
    fn told(&self) -> JsValue {
        let memory = self.memory.map_or_else(
            || "native".into(),
            |(band, store)| object([("band", band.into()), ("store", store.into()), ("carriers", JsValue::NULL)]),
        );
        object([("arithmetic", self.arithmetic.as_str().into()), ("kv", self.kv.into()), ("memory", memory)])
    }
}

impl Facts {
    pub(crate) fn of(
        header: &Header,
        model: &Model,
        setups: &[LayerSetup],
        Loaded { engine, needs, .. }: &Loaded,
        numerics: Numerics,
        file_bytes: u64,
    ) -> Self {
        let config = &model.config;
        Self {
            name: header.get("general.name").and_then(|name| name.as_str().map(str::to_owned)),
            architecture: config.architecture.name(),
            layers: config.layers,
            vocabulary: config.vocabulary,
            context: config.context,
            exact_until: setups.iter().filter_map(|setup| setup.config.exact_until()).min(),
            file_bytes,
            bytes: bytes_of(engine),
            needs: *needs,
            numerics,
        }
    }

    fn told(&self, place: &Place) -> JsValue {
        let optional = |value: Option<u64>| value.map_or(JsValue::UNDEFINED, number);
        let [backend, adapter, driver, software, why] = place.told();
        object([
            backend,
            adapter,
            driver,
            software,
            why,
            ("name", self.name.as_deref().map_or(JsValue::UNDEFINED, JsValue::from)),
            ("architecture", self.architecture.into()),
            ("layers", self.layers.into()),
            ("vocabulary", self.vocabulary.into()),
            ("context", self.context.into()),
            ("exactUntil", optional(self.exact_until)),
            ("fileBytes", number(self.file_bytes)),
            ("weightBytes", number(self.bytes.0)),
            ("stateBytes", number(self.bytes.1)),
            ("needs", told_needs(&self.needs)),
            ("numerics", self.numerics.told()),
            ("draft", (usual_draft(place.is_processor()) as u32).into()),
        ])
    }
}

/// The decoder, or who has it.
enum Slot {
    Idle(Box<Mind>),
    /// A turn's task.
    Busy(Handle),
    Disposed,
}

/// What a runner and the tasks of its turns share.
struct Shared {
    text: Text,
    place: Place,
    facts: Facts,
    slot: RefCell<Slot>,
    /// Told when no turn is under way.
    waiting: RefCell<Vec<oneshot::Sender<()>>>,
    disposed: std::cell::Cell<bool>,
}

impl Shared {
    /// Takes the decoder for a turn.
    fn take(&self, handle: &Handle) -> Result<Box<Mind>, Error> {
        let mut slot = self.slot.borrow_mut();
        match std::mem::replace(&mut *slot, Slot::Busy(handle.clone())) {
            Slot::Idle(decoder) => Ok(decoder),
            other => {
                let error = refused(&other);
                *slot = other;
                Err(error)
            }
        }
    }

    /// The decoder is here again, if it is still wanted.
    fn put(&self, decoder: Box<Mind>) {
        let slot = if self.disposed.get() {
            destroy(decoder.engine());
            Slot::Disposed
        } else {
            Slot::Idle(decoder)
        };
        // Dropped behind the borrow: that a handle goes may wake its task.
        let before = self.slot.replace(slot);
        drop(before);
        for waiting in self.waiting.take() {
            // Whoever gave up waiting hears nothing.
            waiting.send(()).ok();
        }
    }

    /// Does something with a decoder that nobody uses.
    fn with<T>(&self, what: impl FnOnce(&mut Mind) -> Result<T, Error>) -> Result<T, Error> {
        match &mut *self.slot.borrow_mut() {
            Slot::Idle(decoder) => what(decoder),
            other => Err(refused(other)),
        }
    }

    /// Settles when no turn is under way.
    fn free(&self) -> Promise {
        let (sender, free) = oneshot::channel();
        if matches!(&*self.slot.borrow(), Slot::Busy(_)) {
            self.waiting.borrow_mut().push(sender);
        }
        future_to_promise(async move {
            // A sender that is dropped means that there is nothing to wait for.
            free.await.ok();
            Ok(JsValue::UNDEFINED)
        })
    }
}

fn refused(slot: &Slot) -> Error {
    match slot {
        Slot::Disposed => Error::new("disposed", &"this model was disposed of"),
        _ => Error::new("busy", &"an answer is under way: one at a time"),
    }
}

/// A loaded model; `Runner` of `types.d.ts`.
#[wasm_bindgen(skip_typescript)]
pub struct Runner {
    shared: Rc<Shared>,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("place", &self.shared.place).finish_non_exhaustive()
    }
}

impl Runner {
    pub(crate) fn new(decoder: Mind, text: Text, place: Place, facts: Facts) -> Self {
        let slot = RefCell::new(Slot::Idle(Box::new(decoder)));
        let shared = Shared { text, place, facts, slot, waiting: RefCell::default(), disposed: false.into() };
        Self { shared: Rc::new(shared) }
    }
}

#[wasm_bindgen]
impl Runner {
    /// Loads a model.
    #[wasm_bindgen(skip_typescript)]
    pub fn load(source: JsValue, options: JsValue, progress: JsValue) -> Promise {
        future_to_promise(async move { load(source, options, progress).await.map(JsValue::from) })
    }

    /// What is loaded, and where.
    #[wasm_bindgen(skip_typescript)]
    pub fn info(&self) -> JsValue {
        self.shared.facts.told(&self.shared.place)
    }

    /// Makes a map the own one, or adds one that only drafts. What the own one takes in goes to the journal, too.
    #[wasm_bindgen(skip_typescript)]
    pub fn attach(&self, map: &JsValue, trusted: &JsValue, journal: &JsValue) -> Result<(), Error> {
        let trusted = boolean("trusted", trusted)?;
        let journal = optional("journal", journal, map::Journal::of)?;
        if journal.is_some() && !trusted {
            return Err(Error::argument(&"a map that only drafts takes nothing in, and has no journal"));
        }
        let journal = journal.map(|journal| Box::new(journal) as Box<dyn Journal>);
        let map = bytes("map", map)?;
        self.shared.with(|decoder| {
            let options = mrail::Options { draft_only: !trusted, ..mrail::Options::default() };
            let map = Map::open(map, options).map_err(|error| Error::from(&error))?;
            let attached = if trusted { decoder.attach(map, journal) } else { decoder.attach_foreign(map) };
            attached.map_err(|error| Error::from(&error))
        })
    }

    /// Leaves all maps behind; the own one is a new one.
    #[wasm_bindgen(skip_typescript)]
    pub fn detach(&self) -> Result<(), Error> {
        self.shared.with(|decoder| {
            decoder.detach();
            decoder.attach(Map::create(), None).map_err(|error| Error::from(&error))
        })
    }

    /// The own map's file as it should be now.
    #[wasm_bindgen(js_name = mapBytes, skip_typescript)]
    pub fn map_bytes(&self) -> Result<Uint8Array, Error> {
        self.shared.with(|decoder| Ok(Uint8Array::from(&*decoder.map().map(Map::bytes).unwrap_or_default())))
    }

    /// What the own map holds.
    #[wasm_bindgen(js_name = mapInfo, skip_typescript)]
    pub fn map_info(&self) -> Result<JsValue, Error> {
        self.shared.with(|decoder| Ok(decoder.map().map_or(JsValue::UNDEFINED, map::told)))
    }

    /// The tokens of a prompt.
    #[wasm_bindgen(skip_typescript)]
    pub fn encode(&self, prompt: &JsValue, options: &JsValue) -> Result<Vec<u32>, Error> {
        let complete = Properties::of("options", options)?.get("complete", boolean)?;
        self.shared.text.prompt(prompt, complete.unwrap_or(false))
    }

    /// The text of tokens, special ones by their names.
    #[wasm_bindgen(skip_typescript)]
    pub fn decode(&self, ids: &JsValue) -> Result<String, Error> {
        let ids = tokens("tokens", ids)?;
        self.shared.text.tokenizer.decode(&ids, Special::Named).map_err(|error| Error::from(&error))
    }

    /// Begins to answer.
    #[wasm_bindgen(skip_typescript)]
    pub fn generate(&self, prompt: &JsValue, options: &JsValue) -> Result<Turn, Error> {
        let shared = Rc::clone(&self.shared);
        let given = Properties::of("options", options)?;
        let complete = given.get("complete", boolean)?.unwrap_or(false);
        let usual = Options::default();
        let options = Options {
            max_new: given.get("maxNew", word)?.map_or(usual.max_new, |tokens| tokens as usize),
            draft: given.get("draft", word)?.map_or(usual_draft(shared.place.is_processor()), |nodes| nodes as usize),
            use_map: given.get("useMap", boolean)?.unwrap_or(true),
            stops: shared.text.tokenizer.stops().to_vec(),
            chunk: CHUNK,
            ..usual
        };
        // The model is asked for first: who comes too early is told so, whatever the prompt.
        shared.with(|_| Ok(()))?;
        let context = shared.text.prompt(prompt, complete)?;
        shared.with(|decoder| decoder.begin(&context, &options).map(drop).map_err(|error| Error::from(&error)))?;
        let (handle, requests) = Handle::new();
        let mut decoder = shared.take(&handle)?;
        let (state, task) = (Rc::clone(&handle.state), Rc::clone(&shared));
        spawn_local(async move {
            run(&mut decoder, &task.text.tokenizer, &context, &options, &state, requests).await;
            task.put(decoder);
        });
        Ok(Turn { handle, free: Box::new(move || shared.free()) })
    }

    /// Ends the answer that is under way, if there is one.
    #[wasm_bindgen(skip_typescript)]
    pub fn abort(&self) -> Promise {
        if let Slot::Busy(handle) = &*self.shared.slot.borrow() {
            handle.stop();
        }
        self.shared.free()
    }

    /// Frees the device and its memory.
    #[wasm_bindgen(skip_typescript)]
    pub fn dispose(&self) -> Promise {
        let done = self.abort();
        self.shared.disposed.set(true);
        let idle = matches!(&*self.shared.slot.borrow(), Slot::Idle(_));
        if idle && let Slot::Idle(decoder) = self.shared.slot.replace(Slot::Disposed) {
            destroy(decoder.engine());
        }
        // A step under way ends with the device's loss.
        self.shared.place.destroy();
        done
    }
}

/// A runner that JavaScript has lost frees the device, too.
impl Drop for Runner {
    fn drop(&mut self) {
        drop(self.dispose());
    }
}
