// Logarithm and power of two, as in number.wgsl, for single numbers.

// ln x for a normal number above 0.
fn log_of(x: f32) -> f32 {
    let bits = bitcast<i32>(x);
    let exponent = (bits - 0x3f3504f3) >> 23u;
    let m = bitcast<f32>(bits - exponent * 8388608);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    var p = 0.0909090909;
    p = p * z + 0.111111111;
    p = p * z + 0.142857143;
    p = p * z + 0.2;
    p = p * z + 0.333333333;
    p = p * z + 1.0;
    let e = f32(exponent);
    return e * 0.693359375 + (e * -2.12194440e-4 + 2.0 * s * p);
}

// 2^x for x <= 0; 0 below 2^-125.
fn exp2_of(x: f32) -> f32 {
    let bounded = max(x, -125.0);
    let n = floor(bounded + 0.5);
    return select(scaled_exp(n, (bounded - n) * 0.693147181), 0.0, x < -125.0);
}
