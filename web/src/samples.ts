/**
 * The maps that come with the page, served under maps/ (see build/static-data.ts).
 *
 * They were written by the very model whose tokenizer the page carries, so they are opened as trusted. Any other map is
 * somebody's claim, until whoever opened it says otherwise. The first is the demo's: smollm2-coding.json says which model and
 * which numerics wrote it, and they are those of model.html.
 */
export interface Sample {
  file: string;
  title: string;
  about: string;
}

export const SAMPLES: readonly Sample[] = [
  { file: "smollm2-coding.mrail", title: "Coding, as computed here", about: "198 answers of the model that runs beside the map, by mrail-decode" },
  { file: "coding.mrail", title: "Coding answers", about: "198 runs of the same questions, as llama.cpp computes" },
  { file: "general.mrail", title: "General questions", about: "40 runs, with use counters" },
  { file: "tracks.mrail", title: "Tracks", about: "answers coded as copies from their long contexts" },
];

/** Whether `url` is one of the page's own samples, `base` being the page's address. */
export function isSample(url: string, base: string): boolean {
  const { origin, pathname } = new URL(url, base);
  return SAMPLES.some((sample) => {
    const own = new URL(`maps/${sample.file}`, base);
    return own.origin === origin && own.pathname === pathname;
  });
}
