// Questions to the server. Addresses are relative: the token is part of the page's own.

import { decodeFrame, decodeSurfaces } from "./frame.js";

/** Bytes of frames that are kept. */
const MOST_KEPT = 256 << 20;

async function answer(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("the program does not answer: it may have ended");
  }
  if (!response.ok) {
    const told = await response.json().catch(() => ({}));
    throw new Error(told.error ?? `the program answers ${response.status}`);
  }
  return response;
}

export async function json(path) {
  return (await answer(path)).json();
}

export async function surfaces() {
  return decodeSurfaces(await (await answer("surfaces")).arrayBuffer());
}

/** Tells a live run what to do. */
export async function control(what) {
  return (await answer(`control?do=${what}`, { method: "POST" })).json();
}

/**
 * A function that does `work` for what came last: calls while it works become one. What comes of it
 * is fulfilled when nothing is left to do.
 */
export function latest(work) {
  let next = null;
  let working = null;
  return (...subject) => {
    next = subject;
    working ??= (async () => {
      try {
        while (next) {
          const current = next;
          next = null;
          await work(...current);
        }
      } finally {
        working = null;
      }
    })();
    return working;
  };
}

/** Frames, of which those seen last are kept. */
export class Frames {
  constructor() {
    this.kept = new Map();
    this.bytes = 0;
    this.loading = new Map();
    /** What the last frame cost: bytes and milliseconds. */
    this.cost = null;
  }

  /** A frame of a recording or of the past of a live run. */
  async get(step, wanted) {
    const key = `step=${step}&${query(wanted)}`;
    const known = this.kept.get(key);
    if (known) {
      this.kept.delete(key);
      this.kept.set(key, known);
      return known;
    }
    if (!this.loading.has(key)) {
      const loading = this.load(key).finally(() => this.loading.delete(key));
      this.loading.set(key, loading);
    }
    const frame = await this.loading.get(key);
    this.keep(key, frame);
    return frame;
  }

  /** What is now in a live run; null while there is nothing newer. */
  newest(after, wanted) {
    return this.load(`step=newest${after === null ? "" : `&after=${after}`}&${query(wanted)}`);
  }

  async load(key) {
    const start = performance.now();
    const response = await answer(`frame?${key}`);
    if (response.status === 204) return null;
    const buffer = await response.arrayBuffer();
    const loaded = performance.now();
    const frame = decodeFrame(buffer);
    this.cost = { bytes: frame.bytes, loadMs: loaded - start, decodeMs: frame.decodeMs };
    return frame;
  }

  keep(key, frame) {
    if (this.kept.has(key)) return;
    this.kept.set(key, frame);
    this.bytes += frame.bytes;
    for (const [old, { bytes }] of this.kept) {
      if (this.bytes <= MOST_KEPT || old === key) break;
      this.kept.delete(old);
      this.bytes -= bytes;
    }
  }
}

function query({ color, chains, joints, picked }) {
  const parts = [`color=${color}`];
  if (chains) parts.push("chains=1");
  if (joints) parts.push("joints=1");
  if (picked.length > 0) parts.push(`picked=${picked.join(",")}`);
  return parts.join("&");
}
