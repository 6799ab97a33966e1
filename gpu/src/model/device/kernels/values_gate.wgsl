// silu(g) u.

alias Num = vec4<f32>;
alias NumInt = vec4<i32>;

@group(0) @binding(1) var<storage, read> gates: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> ups: array<vec4<f32>>;

fn prepare(row: u32, thread: u32) {}

fn value4(row: u32, four: u32) -> vec4<f32> {
    let g = gates[row * (K / 4u) + four];
    let silu = g / (1.0 + exp_of(-g));
    return silu * ups[row * (K / 4u) + four];
}
