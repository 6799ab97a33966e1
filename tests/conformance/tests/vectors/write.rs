use super::bench::{Bench, list};
use mrail_conformance::sha::sha256;
use mrail_conformance::vectors::{describe, described_differs};

#[test]
fn write() {
    let Some((mut bench, vectors)) = Bench::of("write") else { return };
    for (index, block) in list(&vectors).iter().enumerate() {
        let path = bench.new_path(&format!("w{index}.mrail"));
        bench.open_path(&path, &block["open"]);
        for call in list(&block["calls"]) {
            // What the reference answered stands in the call; an anchor's number is part of the question.
            let mut request = call.clone();
            if call["op"] != "add_anchor" {
                request.as_object_mut().unwrap().remove("sid");
            }
            let got = bench.ask(&request);
            if call["op"] == "add_session" || call["op"] == "add_track" {
                bench.check(got["sid"] == call["sid"], || format!("file {index}: {got}"));
            } else {
                bench.check(got["ok"] == true, || format!("file {index}: {got}"));
            }
        }
        let file = std::fs::read(&path).unwrap();
        let (records, tail) = describe(&file).unwrap();
        let wanted = list(&block["records"]);
        bench.check(records.len() == wanted.len() && tail == 0, || {
            format!("file {index}: {} records, want {}; {tail} bytes follow", records.len(), wanted.len())
        });
        for (place, want) in wanted.iter().enumerate() {
            let fault = described_differs(records.get(place), want);
            bench.no_fault(fault, || format!("file {index}, record {place}"));
        }
        if let Some(sha) = block["file_sha256"].as_str() {
            bench.check(sha256(&file) == sha, || format!("file {index}: other bytes"));
        }
    }
    bench.done("write");
}
