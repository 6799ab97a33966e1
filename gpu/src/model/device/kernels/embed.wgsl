// One thread: one number of a token's row, from the part of the embedding that holds it.

// Numbers of a word.
const EACH: u32 = UNIT / CODE_WORDS;

@group(0) @binding(2) var<storage, read> tokens: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn embed(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    let row = id.y + rows.first;
    let token = tokens[row];
    if i >= matrix_.stride || token < matrix_.first || token - matrix_.first >= matrix_.rows {
        return;
    }
    let r = token - matrix_.first;
    let half = i / UNIT % 2u;
    let at = (r / 8u * matrix_.pairs + i / (2u * UNIT)) * (RECORD * 8u) + r % 8u;
    let word = i % UNIT / EACH;
    let q = number(code4(at + (half * CODES + word / 4u) * 8u)[word % 4u], i % EACH);
    var v = q;
    if SCALES == 1u {
        let d = bitcast<vec4<f32>>(code4(at + 2u * CODES * 8u));
        v = d[half * 2u] * q + d[half * 2u + 1u];
    }
    out[row * matrix_.stride + i] = v;
}
