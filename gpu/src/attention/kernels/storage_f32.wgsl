// Four numbers of a key or a value as they come.

alias Four = vec4<u32>;

fn pack4(x: vec4<f32>) -> Four {
    return bitcast<vec4<u32>>(x);
}

fn unpack4(x: Four) -> vec4<f32> {
    return bitcast<vec4<f32>>(x);
}

fn beyond(x: vec4<f32>) -> u32 {
    return 0u;
}
