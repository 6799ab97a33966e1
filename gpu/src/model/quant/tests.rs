//! Every number here is exact, so all comparisons are.
#![allow(clippy::float_cmp)]

use super::*;

fn numbers(element: Element, blocks: &[u8]) -> Vec<f32> {
    let len = blocks.len() / element.block_bytes() as usize * element.block_len() as usize;
    let mut out = vec![f32::NAN; len];
    dequantise(element, blocks, &mut out).unwrap();
    out
}

/// 1 and 0.5 in half precision.
const ONE: [u8; 2] = [0, 0x3C];
const HALF: [u8; 2] = [0, 0x38];

#[test]
fn the_table_is_in_the_order_of_the_types() {
    for (at, element) in Element::ALL.into_iter().enumerate() {
        assert_eq!(element as usize, at);
        assert_eq!(Element::of_id(element.id()), Some(element));
        assert_eq!(Element::name_of_id(element.id()), Some(element.name()));
    }
    assert!(OTHERS.iter().all(|(id, _)| Element::of_id(*id).is_none()));
    assert_eq!(Element::name_of_id(16), Some("IQ2_XXS"));
    assert_eq!(Element::name_of_id(4), None);
}

#[test]
fn bytes_are_those_of_whole_blocks() {
    assert_eq!(Element::Q4_1.bytes_of(576), Some(360));
    assert_eq!(Element::Q4_1.bytes_of(577), None);
    assert_eq!(Element::Q6K.bytes_of(256), Some(210));
    assert_eq!(Element::F32.bytes_of(u64::MAX), None);
    assert_eq!(Element::Q8_0.bytes_of(u64::MAX / 32 * 32), None);
    assert_eq!(Element::F16.bytes_of(0), Some(0));
}

#[test]
fn lengths_that_disagree_are_errors() {
    let mut out = [0.0; 32];
    let error = dequantise(Element::Q8_0, &[0; 35], &mut out);
    assert_eq!(error, Err(QuantError { element: Element::Q8_0, bytes: 35, numbers: 32 }));
    assert!(dequantise(Element::Q8_0, &[0; 34], &mut out[..31]).is_err());
    assert!(dequantise(Element::Q8_0, &[], &mut []).is_ok());
    let text = error.unwrap_err().to_string();
    assert_eq!(text, "35 bytes of Q8_0 are not 32 numbers: 32 of them take 34 bytes");
}

#[test]
fn plain_numbers_are_themselves() {
    assert_eq!(numbers(Element::F32, &[0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0]), [1.0, -2.0]);
    assert_eq!(numbers(Element::F16, &[0, 0x3C, 0xFF, 0xFB, 1, 0]), [1.0, -65504.0, 2.0_f32.powi(-24)]);
    assert_eq!(numbers(Element::Bf16, &[0x80, 0x3F, 0x49, 0xC0]), [1.0, -3.140_625]);
}

#[test]
fn four_bits_lie_below_and_above() {
    // Byte 0 says 1 below and 15 above; all others say 8.
    let mut bytes = [0x88; 16];
    bytes[0] = 0xF1;
    let out = numbers(Element::Q4_0, &[&HALF[..], &bytes].concat());
    let expected = |j| [(0, -3.5), (16, 3.5)].into_iter().find(|(at, _)| *at == j).map_or(0.0, |(_, number)| number);
    assert!(out.iter().enumerate().all(|(j, number)| *number == expected(j)), "{out:?}");

    let out = numbers(Element::Q4_1, &[&HALF[..], &ONE, &bytes].concat());
    assert_eq!((out[0], out[1], out[15], out[16], out[17], out[31]), (1.5, 5.0, 5.0, 8.5, 5.0, 5.0));
}

#[test]
fn fifth_bits_are_those_of_a_word() {
    // Numbers 0 and 31 have their fifth bit.
    let high = 0x8000_0001_u32.to_le_bytes();
    let mut bytes = [0; 16];
    bytes[15] = 0x30;
    let out = numbers(Element::Q5_0, &[&ONE[..], &high, &bytes].concat());
    assert_eq!((out[0], out[1], out[16], out[31]), (0.0, -16.0, -16.0, 3.0));
    let out = numbers(Element::Q5_1, &[&ONE[..], &HALF, &high, &bytes].concat());
    assert_eq!((out[0], out[1], out[16], out[31]), (16.5, 0.5, 0.5, 19.5));
}

#[test]
fn bytes_are_signed() {
    let bytes: Vec<u8> = (0..32_u8).map(|j| 0x80 | j).collect();
    let out = numbers(Element::Q8_0, &[&ONE[..], &bytes].concat());
    assert_eq!((out[0], out[31]), (-128.0, -97.0));
}

/// Scales and mins of `Q4_K` or `Q5_K`, packed as they are in a block.
fn scales() -> [u8; 12] {
    let scale: [u8; 8] = [1, 2, 3, 4, 45, 54, 63, 32];
    let min: [u8; 8] = [0, 9, 18, 27, 36, 63, 48, 1];
    let mut packed = [0; 12];
    for s in 0..4 {
        packed[s] = scale[s] | scale[s + 4] >> 4 << 6;
        packed[s + 4] = min[s] | min[s + 4] >> 4 << 6;
        packed[s + 8] = scale[s + 4] & 15 | min[s + 4] << 4;
    }
    packed
}

#[test]
fn each_stretch_of_32_has_its_scale_and_min() {
    let mut bytes = [0; 128];
    // Stretch 0 says 3 at number 5, stretch 1 says 2; stretch 7 says 15 at number 31.
    bytes[5] = 0x23;
    bytes[127] = 0xF0;
    let out = numbers(Element::Q4K, &[&ONE[..], &HALF, &scales(), &bytes].concat());
    assert_eq!((out[5], out[4]), (3.0, 0.0));
    assert_eq!((out[32 + 5], out[32 + 4]), (4.0 - 4.5, -4.5));
    assert_eq!((out[2 * 32], out[3 * 32], out[4 * 32], out[5 * 32], out[6 * 32]), (-9.0, -13.5, -18.0, -31.5, -24.0));
    assert_eq!((out[255], out[254]), (32.0 * 15.0 - 0.5, -0.5));

    // The same with fifth bits: number 4 of stretches 0 and 6, number 31 of stretch 7.
    let mut high = [0; 32];
    (high[4], high[31]) = (0b0100_0001, 0b1000_0000);
    let out = numbers(Element::Q5K, &[&ONE[..], &HALF, &scales(), &high, &bytes].concat());
    assert_eq!((out[4], out[5], out[6 * 32 + 4], out[6 * 32 + 5]), (16.0, 3.0, 63.0 * 16.0 - 24.0, -24.0));
    assert_eq!((out[255], out[254]), (32.0 * 31.0 - 0.5, -0.5));
}

#[test]
fn each_stretch_of_16_has_its_scale() {
    let (mut low, mut high, mut scales) = ([0; 128], [0; 64], [1_u8; 16]);
    // Number 33 is 0x21, number 97 0x3F, number 255 0x15.
    low[33] = 0xF1;
    high[1] = 0b1100_1000;
    low[127] = 0x50;
    high[63] = 0b0100_0000;
    (scales[2], scales[15]) = (2, 0x80);
    let out = numbers(Element::Q6K, &[&low[..], &high, &scales, &HALF].concat());
    assert_eq!((out[0], out[33], out[34], out[97]), (-16.0, 1.0, -32.0, 15.5));
    assert_eq!(out[255], 0.5 * -128.0 * (21.0 - 32.0));
}

/// Random blocks and what the `gguf` package for Python makes of them; `tests/data/quant.py` wrote both.
macro_rules! golden {
    ($($element:ident $name:literal),+) => {
        [$((
            Element::$element,
            &include_bytes!(concat!("../../../tests/data/quant/", $name, ".blocks"))[..],
            &include_bytes!(concat!("../../../tests/data/quant/", $name, ".f32"))[..],
        )),+]
    };
}

#[test]
fn an_independent_reader_sees_the_same_bits() {
    let all = golden![
        F32 "F32", F16 "F16", Bf16 "BF16", Q4_0 "Q4_0", Q4_1 "Q4_1", Q5_0 "Q5_0", Q5_1 "Q5_1", Q8_0 "Q8_0", Q4K "Q4_K",
        Q5K "Q5_K", Q6K "Q6_K"
    ];
    for (element, blocks, expected) in all {
        let bits: Vec<u32> = numbers(element, blocks).iter().map(|number| number.to_bits()).collect();
        let expected: Vec<u32> = expected.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        assert!(expected.len() >= 256, "{element}");
        assert_eq!(bits, expected, "{element}");
    }
    assert_eq!(all.map(|(element, ..)| element), Element::ALL);
}
