//! What can go wrong at the device, and where it is noticed.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock};

use wgpu::{Device, ErrorFilter, ErrorScopeGuard};

/// Why the device did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is no device of the kind asked for.
    NoAdapter {
        /// Where it was looked for, and what was there instead.
        tried: String,
    },
    /// There are devices, but none would be opened.
    Request {
        /// The driver's words for each device.
        why: String,
    },
    /// The device is gone: its driver failed, it was unplugged, or its owner destroyed it. Nothing that it computed after
    /// the last call that went well may be used.
    Lost {
        /// The driver's words.
        reason: String,
    },
    /// More bytes than the device takes in one piece, whatever memory it has.
    TooLarge {
        /// What was to be allocated or bound.
        what: String,
        /// Its bytes.
        bytes: u64,
        /// The limit's name in WebGPU.
        limit: &'static str,
        /// The limit, bytes.
        most: u64,
    },
    /// The device has not enough memory left.
    OutOfMemory {
        /// What was to be allocated.
        what: String,
        /// Its bytes; none where only the driver knows.
        bytes: Option<u64>,
    },
    /// A shader or a command is invalid: a fault in this crate, in its use or in the driver's compiler.
    Validation {
        /// What was being done.
        what: String,
        /// The compiler's or the validator's words.
        message: String,
    },
    /// The driver gave up on something that is valid.
    Driver {
        /// What was being done.
        what: String,
        /// The driver's words.
        message: String,
    },
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAdapter { tried } => write!(f, "no GPU to compute on: {tried}"),
            Self::Request { why } => write!(f, "the GPU could not be opened: {why}"),
            Self::Lost { reason } => write!(f, "the GPU is lost: {reason}"),
            Self::TooLarge { what, bytes, limit, most } => {
                write!(f, "{what} takes {bytes} bytes, and this GPU's {limit} is {most}")
            }
            Self::OutOfMemory { what, bytes: Some(bytes) } => {
                write!(f, "the GPU has no memory left for the {bytes} bytes of {what}")
            }
            Self::OutOfMemory { what, bytes: None } => write!(f, "the GPU has no memory left for {what}"),
            Self::Validation { what, message } => write!(f, "{what} is not valid: {message}"),
            Self::Driver { what, message } => write!(f, "the GPU's driver failed at {what}: {message}"),
        }
    }
}

impl std::error::Error for DeviceError {}

impl DeviceError {
    /// An error of wgpu's at `what`, which takes this many bytes, if that is known.
    fn of(error: wgpu::Error, what: &str, bytes: Option<u64>) -> Self {
        let what = what.to_owned();
        match error {
            wgpu::Error::OutOfMemory { .. } => Self::OutOfMemory { what, bytes },
            wgpu::Error::Validation { description, .. } => Self::Validation { what, message: description },
            wgpu::Error::Internal { description, .. } => Self::Driver { what, message: description },
        }
    }
}

/// What the device reported outside any call that waited for it.
#[derive(Debug, Default)]
pub(super) struct Faults {
    lost: OnceLock<DeviceError>,
    first: OnceLock<DeviceError>,
}

impl Faults {
    /// Listens to a device from now on.
    pub(super) fn of(device: &Device) -> Arc<Self> {
        let faults = Arc::new(Self::default());
        let heard = Arc::clone(&faults);
        device.set_device_lost_callback(move |reason, message| {
            let why = match reason {
                wgpu::DeviceLostReason::Destroyed => "it was destroyed",
                wgpu::DeviceLostReason::Unknown => "its driver failed",
            };
            heard.lose(if message.is_empty() { why.to_owned() } else { format!("{why} ({message})") });
        });
        let heard = Arc::clone(&faults);
        // Without a handler of one's own wgpu panics here.
        device.on_uncaptured_error(Arc::new(move |error| {
            heard.first.get_or_init(|| DeviceError::of(error, "a command", None));
        }));
        faults
    }

    /// The device is gone; the first reason stays.
    pub(super) fn lose(&self, reason: String) {
        self.lost.get_or_init(|| DeviceError::Lost { reason });
    }

    /// The loss, if there was one.
    pub(super) fn loss(&self) -> Option<DeviceError> {
        self.lost.get().cloned()
    }

    /// The loss, or else the first error.
    pub(super) fn check(&self) -> Result<(), DeviceError> {
        match self.lost.get().or_else(|| self.first.get()) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }
}

/// Catches every error of the calls between [`Self::open`] and [`Self::close`], which must be on one thread.
pub(super) struct Scopes {
    faults: Arc<Faults>,
    validation: ErrorScopeGuard,
    memory: ErrorScopeGuard,
    internal: ErrorScopeGuard,
}

impl Scopes {
    pub(super) fn open(device: &Device, faults: &Arc<Faults>) -> Self {
        Self {
            faults: Arc::clone(faults),
            validation: device.push_error_scope(ErrorFilter::Validation),
            memory: device.push_error_scope(ErrorFilter::OutOfMemory),
            internal: device.push_error_scope(ErrorFilter::Internal),
        }
    }

    /// The scopes end now; whether anything was caught is known when the future is done. `bytes` belong to `what`.
    pub(super) fn close(
        self,
        what: &str,
        bytes: Option<u64>,
    ) -> impl Future<Output = Result<(), DeviceError>> + wgpu::WasmNotSend + use<> {
        let Self { faults, validation, memory, internal } = self;
        let internal = internal.pop();
        let (memory, validation) = (memory.pop(), validation.pop());
        let what = what.to_owned();
        async move {
            // wgpu's translation of a browser's internal errors panics, so they are dropped there untranslated. Only
            // pipelines have them, and `Gpu::pipeline` notices in another way.
            let internal = if cfg!(target_arch = "wasm32") { None } else { internal.await };
            let (memory, validation) = (memory.await, validation.await);
            // Of a lost device nothing else is worth telling.
            faults.check()?;
            match internal.or(memory).or(validation) {
                Some(error) => Err(DeviceError::of(error, &what, bytes)),
                None => Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DeviceError, Faults};

    #[test]
    fn the_first_error_stays_and_a_loss_outweighs_it() {
        let faults = Faults::default();
        assert_eq!(faults.check(), Ok(()));
        let error = |what: &str| DeviceError::OutOfMemory { what: what.into(), bytes: None };
        faults.first.get_or_init(|| error("one"));
        faults.first.get_or_init(|| error("two"));
        assert_eq!(faults.check(), Err(error("one")));
        faults.lose("unplugged".into());
        faults.lose("unplugged again".into());
        assert_eq!(faults.check(), Err(DeviceError::Lost { reason: "unplugged".into() }));
    }

    #[test]
    fn errors_tell_their_numbers() {
        let limit = "maxBufferSize";
        let error = DeviceError::TooLarge { what: "the keys".into(), bytes: 300, limit, most: 200 };
        assert_eq!(error.to_string(), "the keys takes 300 bytes, and this GPU's maxBufferSize is 200");
        let error = DeviceError::OutOfMemory { what: "the keys".into(), bytes: Some(300) };
        assert_eq!(error.to_string(), "the GPU has no memory left for the 300 bytes of the keys");
    }
}
