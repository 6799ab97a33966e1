// One work-group: a row, arranged as the products fetch it. A pair of units is their 2 UNIT numbers in fours and one four with the
// sums of both; behind the row's end numbers are 0. A part above gives the row's numbers.

const FOURS: u32 = UNIT / 2u;
const PAIRS: u32 = (K + 2u * UNIT - 1u) / (2u * UNIT);

@compute @workgroup_size(64)
fn operand(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let row = rows.first + group.x;
    prepare(row, thread);
    for (var pair = thread; pair < PAIRS; pair += 64u) {
        var total = vec4(0.0);
        for (var half = 0u; half < 2u; half++) {
            var sum = 0.0;
            for (var four = 0u; four < UNIT / 4u; four++) {
                let i = (pair * 2u + half) * UNIT + four * 4u;
                var v = vec4(0.0);
                if i < K {
                    v = value4(row, i / 4u);
                }
                sum += v.x;
                sum += v.y;
                sum += v.z;
                sum += v.w;
                put(row, pair * (FOURS + 1u) + half * (UNIT / 4u) + four, v);
            }
            total[half] = sum;
        }
        put(row, pair * (FOURS + 1u) + FOURS, total);
    }
}
