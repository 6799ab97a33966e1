// Functions of numbers from operations that are rounded exactly: WGSL leaves exp and log to the device. `Num` and `NumInt`
// are f32 and i32, or vectors of them: one number a lane.

// Below every logit; not an infinity, which WGSL does not promise.
const LOWEST: f32 = -3.0e38;

// 2^n * e^r for whole n from -126 to 127 and small r.
fn scaled_exp(n: Num, r: Num) -> Num {
    var p = Num(1.98412698e-4);
    p = p * r + 1.38888889e-3;
    p = p * r + 8.33333333e-3;
    p = p * r + 4.16666667e-2;
    p = p * r + 1.66666667e-1;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    return p * bitcast<Num>((NumInt(n) + 127) * 8388608);
}

// e^x; 0 below e^-87.
fn exp_of(x: Num) -> Num {
    let bounded = clamp(x, Num(-87.0), Num(88.0));
    let n = floor(bounded * 1.44269504 + 0.5);
    // ln 2 in two parts, the first so short that its product with n is exact.
    let r = (bounded - n * 0.693359375) - n * -2.12194440e-4;
    return select(scaled_exp(n, r), Num(0.0), x < Num(-87.0));
}
