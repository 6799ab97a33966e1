//! Anchored states: whole snapshots and deltas.
