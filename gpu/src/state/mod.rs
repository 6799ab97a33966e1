//! What one layer remembers: its sizes, when tokens move, the carriers' parameters, and its bytes in a snapshot.
//!
//! Nothing here touches a device: these are the values that the kernels, their twins and whoever tests them agree on.

mod carrier;
mod config;
pub mod params;
mod schedule;
pub mod snapshot;

pub use carrier::{Carrier, Cells, DECAYS, Decay, HALF_LIVES, RANK, TERMS};
pub use config::{Admission, Config, ConfigError, Constant, HeadMemory, MAX_KV_HEADS, Memory, Shape, Storage};
pub use params::ParamsError;
pub use schedule::{BLOCK, Schedule};
pub use snapshot::{CarrierSnapshot, HeadSnapshot, LayerSnapshot};
