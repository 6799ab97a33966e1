//! What a pass makes a device do to one layer, as a pure function: which kernels with how many work-groups, and how many bytes
//! they read. Encoding goes through the same list.

use super::layer::LayerSetup;
use super::pass::{Pass, Segment};
use super::plan::{Plan, THREADS};
use super::shaders::{AT_ONCE, Kernel};
use crate::state::{Admission, BLOCK, Carrier, DECAYS, RANK, Shape, TERMS};

/// What a pass does to one layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Kernels in their order, each with its work-groups.
    pub dispatches: Vec<(&'static str, [u32; 3])>,
    /// Bytes that the kernels read from storage buffers. What several work-groups of one dispatch read counts once: this is
    /// what a device with a perfect cache of one dispatch fetches. Where it depends on numbers (how much of a block the store
    /// takes), the most.
    pub bytes_read: u64,
}

impl Pass {
    /// What this pass does to a layer that was set up and laid out so.
    pub fn work(&self, setup: &LayerSetup, plan: &Plan) -> Work {
        let mut work = Work::default();
        for segment in &self.segments {
            for (kernel, groups) in of_segment(setup, plan, segment) {
                work.dispatches.push((kernel.entry(), groups));
                work.bytes_read += bytes_read(kernel, setup, segment);
            }
        }
        work
    }
}

/// A kernel and its work-groups.
pub(super) type Dispatch = (Kernel, [u32; 3]);

/// Everything that a segment does to a layer, in order.
pub(super) fn of_segment(setup: &LayerSetup, plan: &Plan, segment: &Segment) -> Vec<Dispatch> {
    let shape = setup.config.shape();
    let rows = segment.tree.rows() as u32;
    let band = (segment.last() - segment.start) / BLOCK + 1;
    let stored = (0..shape.kv_heads as usize).map(|head| setup.config.store(head).min(segment.start) / BLOCK);
    let pieces = band + stored.max().unwrap_or(0);
    let tiles = shape.kv_heads * plan.tiles;
    let mut all = if segment.turns { of_turnover(setup) } else { Vec::new() };
    all.extend([
        (Kernel::Append, [parts(shape), rows, 1]),
        (Kernel::Pieces, [pieces.div_ceil(AT_ONCE), tiles, rows]),
        (Kernel::DecayRead, [shape.heads, rows, 1]),
        (Kernel::CellPieces, [setup.carrier.pieces().div_ceil(AT_ONCE), tiles, rows]),
        (Kernel::Merge, [shape.heads, rows, 1]),
        (Kernel::See, [band, shape.kv_heads, rows]),
    ]);
    all.extend(of_acceptance(setup, segment));
    there(setup, all)
}

/// Taking in the rows of a segment's path.
pub(super) fn of_acceptance(setup: &LayerSetup, segment: &Segment) -> Vec<Dispatch> {
    let shape = setup.config.shape();
    let accepted = segment.path.len() as u32;
    if accepted == 0 {
        return Vec::new();
    }
    let band = (segment.first + accepted - 1 - segment.start) / BLOCK + 1;
    there(setup, vec![(Kernel::Accept, [parts(shape), accepted, 1]), (Kernel::Look, [band, shape.kv_heads, 1])])
}

/// Making what is read of the cells from their sums.
pub(super) fn of_cells(setup: &LayerSetup) -> Option<Dispatch> {
    let Carrier::Cells(of) = &setup.carrier else { return None };
    Some((Kernel::CellsFinish, [(setup.config.shape().kv_heads * of.cells).div_ceil(THREADS), 1, 1]))
}

fn of_turnover(setup: &LayerSetup) -> Vec<Dispatch> {
    let shape = setup.config.shape();
    let mut all = vec![
        (Kernel::Rank, [shape.kv_heads, 1, 1]),
        // Before the rows of what drops out are written over.
        (Kernel::DecayDrop, [shape.heads, 1, 1]),
        (Kernel::CellsDrop, [shape.kv_heads, 1, 1]),
    ];
    all.extend(of_cells(setup));
    all.push((Kernel::Shift, [parts(shape), BLOCK, 1]));
    all
}

/// Those of kernels that a layer of this kind has.
fn there(setup: &LayerSetup, mut dispatches: Vec<Dispatch>) -> Vec<Dispatch> {
    let kernels = Kernel::of(&setup.config, &setup.carrier);
    dispatches.retain(|(kernel, _)| kernels.contains(kernel));
    dispatches
}

/// Work-groups that take the keys of one row.
fn parts(shape: Shape) -> u32 {
    (shape.kv_heads * shape.head_dim / 4).div_ceil(THREADS)
}

/// One KV head and what of a segment concerns it.
struct Head {
    /// Tokens in its store when the rows read, and before a block leaves.
    stored: u64,
    stored_before: u64,
    /// A token has entered the carrier.
    carries: bool,
    /// Tokens of the block that leaves, or of the store, enter the carrier.
    drops: bool,
    /// From how many positions away a look counts, where the head ranks by looks.
    look: Option<u64>,
}

/// Bytes that a kernel of a segment reads: see [`Work::bytes_read`].
fn bytes_read(kernel: Kernel, setup: &LayerSetup, segment: &Segment) -> u64 {
    let shape = setup.config.shape();
    let heads = (0..shape.kv_heads as usize).map(|head| {
        let store = setup.config.store(head);
        let before = segment.start.saturating_sub(BLOCK);
        Head {
            stored: store.min(segment.start).into(),
            stored_before: store.min(before).into(),
            carries: segment.start > store,
            drops: before >= store,
            look: match setup.config.admission(head) {
                Some(Admission::Look { from }) => Some(from.into()),
                _ => None,
            },
        }
    });
    heads.map(|head| bytes_of_head(kernel, setup, segment, &head)).sum()
}

fn bytes_of_head(kernel: Kernel, setup: &LayerSetup, segment: &Segment, head: &Head) -> u64 {
    let shape = setup.config.shape();
    let (dim, group, block) = (u64::from(shape.head_dim), u64::from(shape.group()), u64::from(BLOCK));
    let (rank, decays, terms) = (RANK as u64, DECAYS as u64, TERMS as u64);
    // A key and a value.
    let pair = 2 * dim * u64::from(setup.config.storage().size());
    let (rows, accepted) = (segment.tree.rows() as u64, segment.path.len() as u64);
    let in_band = u64::from(segment.first - segment.start);
    // Tokens of the band that a row at this depth sees, itself included.
    let seen = |depth: u64| in_band + depth + 1;
    let depths = || segment.tree.nodes().iter().map(|node| u64::from(node.depth));
    let (cells, image) = match &setup.carrier {
        Carrier::Cells(of) => (u64::from(of.cells), u64::from(of.rank)),
        _ => (0, 0),
    };
    let queries = 4 * rows * group * dim;
    let drops = if head.drops { block } else { 0 };
    let idle = match kernel {
        Kernel::CellPieces | Kernel::DecayRead => !head.carries,
        Kernel::CellsDrop => !head.drops,
        _ => false,
    };
    if idle {
        return 0;
    }
    match kernel {
        Kernel::Append => 8 * rows * dim,
        Kernel::Pieces => queries + pair * (head.stored + in_band + rows),
        Kernel::CellPieces => queries + cells * (8 * dim + 8) + 8 * group,
        Kernel::DecayRead => queries + 4 * group * (decays * terms * (dim + 1) + rank * dim + rank + 2 * decays),
        Kernel::Merge => {
            let carrier = if head.carries { u64::from(setup.carrier.pieces()) } else { 0 };
            let pieces = depths().map(|depth| carrier + head.stored / block + seen(depth).div_ceil(block));
            group * (4 * dim + 8) * pieces.sum::<u64>()
        }
        Kernel::See => head.look.map_or(0, |from| {
            // Of tokens that are too near no weight is read.
            let far = depths().map(|depth| (seen(depth)).saturating_sub(from));
            4 * group * (far.clone().sum::<u64>() + far.map(|far| far.div_ceil(block)).sum::<u64>())
        }),
        Kernel::Accept => pair * accepted,
        Kernel::Look => 4 * in_band + head.look.map_or(0, |_| 4 * (0..accepted).map(seen).sum::<u64>()),
        Kernel::Rank => {
            let table = if head.drops { 8 * head.stored_before } else { 0 };
            // The surprises of a block and of the window around it.
            table + 4 * head.look.map_or(block + 16, |_| block)
        }
        Kernel::DecayDrop => {
            let parameters = if head.drops { dim + rank * dim + rank + decays } else { decays };
            drops * (pair + 16) + 4 * group * (decays * terms * (dim + 1) + parameters)
        }
        Kernel::CellsDrop => {
            let parameters = cells * dim + cells + dim + image * dim;
            drops * (pair + 16) + 4 * (parameters + drops.min(cells) * (2 * dim + 2))
        }
        Kernel::CellsFinish => 4 * (cells * (2 * dim + 2) + dim + image * dim),
        Kernel::Shift => block * (pair + 16),
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Wanted, plan};
    use super::super::tree::Tree;
    use super::*;
    use crate::state::{Config, Memory, Storage};

    const SHAPE: Shape = Shape { heads: 28, kv_heads: 4, head_dim: 128 };

    fn layer(native: bool, carrier: Carrier) -> (LayerSetup, Plan) {
        let look = Admission::Look { from: 16 };
        let config = if native {
            Config::new(SHAPE, Storage::F16, Memory::Native)
        } else {
            Config::uniform(SHAPE, Storage::F16, 256, 512, look)
        };
        let setup = LayerSetup::plain(config.expect("good sizes")).with_carrier(carrier);
        let wanted = Wanted { capacity: 70_000, ..Wanted::default() };
        let plan = plan(&wgpu::Limits::defaults(), &setup.config, &setup.carrier, wanted).expect("it fits");
        (setup, plan)
    }

    fn one_row((setup, plan): &(LayerSetup, Plan), first: u32) -> Work {
        let schedule = setup.config.schedule();
        let start = schedule.band_start(first);
        let turns = start != schedule.left(first);
        let tree = Tree::chain(1).expect("a tree");
        let segment = Segment { first, start, turns, offset: 0, tree, path: vec![0], at: 0, serial: 0 };
        Pass { segments: vec![segment], epoch: 0 }.work(setup, plan)
    }

    #[test]
    fn in_constant_state_work_depends_on_the_place_in_the_block_alone() {
        let constant = layer(false, Carrier::None);
        for place in [0, 1, 63] {
            let works = [1024, 4096, 16_384, 65_536].map(|tokens| one_row(&constant, tokens + place));
            assert!(works.windows(2).all(|pair| pair[0] == pair[1]), "{works:?}");
        }
        let (at_growth, behind) = (one_row(&constant, 16_384), one_row(&constant, 16_385));
        let names = |work: &Work| work.dispatches.iter().map(|dispatch| dispatch.0).collect::<Vec<_>>();
        assert_eq!(names(&behind), ["append", "pieces", "merge", "see", "accept", "look"]);
        assert_eq!(names(&at_growth), [vec!["rank", "shift"], names(&behind)].concat());
        // Keys and values of store and band are nearly all.
        let exact = 4 * (512 + 256 + 2) * 2 * 128 * 2;
        assert!((exact..exact * 5 / 4).contains(&behind.bytes_read), "{} of {exact}", behind.bytes_read);
    }

    #[test]
    fn in_native_mode_work_grows() {
        let native = layer(true, Carrier::None);
        let [short, long] = [16_384, 65_536].map(|tokens| one_row(&native, tokens));
        assert_eq!(short.dispatches[1], ("pieces", [65, 8, 1]));
        assert_eq!(long.dispatches[1], ("pieces", [257, 8, 1]));
        assert!(long.bytes_read > 3 * short.bytes_read);
    }
}
