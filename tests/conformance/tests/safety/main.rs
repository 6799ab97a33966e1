//! Safe on any bytes: truncations, changed bytes, lengths at their extremes, filled tails, and memory.
//!
//! What "safe" means is in `mrail_conformance::fuzz::exercise`: it opens, asks, merges, repairs, appends and opens again,
//! and checks what is promised. Here it meets every sample map in every way it can be damaged.

mod cuts;
mod fields;
mod memory;
mod peak;
mod samples;
mod slices;
mod speed;
mod stretches;
mod values;
