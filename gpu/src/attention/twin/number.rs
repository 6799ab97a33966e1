//! Twins of `number.wgsl` and `logarithm.wgsl`, and of what packing does to a number.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for the instructions that were found")]

use crate::state::Storage;
use half::f16;

/// Below every logit.
pub(crate) const LOWEST: f32 = -3.0e38;

/// ln 2 in two parts, the first so short that its product with a small whole number is exact.
const LN_2_HIGH: f32 = 355.0 / 512.0;
const LN_2_LOW: f32 = -2.121_944_4e-4;

#[inline(always)]
fn scaled_exp(n: f32, r: f32) -> f32 {
    let mut p = 1.0 / 5040.0_f32;
    for n in [720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0] {
        p = p * r + 1.0 / n;
    }
    p * f32::from_bits((n as i32 + 127).cast_unsigned() << 23)
}

/// e^x.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let bounded = x.clamp(-87.0, 88.0);
    let n = (bounded * std::f32::consts::LOG2_E + 0.5).floor();
    let r = (bounded - n * LN_2_HIGH) - n * LN_2_LOW;
    if x < -87.0 { 0.0 } else { scaled_exp(n, r) }
}

/// 2^x for x of at most 0.
pub(super) fn exp2(x: f32) -> f32 {
    let bounded = x.max(-125.0);
    let n = (bounded + 0.5).floor();
    if x < -125.0 { 0.0 } else { scaled_exp(n, (bounded - n) * std::f32::consts::LN_2) }
}

/// ln x of a normal number above 0.
pub(crate) fn log(x: f32) -> f32 {
    let bits = x.to_bits().cast_signed();
    let exponent = (bits - 0x3f35_04f3) >> 23;
    let m = f32::from_bits((bits - (exponent << 23)).cast_unsigned());
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut p = 1.0 / 11.0_f32;
    for n in [9.0, 7.0, 5.0, 3.0, 1.0] {
        p = p * z + 1.0 / n;
    }
    let e = exponent as f32;
    e * LN_2_HIGH + (e * LN_2_LOW + 2.0 * s * p)
}

/// What a number is once it was stored.
pub(super) fn stored(storage: Storage, x: f32) -> f32 {
    match storage {
        Storage::F16 => f16::from_f32(x.clamp(-65504.0, 65504.0)).to_f32(),
        Storage::F32 => x,
    }
}

/// q . k, in order.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest error in units of the last place.
    fn worst(of: fn(f32) -> f32, exact: fn(f64) -> f64, at: impl Iterator<Item = f32>) -> f64 {
        let ulps = at.map(|x| {
            let want = exact(f64::from(x));
            let unit = f64::from(f32::from_bits((want as f32).abs().to_bits() + 1) - (want as f32).abs());
            (f64::from(of(x)) - want).abs() / unit
        });
        ulps.fold(0.0, f64::max)
    }

    #[test]
    fn functions_are_as_good_as_their_last_places() {
        let steps = |from: f32, to: f32| (0..=200_000).map(move |i| from + (to - from) * i as f32 / 200_000.0);
        assert!(worst(exp, f64::exp, steps(-86.0, 80.0)) < 2.0);
        assert!(worst(exp2, f64::exp2, steps(-120.0, 0.0)) < 2.0);
        assert!(worst(log, f64::ln, steps(2.0, 1e6)) < 2.0);
        let near_one = steps(0.5, 2.0).map(|x| (f64::from(log(x)) - f64::from(x).ln()).abs());
        assert!(near_one.fold(0.0, f64::max) < 1e-7);
        assert_eq!(
            (exp(0.0), exp(-88.0), exp(-1e30), exp2(0.0), exp2(-3.0), exp2(-1e9)),
            (1.0, 0.0, 0.0, 1.0, 0.125, 0.0)
        );
        assert_eq!((log(1.0), exp(LOWEST)), (0.0, 0.0));
    }
}
