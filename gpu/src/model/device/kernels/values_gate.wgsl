// silu(g) u, of rows [g | u].

alias Num = vec4<f32>;
alias NumInt = vec4<i32>;

@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;

fn prepare(row: u32, thread: u32) {}

fn value4(row: u32, four: u32) -> vec4<f32> {
    let g = x[row * (K / 2u) + four];
    let silu = g / (1.0 + exp_of(-g));
    return silu * x[row * (K / 2u) + K / 4u + four];
}
