//! A model, ready to be run.

use crate::args::{Backend, EngineArgs, Kv};
use crate::error::{Exit, Failure, Result};
use crate::output::{bytes, count, note};
use crate::progress::Progress;
use mrail_gpu::attention::{LayerSetup, Wanted};
use mrail_gpu::decode::Either;
use mrail_gpu::device::{Gpu, Options as GpuOptions, Software};
use mrail_gpu::model::Model;
use mrail_gpu::model::cpu::{self, CpuModel};
use mrail_gpu::model::device::{self, DeviceModel, RunError, self_test, tune};
use mrail_gpu::model::gguf::{Header, Seekable};
use mrail_gpu::model::memory::{Fit, Needs};
use mrail_gpu::model::text::{Chat, TextError, Tokenizer};
use mrail_gpu::state::{Admission, Carrier, Config, Memory, Storage, params};
use std::fs::File;
use std::num::NonZeroUsize;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What runs the model. The device's engine comes beside the CPU's here, as `Either` of the two.
pub(crate) type AnyEngine = Either<DeviceModel, CpuModel>;

/// A model with what belongs to it.
pub(crate) struct Loaded {
    /// The engine, until a session takes it.
    pub(crate) engine: Option<AnyEngine>,
    pub(crate) layers: Vec<LayerSetup>,
    pub(crate) tokenizer: Tokenizer,
    /// The chat template, or why there is none.
    pub(crate) chat: std::result::Result<Chat, TextError>,
    pub(crate) name: String,
    /// What runs it, in words.
    pub(crate) adapter: String,
    /// How it rounds: all that do so alike have one name.
    pub(crate) arithmetic: String,
    /// Whether it is a processor, by itself or in a GPU's place.
    pub(crate) is_processor: bool,
    /// The longest context whose answer is that of native attention; none where every answer is.
    pub(crate) exact_until: Option<u64>,
    pub(crate) has_carriers: bool,
    /// How long loading took.
    pub(crate) load: Duration,
}

impl Loaded {
    /// Bytes of the layers' state after so many tokens, which in a state of one size do not matter.
    pub(crate) fn state_bytes(&self, tokens: usize) -> u64 {
        let of = |setup: &LayerSetup| {
            let (config, shape) = (&setup.config, setup.config.shape());
            let kept = |head| {
                config.schedule().most_in_band().map_or(tokens as u64, |band| u64::from(band + config.store(head)))
            };
            let rows: u64 = (0..shape.kv_heads as usize).map(kept).sum();
            rows * 2 * u64::from(shape.head_dim * config.storage().size()) + setup.carrier.state_bytes(shape)
        };
        self.layers.iter().map(of).sum()
    }
}

/// Loads the model that the arguments name.
pub(crate) fn load(args: &EngineArgs) -> Result<Loaded> {
    let started = Instant::now();
    let path = args.model();
    let unreadable = Failure::unreadable(path);
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let mut source = Seekable::new(file).map_err(|error| unreadable(&error))?;
    let header = Header::read(&mut source).map_err(|error| unreadable(&error))?;
    let model = Model::read(&header).map_err(|error| unreadable(&error))?;
    let tokenizer = Tokenizer::from_header(&header).map_err(|error| unreadable(&error))?;
    let name = header.get("general.name").and_then(|name| name.as_str().map(ToOwned::to_owned));
    let name = name.unwrap_or_else(|| path.file_name().unwrap_or_default().to_string_lossy().into_owned());

    let layers = layers(args, &model)?;
    let (engine, Place { adapter, arithmetic, is_processor }) = engine(args, &mut source, &model, &layers)?;
    let exact_until = layers.iter().filter_map(|layer| layer.config.exact_until()).min();
    Ok(Loaded {
        engine: Some(engine),
        has_carriers: args.carriers.is_some(),
        layers,
        tokenizer,
        chat: Chat::from_header(&header),
        name,
        adapter,
        arithmetic,
        is_processor,
        exact_until,
        load: started.elapsed(),
    })
}

/// What each layer's attention keeps.
fn layers(args: &EngineArgs, model: &Model) -> Result<Vec<LayerSetup>> {
    let shape = model.config.shape;
    let storage = if args.kv == Kv::F32 { Storage::F32 } else { Storage::F16 };
    let config = if args.native {
        Config::new(shape, storage, Memory::Native)
    } else {
        // What scores the tokens that leave the band does not matter as long as the store has room for all of them.
        Config::uniform(shape, storage, args.band, args.store, Admission::Look { from: 16 })
    };
    let config = config.map_err(|error| Failure::new(Exit::Usage, error))?;
    let count = model.config.layers as usize;
    let carriers = match &args.carriers {
        Some(path) => carriers(path, model)?,
        None => vec![Carrier::None; count],
    };
    Ok(carriers.into_iter().map(|carrier| LayerSetup::plain(config.clone()).with_carrier(carrier)).collect())
}

fn carriers(path: &Path, model: &Model) -> Result<Vec<Carrier>> {
    let bytes = std::fs::read(path).map_err(|error| Failure::unreadable(path)(&error))?;
    let shapes = vec![model.config.shape; model.config.layers as usize];
    params::read(&bytes, &shapes).map_err(|error| Failure::unreadable(path)(&error))
}

/// What runs a model.
struct Place {
    /// In words.
    adapter: String,
    /// The name of its numerics.
    arithmetic: String,
    is_processor: bool,
}

/// Loads the model on the device that was asked for, and says what that is. By itself it takes a GPU, and the CPU where there is
/// none: software that stands for a GPU is slower than the CPU without it.
fn engine(
    args: &EngineArgs,
    source: &mut Seekable<File>,
    model: &Model,
    layers: &[LayerSetup],
) -> Result<(AnyEngine, Place)> {
    let wanted = match args.backend {
        Backend::Cpu => None,
        Backend::Gpu => Some(Software::Last),
        Backend::Auto => Some(Software::Never),
    };
    let gpu =
        wanted.map(|software| pollster::block_on(Gpu::request(&GpuOptions { software, ..GpuOptions::default() })));
    match gpu {
        Some(Ok(gpu)) => {
            let gpu = Rc::new(gpu);
            let (name, is_processor) = (gpu.info().to_string(), gpu.info().software);
            let loaded = pollster::block_on(on_device(gpu, source, model, layers));
            let loaded = loaded.map_err(|error| Failure::new(Exit::Engine, format!("{name}: {error}")))?;
            let (engine, arithmetic) = loaded;
            return Ok((Either::A(engine), Place { adapter: name, arithmetic, is_processor }));
        }
        Some(Err(error)) if args.backend == Backend::Gpu => return Err(Failure::new(Exit::Engine, error)),
        _ => {}
    }
    let options = cpu::Options::default();
    let mut bar = Progress::new("loading", 0);
    say_needs(&mut bar, &Needs::of_cpu(model, layers, options.tree_rows), available_memory());
    let loaded = CpuModel::load(source, model, layers.to_vec(), options, |progress| {
        bar.of(progress.total);
        bar.at(progress.done);
    });
    let engine = loaded.map_err(|error| Failure::new(Exit::Engine, error))?;
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let place =
        Place { adapter: format!("CPU, {}", count(threads, "thread")), arithmetic: "f32".into(), is_processor: true };
    Ok((Either::B(engine), place))
}

/// Says what memory is needed, and where it does not fit that loading may fail.
fn say_needs(bar: &mut Progress, needs: &Needs, available: Option<u64>) {
    bar.say(bytes(needs.total()));
    if let fit @ Fit::TooLarge { .. } = needs.fits(available) {
        note(&format!("the model may not fit: {fit}"));
    }
}

/// What Linux says can be had without swapping; other systems are not asked.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Says what memory is needed before a byte of weights is read, sees that the device computes as it should, tries the shapes of
/// products out, and loads. Returns the arithmetic's name, too.
async fn on_device(
    gpu: Rc<Gpu>,
    source: &mut Seekable<File>,
    model: &Model,
    layers: &[LayerSetup],
) -> std::result::Result<(DeviceModel, String), RunError> {
    let start = Instant::now();
    let (shapes, _) = tune(&gpu, || start.elapsed().as_secs_f64()).await?;
    let options =
        device::Options { shapes, capacity: model.config.context.min(MOST_NATIVE), ..device::Options::of(&gpu) };
    let tested = self_test(&gpu, options).await?;
    let (options, arithmetic) = (tested.options, tested.arithmetic(&gpu));
    let wanted = Wanted { rows: options.tree_rows, pass_rows: options.pass_rows, capacity: options.capacity };
    let needs = Needs::of(gpu.limits(), model, layers, wanted, options.shapes[0].fetch)?;
    let mut bar = Progress::new("loading", 0);
    // wgpu does not tell how much memory a device has.
    say_needs(&mut bar, &needs, None);
    let loaded = DeviceModel::load(gpu, source, model, layers.to_vec(), options, |progress| {
        bar.of(progress.total);
        bar.at(progress.done);
    });
    let mut engine = loaded.await?;
    engine.check_grouping().await?;
    Ok((engine, arithmetic))
}

/// Tokens that a native cache is made for at most: it takes memory whether they come or not.
const MOST_NATIVE: u32 = 4096;
