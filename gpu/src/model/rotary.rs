//! The rotary embedding's angles, which the host computes for all devices.

use super::Rope;

/// Cosine and sine of each pair's angle at a position, \[dims / 2]: position x base^(-2i / dims) in f64, rounded to f32.
pub fn angles(rope: &Rope, position: u32) -> impl Iterator<Item = [f32; 2]> + use<> {
    let (base, dims) = (f64::from(rope.base), f64::from(rope.dims));
    (0..rope.dims / 2).map(move |pair| {
        let angle = f64::from(position) * libm::pow(base, -2.0 * f64::from(pair) / dims);
        [libm::cos(angle) as f32, libm::sin(angle) as f32]
    })
}
