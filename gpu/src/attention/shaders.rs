//! The kernels' sources, put together for the sizes of a layer.

use super::plan::Plan;
use crate::state::{BLOCK, Carrier, Config, DECAYS, Memory, RANK, Storage, TERMS};
use std::fmt::Write as _;

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kernel {
    Append,
    Pieces,
    CellPieces,
    DecayRead,
    Merge,
    See,
    Accept,
    Look,
    Rank,
    DecayDrop,
    CellsDrop,
    CellsFinish,
    Shift,
}

const NUMBER: &str = include_str!("kernels/number.wgsl");
const LOGARITHM: &str = include_str!("kernels/logarithm.wgsl");
const LAYER: &str = include_str!("kernels/layer.wgsl");

/// Pieces that one work-group sums: 16 threads share a piece.
pub(super) const AT_ONCE: u32 = 4;

/// How a kernel uses a storage buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

use Access::{Read, Write};

impl Kernel {
    /// Those that a layer needs.
    pub(super) fn of(config: &Config, carrier: &Carrier) -> Vec<Self> {
        let mut all = vec![Self::Append, Self::Pieces, Self::Merge, Self::Accept];
        if matches!(config.memory(), Memory::Constant(_)) {
            all.extend([Self::See, Self::Look, Self::Rank, Self::Shift]);
            match carrier {
                Carrier::None => {}
                Carrier::Decay(_) => all.extend([Self::DecayRead, Self::DecayDrop]),
                Carrier::Cells(_) => all.extend([Self::CellPieces, Self::CellsDrop, Self::CellsFinish]),
            }
        }
        all
    }

    /// The function's name in its source.
    pub(super) const fn entry(self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::Pieces | Self::CellPieces => "pieces",
            Self::DecayRead => "decay_read",
            Self::Merge => "merge",
            Self::See => "see",
            Self::Accept => "accept",
            Self::Look => "look",
            Self::Rank => "rank",
            Self::DecayDrop => "decay_drop",
            Self::CellsDrop => "cells_drop",
            Self::CellsFinish => "cells_finish",
            Self::Shift => "shift",
        }
    }

    /// Its storage buffers, from binding 1 on; binding 0 is the layer's uniform buffer.
    pub(super) const fn storage(self) -> &'static [Access] {
        match self {
            Self::Append | Self::Rank | Self::CellsFinish => &[Read, Read, Write, Write, Write],
            Self::Pieces => &[Read, Read, Read, Write, Write, Write],
            Self::CellPieces => &[Read, Read, Read, Write, Write, Write, Read, Read],
            Self::DecayRead => &[Read, Read, Write, Write, Read],
            Self::Merge => &[Read, Read, Write, Write],
            Self::See => &[Read, Read, Write],
            Self::Accept => &[Write, Write],
            Self::Look => &[Read, Write],
            Self::DecayDrop | Self::CellsDrop => &[Read, Read, Read, Write, Read],
            Self::Shift => &[Write, Write, Read],
        }
    }

    /// Bytes of work-group memory.
    pub(super) const fn workgroup_bytes(self, config: &Config, lanes: u32) -> u32 {
        // Vectors of three lie as those of four.
        let number = if lanes == 2 { 8 } else { 16 };
        match self {
            Self::Pieces | Self::CellPieces => {
                number * (config.shape().head_dim + AT_ONCE * BLOCK + 64) + 4 * AT_ONCE * BLOCK
            }
            Self::DecayRead => 4 * (TERMS as u32 + 64),
            Self::DecayDrop => 4 * 64 * (TERMS + DECAYS) as u32,
            Self::Merge | Self::CellsDrop => 4 * 128,
            Self::Rank => 16 * 72 + 8 * 64 + 4 * 128,
            _ => 0,
        }
    }

    fn parts(self, storage: Storage) -> Vec<&'static str> {
        let stored = match storage {
            Storage::F16 => include_str!("kernels/storage_f16.wgsl"),
            Storage::F32 => include_str!("kernels/storage_f32.wgsl"),
        };
        match self {
            Self::Append => vec![stored, include_str!("kernels/append.wgsl")],
            Self::Pieces => {
                let source = include_str!("kernels/source_rows.wgsl");
                vec![NUMBER, stored, source, include_str!("kernels/pieces.wgsl")]
            }
            Self::CellPieces => {
                vec![NUMBER, include_str!("kernels/source_cells.wgsl"), include_str!("kernels/pieces.wgsl")]
            }
            Self::DecayRead => vec![NUMBER, LOGARITHM, include_str!("kernels/decay_read.wgsl")],
            Self::Merge => vec![NUMBER, include_str!("kernels/merge.wgsl")],
            Self::See => vec![include_str!("kernels/seen.wgsl")],
            Self::Accept => vec![stored, include_str!("kernels/accept.wgsl")],
            Self::Look => vec![include_str!("kernels/looks.wgsl")],
            Self::Rank => vec![include_str!("kernels/rank.wgsl")],
            Self::DecayDrop => vec![NUMBER, LOGARITHM, stored, include_str!("kernels/decay_drop.wgsl")],
            Self::CellsDrop => vec![NUMBER, stored, include_str!("kernels/cells_drop.wgsl")],
            Self::CellsFinish => vec![NUMBER, LOGARITHM, include_str!("kernels/cells_finish.wgsl")],
            Self::Shift => vec![stored, include_str!("kernels/shift.wgsl")],
        }
    }

    /// The source for a layer of these sizes.
    pub(super) fn source(self, config: &Config, carrier: &Carrier, plan: &Plan) -> String {
        let shape = config.shape();
        let (cells, image) = match carrier {
            Carrier::Cells(of) => (of.cells, of.rank),
            _ => (0, 0),
        };
        let constants = [
            ("D", shape.head_dim),
            ("D4", shape.head_dim / 4),
            ("HEADS", shape.heads),
            ("KV_HEADS", shape.kv_heads),
            ("GROUP", shape.group()),
            ("LANES", plan.lanes),
            ("TILES", plan.tiles),
            ("AT_ONCE", AT_ONCE),
            ("CARRIER_PIECES", carrier.pieces()),
            ("CELLS", cells),
            ("IMAGE", image),
            ("RANK", RANK as u32),
            ("TERMS", TERMS as u32),
            ("DECAYS", DECAYS as u32),
            ("SURPRISES", (plan.sizes.surprises / 4).max(1) as u32),
        ];
        let mut text = String::new();
        for (name, value) in constants {
            writeln!(text, "const {name}: u32 = {value}u;").unwrap_or_default();
        }
        writeln!(text, "const LOOKS: bool = {};", matches!(config.memory(), Memory::Constant(_))).unwrap_or_default();
        let (num, int) = match self {
            Self::Pieces | Self::CellPieces => (format!("vec{}<f32>", plan.lanes), format!("vec{}<i32>", plan.lanes)),
            _ => ("f32".into(), "i32".into()),
        };
        writeln!(text, "alias Num = {num};\nalias NumInt = {int};").unwrap_or_default();
        for part in [LAYER].into_iter().chain(self.parts(config.storage())) {
            text.push('\n');
            text.push_str(part);
        }
        text
    }
}
