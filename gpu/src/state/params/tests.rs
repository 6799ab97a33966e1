//! Round trips, each error, and files that are damaged at every byte.

use super::*;
use crate::state::HALF_LIVES;

const SHAPE: Shape = Shape { heads: 4, kv_heads: 2, head_dim: 8 };

/// Numbers that differ from element to element and from field to field.
fn numbers(len: u32, seed: u32) -> Vec<f32> {
    (0..len).map(|index| (index * 7 + seed) as f32 / 16. - 3.).collect()
}

fn decay() -> Decay {
    Decay {
        bias: numbers(4 * 8, 1),
        mix: numbers(4 * 5, 50),
        half_life: HALF_LIVES.iter().copied().cycle().take(4 * 5).collect(),
        phi: numbers(4 * 8 * 8, 2),
        phi_bias: numbers(4 * 8, 3),
        psi: numbers(4 * 8 * 8, 4),
        psi_bias: numbers(4 * 8, 5),
    }
}

fn cells() -> Cells {
    Cells {
        cells: 3,
        rank: 5,
        codebook: numbers(2 * 3 * 8, 1),
        beta: numbers(2 * 3, 2),
        mean: numbers(2 * 8, 3),
        metric: numbers(2 * 5 * 8, 4),
        kappa: numbers(4, 5),
        delta: numbers(4, 6),
    }
}

fn three() -> ([Carrier; 3], [Shape; 3]) {
    ([Carrier::Decay(decay()), Carrier::None, Carrier::Cells(cells())], [SHAPE; 3])
}

/// A file of these tensors: name, dimensions, bytes.
fn file(tensors: &[(&str, Dtype, &[usize])]) -> Vec<u8> {
    let bytes = vec![0; 1 << 16];
    let view = |dtype: Dtype, shape: &[usize]| {
        let len = shape.iter().product::<usize>() * dtype.bitsize() / 8;
        TensorView::new(dtype, shape.to_vec(), &bytes[..len]).unwrap()
    };
    let views = tensors.iter().map(|&(name, dtype, shape)| (name, view(dtype, shape)));
    safetensors::serialize(views, None).unwrap()
}

fn with_header(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

fn error_of(tensors: &[(&str, Dtype, &[usize])]) -> ParamsError {
    read(&file(tensors), &[SHAPE; 3]).unwrap_err()
}

#[test]
fn what_is_written_is_read() {
    let (carriers, shapes) = three();
    assert_eq!(read(&write(&carriers, &shapes).unwrap(), &shapes).unwrap(), carriers);
    let none = [Carrier::None];
    assert_eq!(read(&write(&none, &[SHAPE]).unwrap(), &[SHAPE]).unwrap(), none);
    assert_eq!(read(&write(&[], &[]).unwrap(), &[]).unwrap(), []);
}

#[test]
fn fields_are_not_mixed_up() {
    // Bytes of the file, found by the header and not by this module's reader.
    let bytes = write(&three().0, &three().1).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let found = |name: &str| -> Vec<f32> {
        let view = tensors.tensor(name).unwrap();
        view.data().chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
    };
    assert_eq!(found("layers.0.decay.psi_bias"), decay().psi_bias);
    assert_eq!(found("layers.0.decay.half_life"), decay().half_life);
    assert_eq!(found("layers.2.cells.metric"), cells().metric);
    assert_eq!(tensors.tensor("layers.2.cells.metric").unwrap().shape(), [2, 5, 8]);
    assert_eq!(tensors.len(), 7 + 6);
}

#[test]
fn names_that_stand_for_nothing_are_told() {
    for name in [
        "layers.0.decay.biass",
        "layers.0.decay",
        "layers.0.cells.bias",
        "layers.0.other.bias",
        "layers.00.decay.bias",
        "layers.+1.decay.bias",
        "layers.-1.decay.bias",
        "layers.99999999999999999999999.decay.bias",
        "layer.0.decay.bias",
        "decay.bias",
        "",
    ] {
        let tensor = name.to_string();
        assert_eq!(error_of(&[(name, Dtype::F32, &[4, 8])]), ParamsError::UnknownTensor { tensor }, "{name}");
    }
    let tensor = "layers.3.decay.bias".to_string();
    assert_eq!(
        error_of(&[(&tensor, Dtype::F32, &[4, 8])]),
        ParamsError::NoSuchLayer { tensor: tensor.clone(), layers: 3 }
    );
}

#[test]
fn a_layer_has_all_of_one_carrier() {
    let both = error_of(&[("layers.1.decay.bias", Dtype::F32, &[4, 8]), ("layers.1.cells.beta", Dtype::F32, &[2, 3])]);
    assert_eq!(both, ParamsError::TwoCarriers { layer: 1 });
    let bytes = write(&three().0, &three().1).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let names: Vec<&str> = tensors.names();
    for left_out in names {
        let kept = tensors.iter().filter(|&(name, _)| name != left_out);
        let bytes = safetensors::serialize(kept, None).unwrap();
        let tensor = left_out.to_string();
        assert_eq!(read(&bytes, &[SHAPE; 3]), Err(ParamsError::Missing { tensor }));
    }
}

#[test]
fn types_and_shapes_are_told_with_what_was_wanted() {
    let tensor = || "layers.0.decay.bias".to_string();
    let error = error_of(&[(&tensor(), Dtype::F16, &[4, 8])]);
    assert_eq!(error, ParamsError::Dtype { tensor: tensor(), found: Dtype::F16 });
    assert_eq!(error.to_string(), "tensor \"layers.0.decay.bias\" is F16, and should be F32");
    for found in [&[8, 4][..], &[32], &[4, 8, 1], &[], &[0, 8]] {
        let error = error_of(&[(&tensor(), Dtype::F32, found)]);
        assert_eq!(error, ParamsError::Dimensions { tensor: tensor(), found: found.to_vec(), wanted: vec![4, 8] });
    }
    let codebook = || "layers.0.cells.codebook".to_string();
    for (found, dimensions) in [(0, [2, 0, 8]), (4097, [1, 4097, 1])] {
        let error = error_of(&[(&codebook(), Dtype::F32, &dimensions)]);
        assert_eq!(error, ParamsError::Count { tensor: codebook(), found, most: 4096 });
    }
    let error = error_of(&[("layers.0.cells.metric", Dtype::F32, &[2, 9, 8])]);
    assert_eq!(error, ParamsError::Count { tensor: "layers.0.cells.metric".to_string(), found: 9, most: 8 });
    let error = error_of(&[(&codebook(), Dtype::F32, &[2, 24])]);
    assert!(matches!(error, ParamsError::Dimensions { .. }), "{error}");
}

#[test]
fn numbers_that_no_carrier_can_use_are_told() {
    let error = |change: fn(&mut Decay)| {
        let mut changed = decay();
        change(&mut changed);
        Carrier::Decay(changed).check(SHAPE).unwrap_err()
    };
    let value = |tensor: &str, index, number: f32, wanted| ParamsError::Value {
        tensor: tensor.to_string(),
        index,
        bits: number.to_bits(),
        wanted,
    };
    let nan = error(|decay| decay.bias[3] = f32::NAN);
    assert_eq!(nan, value("decay.bias", 3, f32::NAN, "a finite number"));
    assert_eq!(nan.to_string(), "tensor \"decay.bias\": element 3 is NaN, and should be a finite number");
    let infinite = error(|decay| decay.psi[0] = f32::INFINITY);
    assert_eq!(infinite, value("decay.psi", 0, f32::INFINITY, "a finite number"));
    let wanted = "a finite number that is not negative";
    assert_eq!(error(|decay| decay.mix[19] = -1e-9), value("decay.mix", 19, -1e-9, wanted));
    assert_eq!(error(|decay| decay.mix[0] = f32::NAN), value("decay.mix", 0, f32::NAN, wanted));
    let wanted = "a half-life of the catalogue";
    assert_eq!(error(|decay| decay.half_life[7] = 15.), value("decay.half_life", 7, 15., wanted));
    let mut changed = cells();
    changed.kappa[1] = f32::NEG_INFINITY;
    // In a file, the tensor's name has the layer.
    let carriers = [Carrier::None, Carrier::Cells(changed)];
    let found = write(&carriers, &[SHAPE; 2]).unwrap_err();
    assert_eq!(found, value("layers.1.cells.kappa", 1, f32::NEG_INFINITY, "a finite number"));
}

#[test]
fn lengths_and_counts_are_told() {
    let mut short = decay();
    short.phi.pop();
    let error = Carrier::Decay(short).check(SHAPE);
    assert_eq!(error, Err(ParamsError::Len { tensor: "decay.phi".to_string(), found: 255, wanted: 256 }));
    let count = |cells: Cells| Carrier::Cells(cells).check(SHAPE).unwrap_err();
    let tensor = || "cells.codebook".to_string();
    assert_eq!(count(Cells { cells: 0, ..cells() }), ParamsError::Count { tensor: tensor(), found: 0, most: 4096 });
    assert_eq!(
        count(Cells { cells: 4097, ..cells() }),
        ParamsError::Count { tensor: tensor(), found: 4097, most: 4096 }
    );
    assert_eq!(count(Cells { cells: 4, ..cells() }), ParamsError::Len { tensor: tensor(), found: 48, wanted: 64 });
    assert_eq!(
        count(Cells { rank: 9, ..cells() }),
        ParamsError::Count { tensor: "cells.metric".to_string(), found: 9, most: 8 }
    );
    let huge = Shape { heads: u32::MAX, kv_heads: u32::MAX, head_dim: u32::MAX };
    assert!(matches!(Carrier::Decay(decay()).check(huge), Err(ParamsError::Len { .. })));
    assert_eq!(Carrier::None.check(SHAPE), Ok(()));
    let error = write(&[Carrier::None], &[SHAPE; 2]);
    assert_eq!(error, Err(ParamsError::LayerCount { carriers: 1, shapes: 2 }));
}

#[test]
fn headers_that_claim_too_much_are_refused() {
    let shapes = [SHAPE];
    assert_eq!(read(&[], &shapes), Err(ParamsError::Short { needs: 8, len: 0 }));
    assert_eq!(read(&[255; 9], &shapes), Err(ParamsError::Short { needs: u64::MAX, len: 9 }));
    assert_eq!(read(&with_header("{}", &[0]), &shapes), Err(ParamsError::DataLen { declared: 0, len: 1 }));
    let fault = |header: &str| match read(&with_header(header, &[]), &shapes) {
        Err(ParamsError::File { fault }) => fault,
        other => panic!("{other:?}"),
    };
    for header in ["", "[]", "{", "{\"a\":1}", &"[".repeat(100_000)] {
        assert!(!fault(header).is_empty());
    }
    // Sixteen tensors of which the last ends so near 2^64 that no header can be added.
    let step = 1_u64 << 60;
    let tensors = (0..16).map(|tensor| {
        let (start, end) = (tensor * step, (tensor * step) + (step - 1) + u64::from(tensor < 15));
        let len = end - start;
        format!("\"{tensor}\":{{\"dtype\":\"U8\",\"shape\":[{len}],\"data_offsets\":[{start},{end}]}}")
    });
    let header = format!("{{{}}}", tensors.collect::<Vec<_>>().join(","));
    let error = read(&with_header(&header, &[]), &shapes).unwrap_err();
    if usize::BITS == 64 {
        assert_eq!(error, ParamsError::DataLen { declared: usize::MAX, len: 0 });
    }
}

#[test]
fn a_file_that_is_cut_or_changed_at_any_byte_is_safe() {
    let (carriers, shapes) = three();
    let bytes = write(&carriers, &shapes).unwrap();
    for cut in 0..bytes.len() {
        assert!(read(&bytes[..cut], &shapes).is_err(), "cut at {cut}");
    }
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut changed = bytes.clone();
    for at in 0..bytes.len() {
        let bits = if at < header { 0..8 } else { 5..8 };
        for bit in bits {
            changed[at] ^= 1 << bit;
            if let Ok(read) = read(&changed, &shapes) {
                // Another number, or names of which one became another in the right place.
                assert!(at >= 8);
                assert!(read.iter().zip(shapes).all(|(carrier, shape)| carrier.check(shape).is_ok()));
            }
            changed[at] ^= 1 << bit;
        }
    }
    assert_eq!(read(&changed, &shapes).unwrap(), carriers);
}
