import { describe, expect, it } from "vitest";
import { HEAD, notAMap } from "../../src/worker/sniff.ts";
import { data } from "./data.ts";

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

describe("what a file is when it is no map", () => {
  it.each([
    ["<!DOCTYPE html><html>", /web page/],
    ["\n\n  <html lang=en>", /web page/],
    ["\xef\xbb\xbf<!doctype html>", /web page/],
    ["<?xml version='1.0'?>", /web page/],
    ["", /empty/],
    ["MRA", /does not start like one/],
    ["MRAIL\x03", /ends inside its own header/],
    ["MRAIL\x04\x00\x00", /version 4/],
    ["MRAIL\x03\x00\x01", /version 3/],
    ["GGUF\x03\x00\x00\x00", /GGUF/],
    ["PK\x03\x04....", /zip/],
    ["\x1f\x8b\x08....", /gzip/],
    ['{"id": 1}', /JSON/],
    ["version https://git-lfs.github.com/spec/v1\n", /Git LFS pointer/],
    ["hello world", /does not start like one/],
    ["\0\0\0\0\0\0\0\0", /does not start like one/],
  ])("%j", (start, expected) => {
    const failure = notAMap(bytes(start), "x.mrail");
    expect(failure?.kind).toBe("not-a-map");
    expect(failure?.message).toMatch(expected);
    expect(failure?.message).toContain("x.mrail");
    expect(failure?.advice).toMatch(/\w/);
  });

  it.each(["coding", "empty", "torn_header", "anchors", "unknown_kind"])("%s.mrail is a map", (name) => {
    expect(notAMap(data(`maps/${name}.mrail`).subarray(0, HEAD), name)).toBeUndefined();
  });
});
