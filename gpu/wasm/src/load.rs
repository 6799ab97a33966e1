//! From a model's file to a runner.

use crate::Error;
use crate::args::{Properties, boolean, one_of, size, word};
use crate::backend::{Brain, Place, check_wasm, told_needs};
use crate::object::{number, object};
use crate::runner::{Facts, Numerics, Runner};
use crate::source::{File, Thrown};
use crate::text::Text;
use js_sys::Function;
use mrail::Map;
use mrail_gpu::attention::{LayerSetup, Wanted};
use mrail_gpu::decode::{Decoder, Either};
use mrail_gpu::device::Gpu;
use mrail_gpu::model::Model;
use mrail_gpu::model::cpu::{self, CpuModel};
use mrail_gpu::model::device::{self, DeviceModel, Tested};
use mrail_gpu::model::gguf::{Header, Source};
use mrail_gpu::model::load::Progress;
use mrail_gpu::model::memory::{Fit, Needs};
use mrail_gpu::state::{Admission, Config, ConfigError, Memory, Storage};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// Where a model runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backend {
    /// On a GPU, if there is one.
    Auto,
    Gpu,
    Cpu,
}

/// `LoadOptions` of `types.d.ts`.
struct Options {
    backend: Backend,
    band: u32,
    store: u32,
    storage: Storage,
    native: bool,
    capacity: Option<u32>,
    tree_rows: Option<u32>,
    /// Bytes that may be taken.
    memory: Option<u64>,
}

/// Band and store keep every token up to here, block by block: answers are those of native attention so far.
const BAND: u32 = 256;
const STORE: u32 = 1728;

impl Options {
    fn of(given: &JsValue) -> Result<Self, Error> {
        let given = Properties::of("options", given)?;
        let backend = given.get("backend", |name, value| one_of(name, value, ["auto", "gpu", "cpu"]))?;
        let kv = given.get("kv", |name, value| one_of(name, value, ["f16", "f32"]))?;
        Ok(Self {
            backend: [Backend::Auto, Backend::Gpu, Backend::Cpu][backend.unwrap_or(0)],
            band: given.get("band", word)?.unwrap_or(BAND),
            store: given.get("store", word)?.unwrap_or(STORE),
            storage: if kv == Some(1) { Storage::F32 } else { Storage::F16 },
            native: given.get("native", boolean)?.unwrap_or(false),
            capacity: given.get("capacity", word)?,
            tree_rows: given.get("treeRows", word)?,
            memory: given.get("memory", size)?,
        })
    }

    fn layers(&self, model: &Model) -> Result<Vec<LayerSetup>, ConfigError> {
        let shape = model.config.shape;
        let config = if self.native {
            Config::new(shape, self.storage, Memory::Native)?
        } else {
            Config::uniform(shape, self.storage, self.band, self.store, Admission::Look { from: 16 })?
        };
        Ok(vec![LayerSetup::plain(config); model.config.layers as usize])
    }

    fn numerics(&self, arithmetic: &str) -> Numerics {
        Numerics {
            arithmetic: arithmetic.into(),
            kv: if self.storage == Storage::F32 { "f32" } else { "f16" },
            memory: (!self.native).then_some((self.band, self.store)),
        }
    }

    fn check(&self) -> Result<(), Error> {
        match self.tree_rows {
            Some(rows) if !(1..=64).contains(&rows) => {
                Err(Error::argument(&format_args!("options.treeRows must be from 1 to 64, not {rows}")))
            }
            _ => Ok(()),
        }
    }

    /// Is it within the memory that the caller gives?
    fn fits(&self, needs: &Needs) -> Result<(), Error> {
        match needs.fits(self.memory) {
            fit @ Fit::TooLarge { .. } => Err(Error::new("memory", &format_args!("the model does not fit: {fit}"))),
            Fit::Fits { .. } | Fit::Unknown { .. } => Ok(()),
        }
    }
}

/// Tells the caller how far it is. What the callback throws ends the loading.
struct Teller {
    callback: Option<Function>,
    thrown: Thrown,
}

impl Teller {
    fn tell(&self, progress: &JsValue) {
        let Some(callback) = &self.callback else { return };
        if let Err(thrown) = callback.call1(&JsValue::UNDEFINED, progress) {
            self.thrown.borrow_mut().get_or_insert(thrown);
        }
    }

    /// What is needed, before a byte of the weights is read.
    fn needs(&self, needs: &Needs, place: &Place, file: u64) {
        let [backend, adapter, driver, software, why] = place.told();
        let (stage, bytes) = (("stage", "needs".into()), ("fileBytes", number(file)));
        self.tell(&object([stage, backend, adapter, driver, software, why, bytes, ("needs", told_needs(needs))]));
    }

    fn weights(&self, progress: Progress<'_>) {
        self.tell(&object([
            ("stage", "weights".into()),
            ("done", number(progress.done)),
            ("total", number(progress.total)),
            ("tensor", progress.tensor.into()),
        ]));
    }

    fn ended(&self) -> Result<(), JsValue> {
        self.thrown.borrow().clone().map_or(Ok(()), Err)
    }
}

/// Loads a model; what is wrong with the arguments is found first.
pub(crate) async fn load(source: JsValue, options: JsValue, progress: JsValue) -> Result<Runner, JsValue> {
    let thrown = Thrown::default();
    let callback = if progress.is_undefined() {
        None
    } else {
        let function = progress.dyn_into::<Function>();
        Some(function.map_err(|_| Error::argument(&"progress must be a function"))?)
    };
    let teller = Teller { callback, thrown: Rc::clone(&thrown) };
    let options = Options::of(&options)?;
    let mut file = File::of(&source, thrown)?;
    // What the caller threw says more than what came of it.
    match steps(&mut file, &options, &teller).await {
        Ok(runner) => teller.ended().map(|()| runner),
        Err(error) => Err(teller.ended().err().unwrap_or(error.into())),
    }
}

async fn steps(file: &mut File, options: &Options, teller: &Teller) -> Result<Runner, Error> {
    let header = Header::read(file).map_err(|error| Error::new("not-a-model", &error))?;
    let model = Model::read(&header).map_err(|error| Error::from(&error))?;
    let text = Text::of(&header).map_err(|error| Error::from(&error))?;
    let setups = options.layers(&model).map_err(|error| Error::from(&error))?;
    options.check()?;
    let place = Place::find(options.backend == Backend::Auto, options.backend != Backend::Cpu).await?;
    let loaded = match &place {
        Place::Gpu(gpu) => on_gpu(file, &model, &setups, options, teller, gpu).await,
        Place::Cpu(_) => on_cpu(file, &model, &setups, options, teller, &place),
    };
    let loaded = loaded.inspect_err(|_| place.destroy())?;
    let numerics = options.numerics(&loaded.arithmetic);
    let facts = Facts::of(&header, &model, &setups, &loaded, numerics, file.size());
    let mut decoder = Decoder::new(loaded.engine, setups);
    // A new map has no token that could be none of the model's.
    decoder.attach(Map::create(), None).map_err(|error| Error::from(&error))?;
    Ok(Runner::new(decoder, text, place, facts))
}

/// Weights where they are used.
pub(crate) struct Loaded {
    pub(crate) engine: Brain,
    pub(crate) needs: Needs,
    /// How it rounds, by name.
    arithmetic: String,
}

/// Loads the weights onto a device, if they fit.
async fn on_gpu(
    file: &mut File,
    model: &Model,
    setups: &[LayerSetup],
    options: &Options,
    teller: &Teller,
    gpu: &Rc<Gpu>,
) -> Result<Loaded, Error> {
    let usual = device::Options::of(gpu);
    let tree_rows = options.tree_rows.unwrap_or(usual.tree_rows);
    let how = device::Options { tree_rows, capacity: options.capacity.unwrap_or(usual.capacity), ..usual };
    let wanted = Wanted { rows: how.tree_rows, pass_rows: how.pass_rows.max(how.tree_rows), capacity: how.capacity };
    let needs =
        Needs::of(gpu.limits(), model, setups, wanted, how.shapes[0].fetch).map_err(|error| Error::from(&error))?;
    teller.needs(&needs, &Place::Gpu(Rc::clone(gpu)), file.size());
    options.fits(&needs)?;
    let told = |progress: Progress<'_>| teller.weights(progress);
    // The software of browsers compiles its kernels for longer than it would be worth, and tests know that it computes well.
    let trusted = gpu.info().software;
    let usual = Tested { options: how, as_on_cpu: true };
    let tested =
        if trusted { usual } else { device::self_test(gpu, how).await.map_err(|error| Error::from(&error))? };
    let engine = DeviceModel::load(Rc::clone(gpu), file, model, setups.to_vec(), tested.options, told).await;
    let mut engine = engine.map_err(|error| Error::from(&error))?;
    if !trusted {
        engine.check_grouping().await.map_err(|error| Error::from(&error))?;
    }
    Ok(Loaded { engine: Either::A(engine), needs, arithmetic: tested.arithmetic(gpu) })
}

/// Loads the weights into wasm's memory, if they fit.
fn on_cpu(
    file: &mut File,
    model: &Model,
    setups: &[LayerSetup],
    options: &Options,
    teller: &Teller,
    place: &Place,
) -> Result<Loaded, Error> {
    let usual = cpu::Options::default();
    let how = cpu::Options { tree_rows: options.tree_rows.unwrap_or(usual.tree_rows), ..usual };
    let needs = Needs::of_cpu(model, setups, how.tree_rows);
    teller.needs(&needs, place, file.size());
    check_wasm(&needs)?;
    options.fits(&needs)?;
    let told = |progress: Progress<'_>| teller.weights(progress);
    let engine = CpuModel::load(file, model, setups.to_vec(), how, told);
    let engine = Either::B(engine.map_err(|error| Error::from(&error))?);
    Ok(Loaded { engine, needs, arithmetic: "f32".into() })
}
