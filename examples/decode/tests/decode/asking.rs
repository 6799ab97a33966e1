//! Prompts, conversations, and what each option changes.

use crate::program::Folder;
use serde_json::{Value, json};

const PROMPT: &str = "--prompt say%it%again,%say%it%again";

/// Values of an object by their keys.
fn of<'v>(value: &'v Value, keys: &[&str]) -> Vec<&'v Value> {
    keys.iter().map(|key| value.pointer(&format!("/{}", key.replace('.', "/"))).unwrap_or(&Value::Null)).collect()
}

#[test]
fn drafts_change_their_counters_and_nothing_else() {
    let folder = Folder::new();
    let off = folder.json(&format!("{PROMPT} --draft off"));
    assert_eq!(
        of(&off, &["from", "end", "passes", "drafted", "served"]),
        [&json!("model"), &json!("max_new"), &json!(15), &json!(0), &json!(0)]
    );
    let context = off["context"].as_u64().expect("a number");
    assert_eq!(off["evaluated"], context + 15);
    let on = folder.json(&format!("{PROMPT} --draft 31"));
    assert_eq!(of(&on, &["tokens", "text", "context"]), of(&off, &["tokens", "text", "context"]));
    assert!(on["drafted"].as_u64() > Some(0), "{on}");
    assert_eq!(
        on["evaluated"],
        context + on["passes"].as_u64().expect("a number") + on["drafted"].as_u64().expect("a number")
    );
    assert_eq!(folder.json(&format!("{PROMPT} --max-new 3"))["tokens"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_gpu_answers_what_the_cpu_does() {
    let folder = Folder::new();
    let cpu = folder.json(&format!("{PROMPT} --backend cpu --draft 8"));
    let ended = folder.ask(&format!("{PROMPT} --backend gpu --draft 8 --json"));
    if ended.code == 5 && ended.err.contains("no GPU to compute on") {
        eprintln!("skipped: there is no Vulkan device here");
        return;
    }
    let gpu = ended.with(0).value();
    assert_eq!(gpu["tokens"], cpu["tokens"]);
    assert_ne!(gpu["adapter"], cpu["adapter"]);
}

#[test]
fn the_map_answers_and_grows_and_can_be_left_out() {
    let folder = Folder::new();
    let first = folder.json(&format!("{PROMPT} --map own.mrail"));
    assert_eq!(of(&first, &["from", "written"]), [&json!("model"), &json!(true)]);
    let second = folder.json(&format!("{PROMPT} --map own.mrail"));
    assert_eq!(
        of(&second, &["from", "served", "evaluated", "passes", "written"]),
        [&json!("map"), &json!(16), &json!(0), &json!(0), &json!(false)]
    );
    assert_eq!(second["tokens"], first["tokens"]);
    // A longer answer goes on where the run ended.
    let longer = folder.json(&format!("{PROMPT} --map own.mrail --max-new 24"));
    assert_eq!(of(&longer, &["from", "served", "written"]), [&json!("map, then model"), &json!(16), &json!(true)]);
    assert_eq!(longer["tokens"], folder.json(&format!("{PROMPT} --max-new 24"))["tokens"]);
    let off = folder.json(&format!("{PROMPT} --map off"));
    assert_eq!(of(&off, &["from", "served", "written"]), [&json!("model"), &json!(0), &json!(false)]);
    // As a foreign map it drafts, and does not answer.
    let foreign = folder.json(&format!("{PROMPT} --map off --foreign own.mrail"));
    assert_eq!(of(&foreign, &["from", "tokens"]), [&json!("model"), &first["tokens"]]);
    assert!(foreign["accepted"]["foreign"].as_u64() > Some(4), "{foreign}");
    assert!(foreign["passes"].as_u64() < off["passes"].as_u64());
}

#[test]
fn anchors_save_what_was_read() {
    let folder = Folder::new();
    let long = "--prompt the%first%of%two%questions%that%begin%with%the%same%words:";
    let wrote = folder.json(&format!("{long}%one --map own.mrail --anchor prompt,every=16"));
    assert!(wrote["anchors"].as_u64() > Some(2), "{wrote}");
    let other = format!("{long}%two");
    let restored = folder.json(&format!("{other} --map own.mrail"));
    let context = restored["context"].as_u64().expect("a number");
    assert!(restored["restored"].as_u64() >= Some(16), "{restored}");
    assert_eq!(restored["read"], context - restored["restored"].as_u64().expect("a number"));
    assert_eq!((&restored["faults"], &restored["tokens"]), (&json!([]), &folder.json(&other)["tokens"]));
    assert_eq!(folder.json(&other)["restored"], 0);
}

#[test]
fn memory_is_what_the_options_say() {
    let folder = Folder::new();
    let default = folder.json(PROMPT);
    assert_eq!(default["exact_until"], 2048);
    let native = folder.json(&format!("{PROMPT} --native"));
    assert_eq!((&native["exact_until"], &native["tokens"]), (&Value::Null, &default["tokens"]));
    let small = folder.json(&format!("{PROMPT} --band 64 --store 0"));
    assert_eq!(small["exact_until"], 128);
    assert!(small["state_bytes"].as_u64() < default["state_bytes"].as_u64());
    assert!(native["state_bytes"].as_u64() < small["state_bytes"].as_u64());
    let f32 = folder.json(&format!("{PROMPT} --kv f32"));
    assert_eq!(f32["state_bytes"].as_u64(), default["state_bytes"].as_u64().map(|bytes| 2 * bytes));
    // Past what is exact, the program says so.
    let long = format!("--prompt {} --complete --band 64 --store 0", "many%words%".repeat(20));
    let told = folder.ask(&long).with(0);
    assert!(
        told.err.contains("warning: ") && told.err.contains("more than the 128 that are kept exactly"),
        "{}",
        told.err
    );
    let error = folder.ask("--prompt x --store 100").with(2);
    assert_eq!(error.error(), "key-value head 0: a store of 100 tokens is no multiple of 64 up to 2^24");
}

#[test]
fn contexts_come_as_text_or_tokens() {
    let folder = Folder::new();
    folder.write("ids.json", "[5, 6, 7, 8, 9]");
    let ids = folder.json("--tokens ids.json");
    assert_eq!(ids["context"], 5);
    assert_eq!(
        folder.fed("--model tiny.gguf --max-new 16 --json --tokens -", "[5,6,7,8,9]").with(0).value()["tokens"],
        ids["tokens"]
    );
    folder.write("text.txt", "a text of some words\n");
    let raw = folder.json("--file text.txt --complete");
    let chat = folder.json("--file text.txt");
    assert!(raw["context"].as_u64() < chat["context"].as_u64());
    assert_eq!(
        folder.json("--prompt a%text%of%some%words\n --complete")["context"].as_u64().map(|tokens| tokens + 1),
        raw["context"].as_u64()
    );
    let both = folder.json("--file text.txt --prompt and%a%question");
    assert!(both["context"].as_u64() > chat["context"].as_u64());
}

#[test]
fn text_streams_and_what_it_took_is_beside_it() {
    let folder = Folder::new();
    let said = folder.ask(PROMPT).with(0);
    let value = folder.json(PROMPT);
    assert_eq!(said.out.trim_end_matches('\n'), value["text"].as_str().expect("a text").trim_end_matches('\n'));
    assert!(said.err.starts_with("16 tokens · ") && said.err.contains("CPU"), "{}", said.err);
    assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'));
    let args = format!("--model tiny.gguf --backend cpu --max-new 16 --map own.mrail {PROMPT}");
    folder.run(&args).with(0);
    let coloured = folder.with_env(&args, "", &[("CLICOLOR_FORCE", "1")]).with(0);
    assert!(coloured.out.contains("\u{1b}[32m"), "{:?}", coloured.out);
    let plain = folder.with_env(&args, "", &[("NO_COLOR", "1")]).with(0);
    assert!(!plain.out.contains('\u{1b}'));
}

#[test]
fn a_conversation_reads_only_what_is_new() {
    let folder = Folder::new();
    let turns =
        folder.fed("--model tiny.gguf --max-new 16 --json", "hello\n\nand now?\n/new\nhello\n/quit\nno\n").with(0);
    let turns = turns.values();
    assert_eq!(turns.len(), 3);
    assert_eq!((&turns[0]["kept"], &turns[0]["from"]), (&json!(0), &json!("model")));
    let (context, kept) =
        (turns[1]["context"].as_u64().expect("a number"), turns[1]["kept"].as_u64().expect("a number"));
    // All but the answer's last token, at most.
    let had = turns[0]["context"].as_u64().expect("a number") + 16;
    assert!(kept == had || kept + 1 == had, "{kept} of {had}");
    assert_eq!(turns[1]["read"], context - kept);
    // The map in memory knows the third.
    assert_eq!((&turns[2]["from"], &turns[2]["tokens"]), (&json!("map"), &turns[0]["tokens"]));
    let off = folder.fed("--model tiny.gguf --max-new 16 --json --map off", "hello\n/new\nhello\n").with(0).values();
    assert_eq!(off[1]["from"], "model");
}

#[test]
fn what_is_wrong_is_told_in_a_line() {
    let folder = Folder::new();
    folder.write("page.mrail", "<html>");
    folder.write("words.json", "[1, \"two\"]");
    folder.write("far.json", "[1, 320]");
    folder.write("none.json", "[]");
    for (args, code, told) in [
        ("--prompt x --foreign page.mrail", 3, "page.mrail: not a .mrail map"),
        ("--prompt x --map page.mrail", 3, "page.mrail: not a .mrail map"),
        ("--prompt x --foreign missing.mrail", 3, "missing.mrail: No such file"),
        ("--prompt x --map folder/own.mrail", 4, "folder/own.mrail: cannot be opened for writing"),
        ("--tokens words.json", 2, "words.json: no list of token ids"),
        ("--tokens far.json", 2, "token 1 of the context is 320, and the model's are below 320"),
        ("--tokens none.json", 2, "the context is empty"),
        ("--tokens missing.json", 3, "missing.json: No such file"),
        ("--complete", 2, "--complete goes on with a text"),
        ("--prompt x --map own.json", 4, "own.json: a map's name may not end in .json"),
        ("--prompt x --carriers far.json", 3, "far.json: "),
    ] {
        let ended = folder.ask(args).with(code);
        assert!(ended.error().starts_with(told), "{args}: {}", ended.err);
        assert_eq!(ended.out, "");
    }
    let ended = folder.run("--model far.json --prompt x").with(3);
    assert!(ended.error().starts_with("far.json: "), "{}", ended.err);
    folder.run("--prompt x").with(2);
    folder.run("--model tiny.gguf --prompt x --tokens y").with(2);
}

#[test]
fn a_map_of_another_model_is_refused() {
    let folder = Folder::new();
    folder.json(&format!("{PROMPT} --map own.mrail"));
    let other = folder.ask(&format!("{PROMPT} --map own.mrail --kv f32")).with(4);
    assert!(other.error().starts_with("own.mrail: holds answers of other numerics"), "{}", other.err);
    folder.ask(&format!("{PROMPT} --map own.mrail --native")).with(4);
    let other = mrail_gpu::model::seeded::Seeded { seed: 2, ..Default::default() };
    std::fs::write(folder.path("other.gguf"), other.file()).expect("written");
    let other = folder.run(&format!("--model other.gguf {PROMPT} --map own.mrail")).with(4);
    assert!(other.error().starts_with("own.mrail: holds answers of another model"), "{}", other.err);
    folder.run(&format!("--model other.gguf {PROMPT} --map off --foreign own.mrail")).with(0);
    // Tokens that the model does not have are refused whatever stands beside the map.
    let mut map = mrail::Map::create();
    let run = map.prepare_session(&[1, 320], 1).expect("room");
    map.commit(&run).expect("in order");
    std::fs::write(folder.path("large.mrail"), map.bytes()).expect("written");
    for option in ["--map", "--foreign"] {
        let refused = folder.ask(&format!("{PROMPT} {option} large.mrail")).with(4);
        let told = "large.mrail: a map of another model: run 0 holds token 320, and this model's are below 320";
        assert_eq!(refused.error(), told);
    }
}
