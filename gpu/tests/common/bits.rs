//! Equal to the last bit, or where not.

/// The first number of which the two differ in a bit; also where there is nothing to compare, or not as much on both sides.
pub fn same_bits(got: &[f32], want: &[f32]) -> Result<(), String> {
    if got.is_empty() || got.len() != want.len() {
        return Err(format!("{} numbers where {} are wanted", got.len(), want.len()));
    }
    if let Some(at) = want.iter().position(|number| !number.is_finite()) {
        return Err(format!("number {at} is wanted to be {}, which no output may be", want[at]));
    }
    let differs = got.iter().zip(want).position(|(got, want)| got.to_bits() != want.to_bits());
    let largest = || got.iter().zip(want).map(|(got, want)| (got - want).abs()).fold(0.0, f32::max);
    let all = || got.iter().zip(want).filter(|(got, want)| got.to_bits() != want.to_bits()).count();
    match differs {
        None => Ok(()),
        Some(at) => Err(format!(
            "number {at} of {} is {:?} and not {:?}; {} differ, by at most {:e}",
            got.len(),
            got[at],
            want[at],
            all(),
            largest()
        )),
    }
}
