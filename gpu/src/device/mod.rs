//! The door to the device: one is found and opened, memory is taken, shaders are compiled, bytes come back.
//!
//! Everything that can fail returns a [`DeviceError`]; nothing of wgpu's panics where a device fails. What goes wrong while
//! nobody waits (a command that is invalid, a driver that resets) is kept, and [`Gpu::check`] returns it from then on: ask it
//! before anything that was computed is used. [`Gpu::read`] does so by itself.

mod error;
mod readback;
mod texture;

pub use error::DeviceError;
pub use texture::TEXEL_BYTES;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use error::{Faults, Scopes};
use futures_channel::oneshot;
use wgpu::{
    Adapter, AdapterInfo, Backend, Backends, BindGroupLayout, Buffer, BufferDescriptor, BufferUsages, ComputePipeline,
    ComputePipelineDescriptor, Device, DeviceDescriptor, DeviceType, Instance, InstanceDescriptor, Limits,
    PipelineLayoutDescriptor, Queue, ShaderModuleDescriptor, ShaderSource,
};

/// A browser is asked at most this many times whether work is done, then only waited for. An answer takes a millisecond.
#[cfg(target_arch = "wasm32")]
const MOST_NUDGES: u32 = 2000;

/// Which device to open, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where to look: natively Vulkan and Metal, in browsers WebGPU, all of which are meant by default.
    pub backends: Backends,
    /// Whether a processor may stand for a GPU.
    pub software: Software,
    /// Only a device whose name contains this, in whatever case.
    pub name: Option<String>,
    /// How much of the device to use.
    pub limits: Limit,
}

impl Default for Options {
    fn default() -> Self {
        Self { backends: Backends::all(), software: Software::default(), name: None, limits: Limit::default() }
    }
}

/// Software that stands for a GPU: Mesa's lavapipe, Chromium's `SwiftShader`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Software {
    /// Where there is no GPU.
    #[default]
    Last,
    /// Nothing else, for tests that must give the same everywhere. Browsers choose by themselves: there it is only checked.
    Only,
    /// Never.
    Never,
}

/// The largest pieces of memory that a device is asked to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Limit {
    /// As large as the device can: buffers, bindings, and storage buffers in one shader. All else is WebGPU's default.
    #[default]
    Device,
    /// WebGPU's defaults, which every device has: 256 MiB a buffer, 128 MiB a binding, 8 storage buffers in one shader.
    Default,
}

/// Which device it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// The device's name; in browsers its maker and kind, as far as they tell.
    pub name: String,
    /// `vulkan`, `metal` or `webgpu`.
    pub backend: Backend,
    /// The driver and its version, where they are known.
    pub driver: String,
    /// A processor stands for the GPU. A browser that does not say so is believed.
    pub software: bool,
    /// All devices that were there, this one included; in browsers only this one.
    pub candidates: Vec<String>,
}

impl Info {
    fn new(mut info: AdapterInfo, told: Option<String>, candidates: &[String]) -> Self {
        info.name = told.unwrap_or(info.name);
        let software = is_software(&info);
        let driver = [info.driver, info.driver_info].join(" ").trim().to_owned();
        Self { name: info.name, backend: info.backend, driver, software, candidates: candidates.to_vec() }
    }
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&described(&self.name, self.backend, self.software))?;
        if self.driver.is_empty() { Ok(()) } else { write!(f, ", driver {}", self.driver) }
    }
}

fn described(name: &str, backend: Backend, software: bool) -> String {
    let name = if name.is_empty() { "a GPU without a name" } else { name };
    format!("{name} ({backend}, {})", if software { "software" } else { "hardware" })
}

/// Browsers tell the maker and the kind of a device rather than its name.
#[cfg(target_arch = "wasm32")]
fn told_by_the_browser(device: &Device) -> Option<String> {
    let info = device.as_webgpu()?.adapter_info();
    // Older browsers do not have it.
    if info.is_undefined() {
        return None;
    }
    let told = [info.vendor(), info.architecture(), info.device(), info.description()];
    let told: Vec<&str> = told.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    Some(told.join(" "))
}

#[cfg(not(target_arch = "wasm32"))]
fn told_by_the_browser(_: &Device) -> Option<String> {
    None
}

/// Browsers do not always tell that an adapter is their own software, whose names are known.
fn is_software(info: &AdapterInfo) -> bool {
    let name = info.name.to_lowercase();
    info.device_type == DeviceType::Cpu || ["llvmpipe", "swiftshader"].iter().any(|software| name.contains(software))
}

/// An open device. Dropping it frees all its memory, whoever still holds buffers.
#[derive(Debug)]
pub struct Gpu {
    device: Device,
    queue: Queue,
    info: Info,
    limits: Limits,
    faults: Arc<Faults>,
    /// Kept between reads.
    staging: Mutex<Option<Buffer>>,
}

impl Gpu {
    /// Finds and opens a device: a GPU before software, and one of its own memory before one that shares the processor's.
    pub async fn request(options: &Options) -> Result<Self, DeviceError> {
        let descriptor =
            InstanceDescriptor { backends: options.backends, ..InstanceDescriptor::new_without_display_handle() };
        let instance = Instance::new(descriptor);
        let found = adapters(&instance, options.backends).await?;
        let name = |adapter: &Adapter| {
            let info = adapter.get_info();
            described(&info.name, info.backend, is_software(&info))
        };
        let candidates: Vec<String> = found.iter().map(name).collect();
        let chosen = choose(found, options, Adapter::get_info);
        if chosen.is_empty() {
            return Err(DeviceError::NoAdapter { tried: format!("{}, of {}", options.asked(), candidates.join("; ")) });
        }
        let mut refusals = Vec::new();
        for adapter in chosen {
            match Self::open(&adapter, options.limits, &candidates).await {
                Ok(gpu) => return Ok(gpu),
                Err(error) => refusals.push(format!("{}: {error}", name(&adapter))),
            }
        }
        Err(DeviceError::Request { why: refusals.join("; ") })
    }

    async fn open(adapter: &Adapter, limits: Limit, candidates: &[String]) -> Result<Self, wgpu::RequestDeviceError> {
        let required_limits = wanted(&adapter.limits(), limits);
        // Blocks of hundreds of megabytes would be taken ahead otherwise; what is large gets its own block in any case.
        let memory_hints = wgpu::MemoryHints::MemoryUsage;
        let descriptor = DeviceDescriptor { label: Some("mrail"), required_limits, memory_hints, ..Default::default() };
        let (device, queue) = adapter.request_device(&descriptor).await?;
        let faults = Faults::of(&device);
        let info = Info::new(adapter.get_info(), told_by_the_browser(&device), candidates);
        Ok(Self { limits: device.limits(), device, queue, info, faults, staging: Mutex::default() })
    }

    /// wgpu's device.
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Its queue of commands.
    pub const fn queue(&self) -> &Queue {
        &self.queue
    }

    /// What a user wants to know of it.
    pub const fn info(&self) -> &Info {
        &self.info
    }

    /// The limits that it was opened with.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The first error that nobody waited for, or the device's loss. It stays: no token may be computed after it.
    ///
    /// It never waits, so it may not know yet: a loss is noticed at the next call that waits for the device, and in browsers
    /// so is any error. [`Self::finished`] is the one that waits for all.
    pub fn check(&self) -> Result<(), DeviceError> {
        self.faults.check()
    }

    /// Waits until all that was submitted is done, and checks.
    ///
    /// Natively the thread waits; in a browser the future does.
    pub async fn finished(&self) -> Result<(), DeviceError> {
        self.check()?;
        self.work_done().await;
        match self.settled().await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.cause(error).await),
        }
    }

    /// Ends the device and frees its memory; each call from now on returns [`DeviceError::Lost`].
    pub fn destroy(&self) {
        self.faults.lose("its owner destroyed it".into());
        self.device.destroy();
    }

    /// Would a buffer of this many bytes and for this use be within the device's limits?
    pub fn fits(&self, what: &str, bytes: u64, usage: BufferUsages) -> Result<(), DeviceError> {
        let within = |limit: &'static str, most: u64| {
            let error = || DeviceError::TooLarge { what: what.into(), bytes, limit, most };
            if bytes <= most { Ok(()) } else { Err(error()) }
        };
        within("maxBufferSize", self.limits.max_buffer_size)?;
        if usage.contains(BufferUsages::STORAGE) {
            within("maxStorageBufferBindingSize", self.limits.max_storage_buffer_binding_size)?;
        }
        if usage.contains(BufferUsages::UNIFORM) {
            within("maxUniformBufferBindingSize", self.limits.max_uniform_buffer_binding_size)?;
        }
        Ok(())
    }

    /// A buffer of zeros, which is there when the future is done. `bytes` are rounded up to a multiple of four.
    ///
    /// What is too large for the device's limits is refused before the driver is asked. A storage buffer is meant to be
    /// bound whole, so it must also be within the limit of bindings. In browsers a buffer must be destroyed when it is no
    /// longer used: a dropped one stays until JavaScript's collector comes by, or the whole device is dropped.
    pub async fn buffer(&self, label: &str, bytes: u64, usage: BufferUsages) -> Result<Buffer, DeviceError> {
        let mut allocation = self.allocation();
        let buffer = allocation.buffer(label, bytes, usage)?;
        allocation.done().await?;
        Ok(buffer)
    }

    /// Many buffers, to be waited for together.
    pub fn allocation(&self) -> Allocation<'_> {
        Allocation { gpu: self, waiting: Vec::new() }
    }

    /// Writes into a buffer that was made with `COPY_DST`, before whatever is submitted next. The place and the number of
    /// bytes must be multiples of four.
    pub fn write(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.check()?;
        // wgpu panics in browsers where these do not hold.
        let end = offset.checked_add(bytes.len() as u64).filter(|end| *end <= buffer.size());
        if end.is_none() || !offset.is_multiple_of(4) || !bytes.len().is_multiple_of(4) {
            let message = format!("{} bytes at {offset} of a buffer of {}", bytes.len(), buffer.size());
            return Err(DeviceError::Validation { what: "a write".into(), message });
        }
        self.queue.write_buffer(buffer, offset, bytes);
        Ok(())
    }

    /// Compiles the function `entry` of a shader. Without `layouts` they are those that the shader's bindings make up.
    ///
    /// A shader that is not valid, or asks for more than the device has, is a [`DeviceError::Validation`] with the
    /// compiler's words.
    pub async fn pipeline(
        &self,
        label: &str,
        wgsl: &str,
        entry: &str,
        layouts: &[&BindGroupLayout],
    ) -> Result<ComputePipeline, DeviceError> {
        self.check()?;
        let scopes = Scopes::open(&self.device, &self.faults);
        let source = ShaderSource::Wgsl(wgsl.into());
        let module = self.device.create_shader_module(ShaderModuleDescriptor { label: Some(label), source });
        let layouts: Vec<Option<&BindGroupLayout>> = layouts.iter().map(|layout| Some(*layout)).collect();
        let descriptor =
            PipelineLayoutDescriptor { label: Some(label), bind_group_layouts: &layouts, ..Default::default() };
        let layout = (!layouts.is_empty()).then(|| self.device.create_pipeline_layout(&descriptor));
        let pipeline = self.device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: Some(label),
            layout: layout.as_ref(),
            module: &module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        if cfg!(target_arch = "wasm32") {
            // The error of a browser's compiler is not caught (see `Scopes`), but what it leaves can't be used.
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()).set_pipeline(&pipeline);
            drop(encoder.finish());
        }
        let caught = scopes.close(label, None);
        self.poll(&wgpu::PollType::Poll);
        let result = match caught.await {
            Ok(()) => Ok(pipeline),
            // Natively the message has the compiler's words.
            Err(DeviceError::Validation { what, mut message }) if cfg!(target_arch = "wasm32") => {
                for line in complaints(&module.get_compilation_info().await) {
                    message = message + "\n" + &line;
                }
                Err(DeviceError::Validation { what, message })
            }
            Err(error) => Err(error),
        };
        match result {
            Ok(pipeline) => Ok(pipeline),
            Err(error) => Err(self.cause(error).await),
        }
    }

    /// Waits for what a callback of the device's sends; none where the device did not call.
    #[cfg(not(target_arch = "wasm32"))]
    async fn done<T>(&self, mut receiver: oneshot::Receiver<T>) -> Option<T> {
        self.poll(&wgpu::PollType::wait_indefinitely());
        // All callbacks have been called by now: what did not come won't.
        std::future::ready(receiver.try_recv().ok().flatten()).await
    }

    #[cfg(target_arch = "wasm32")]
    async fn done<T>(&self, mut receiver: oneshot::Receiver<T>) -> Option<T> {
        // Firefox looks ten times a second whether work is done, and whenever something is submitted: so something is, each
        // time its answer to the last message has come. The count is for a lost device, where answers come at once.
        for _ in 0..MOST_NUDGES {
            match receiver.try_recv() {
                Ok(None) => self.queue.submit([]),
                Ok(Some(sent)) => return Some(sent),
                Err(oneshot::Canceled) => return None,
            };
            self.device.push_error_scope(wgpu::ErrorFilter::Validation).pop().await;
        }
        receiver.await.ok()
    }

    /// Natively, callbacks are called only from here; browsers call by themselves.
    fn poll(&self, until: &wgpu::PollType) {
        let poll = || self.device.poll(until.clone());
        // wgpu panics where the driver fails while it is waited for.
        let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(poll));
        if polled.is_err() {
            self.faults.lose("its driver failed while it was waited for".into());
        }
    }

    /// The loss that caused an error, or else the error. Firefox tells of a loss some time after the first error that it
    /// causes, but before it tells that all work is done.
    async fn cause(&self, error: DeviceError) -> DeviceError {
        for _ in 0..2 {
            self.work_done().await;
            if let Some(loss) = self.faults.loss() {
                return loss;
            }
        }
        error
    }

    async fn work_done(&self) {
        let (sender, done) = oneshot::channel();
        self.queue.on_submitted_work_done(move || {
            sender.send(()).ok();
        });
        self.done(done).await;
    }

    /// Waits until errors of earlier calls have arrived, and checks.
    async fn settled(&self) -> Result<(), DeviceError> {
        self.poll(&wgpu::PollType::Poll);
        Scopes::open(&self.device, &self.faults).close("nothing", None).await?;
        self.check()
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // In browsers memory would wait for JavaScript's collector.
        self.device.destroy();
    }
}

/// Buffers under way.
#[must_use = "whether there was enough memory is only known when it is done"]
pub struct Allocation<'a> {
    gpu: &'a Gpu,
    waiting: Vec<Waiting>,
}

#[cfg(not(target_arch = "wasm32"))]
type Waiting = Pin<Box<dyn Future<Output = Result<(), DeviceError>> + Send>>;
#[cfg(target_arch = "wasm32")]
type Waiting = Pin<Box<dyn Future<Output = Result<(), DeviceError>>>>;

impl Allocation<'_> {
    /// Asks for one more, as [`Gpu::buffer`] does.
    pub fn buffer(&mut self, label: &str, bytes: u64, usage: BufferUsages) -> Result<Buffer, DeviceError> {
        self.gpu.fits(label, bytes, usage)?;
        self.make(label, bytes, usage)
    }

    /// Asks for one more that is bound part by part, so that the limits of bindings are not its limits.
    pub fn buffer_of_parts(&mut self, label: &str, bytes: u64, usage: BufferUsages) -> Result<Buffer, DeviceError> {
        self.gpu.fits(label, bytes, BufferUsages::empty())?;
        self.make(label, bytes, usage)
    }

    fn make(&mut self, label: &str, bytes: u64, usage: BufferUsages) -> Result<Buffer, DeviceError> {
        self.gpu.check()?;
        let size = bytes.next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT);
        let scopes = Scopes::open(&self.gpu.device, &self.gpu.faults);
        let descriptor = BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
        let buffer = self.gpu.device.create_buffer(&descriptor);
        self.waiting.push(Box::pin(scopes.close(label, Some(size))));
        Ok(buffer)
    }

    /// Waits for all of them. After an error none of them may be used.
    pub async fn done(self) -> Result<(), DeviceError> {
        for buffer in self.waiting {
            if let Err(error) = buffer.await {
                return Err(self.gpu.cause(error).await);
            }
        }
        self.gpu.settled().await
    }
}

impl fmt::Debug for Allocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allocation").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

impl Options {
    /// What is asked for, in words.
    fn asked(&self) -> String {
        let kind = match self.software {
            Software::Last => "any device",
            Software::Only => "software only",
            Software::Never => "hardware only",
        };
        self.name.as_ref().map_or(kind.to_owned(), |name| format!("{kind} with `{name}` in its name"))
    }
}

/// All adapters, at least one; in browsers, the one that the browser offers.
async fn adapters(instance: &Instance, backends: Backends) -> Result<Vec<Adapter>, DeviceError> {
    if cfg!(not(target_arch = "wasm32")) {
        let all = instance.enumerate_adapters(backends).await;
        if !all.is_empty() {
            return Ok(all);
        }
    }
    // Only this tells why there is none.
    let power_preference = wgpu::PowerPreference::HighPerformance;
    let options = wgpu::RequestAdapterOptions { power_preference, ..Default::default() };
    match instance.request_adapter(&options).await {
        Ok(adapter) => Ok(vec![adapter]),
        Err(error) => Err(DeviceError::NoAdapter { tried: error.to_string() }),
    }
}

/// Those that are asked for, the best first.
fn choose<T>(adapters: Vec<T>, options: &Options, info: impl Fn(&T) -> AdapterInfo) -> Vec<T> {
    let name = options.name.as_ref().map(|name| name.to_lowercase());
    let asked_for = |adapter: &T| {
        let info = info(adapter);
        let kind = match options.software {
            Software::Last => true,
            Software::Only => is_software(&info),
            Software::Never => !is_software(&info),
        };
        kind && name.as_ref().is_none_or(|name| info.name.to_lowercase().contains(name))
    };
    let rank = |adapter: &T| {
        let info = info(adapter);
        match info.device_type {
            _ if is_software(&info) => 4,
            DeviceType::DiscreteGpu => 0,
            DeviceType::IntegratedGpu => 1,
            DeviceType::VirtualGpu => 2,
            DeviceType::Other | DeviceType::Cpu => 3,
        }
    };
    let mut chosen: Vec<T> = adapters.into_iter().filter(asked_for).collect();
    chosen.sort_by_key(rank);
    chosen
}

/// WebGPU's defaults, and the larger ones of what is asked for. A device that has less than the defaults is not opened.
fn wanted(adapter: &Limits, limits: Limit) -> Limits {
    let defaults = Limits::defaults();
    match limits {
        Limit::Default => defaults,
        Limit::Device => Limits {
            max_buffer_size: defaults.max_buffer_size.max(adapter.max_buffer_size),
            max_storage_buffer_binding_size: defaults
                .max_storage_buffer_binding_size
                .max(adapter.max_storage_buffer_binding_size),
            max_storage_buffers_per_shader_stage: defaults
                .max_storage_buffers_per_shader_stage
                .max(adapter.max_storage_buffers_per_shader_stage),
            ..defaults
        },
    }
}

/// The errors of a compiler, with the line and the column of each.
fn complaints(info: &wgpu::CompilationInfo) -> impl Iterator<Item = String> {
    let errors = info.messages.iter().filter(|message| message.message_type == wgpu::CompilationMessageType::Error);
    errors.map(|message| match message.location {
        Some(at) => format!("{}:{}: {}", at.line_number, at.line_position, message.message.trim()),
        None => message.message.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(name: &str, device_type: DeviceType) -> AdapterInfo {
        AdapterInfo { name: name.into(), ..AdapterInfo::new(device_type, Backend::Vulkan) }
    }

    fn chosen(options: &Options) -> Vec<String> {
        let adapters = vec![
            adapter("llvmpipe (LLVM 15)", DeviceType::Cpu),
            adapter("SwiftShader", DeviceType::Other),
            adapter("Shared 2", DeviceType::IntegratedGpu),
            adapter("Big 1", DeviceType::DiscreteGpu),
        ];
        choose(adapters, options, Clone::clone).into_iter().map(|info| info.name).collect()
    }

    #[test]
    fn hardware_comes_first_and_software_is_told_by_its_name_too() {
        let of = |software| chosen(&Options { software, ..Options::default() });
        assert_eq!(of(Software::Last), ["Big 1", "Shared 2", "llvmpipe (LLVM 15)", "SwiftShader"]);
        assert_eq!(of(Software::Only), ["llvmpipe (LLVM 15)", "SwiftShader"]);
        assert_eq!(of(Software::Never), ["Big 1", "Shared 2"]);
    }

    #[test]
    fn a_name_is_found_in_any_case() {
        let of = |name: &str| chosen(&Options { name: Some(name.into()), ..Options::default() });
        assert_eq!(of("SHARED"), ["Shared 2"]);
        assert!(of("other").is_empty());
    }

    #[test]
    fn limits_are_never_below_the_defaults_and_only_sizes_above() {
        let small = Limits { max_buffer_size: 1, ..Limits::downlevel_defaults() };
        assert_eq!(wanted(&small, Limit::Device), Limits::defaults());
        let large = wanted(&Limits::unlimited(), Limit::Device);
        assert_eq!(large.max_buffer_size, Limits::unlimited().max_buffer_size);
        assert_eq!(large.max_compute_workgroup_storage_size, Limits::defaults().max_compute_workgroup_storage_size);
        assert_eq!(wanted(&Limits::unlimited(), Limit::Default), Limits::defaults());
    }
}
