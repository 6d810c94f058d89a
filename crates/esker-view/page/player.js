// Which frame is shown: the time bar, playing, and following a live run.

import { json, latest } from "./connection.js";

/** Simulated over real seconds that can be chosen. */
export const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20];
/** Time between two looks at the server, ms. */
const BETWEEN_LOOKS = 500;

export class Player {
  /** `show` takes a frame; `wanted` says what of it is shown; `tell` takes what is odd. */
  constructor({ frames, wanted, show, tell, changed, isLive }) {
    Object.assign(this, { frames, wanted, show, tell, changed, isLive });
    this.steps = [];
    this.times = [];
    this.index = 0;
    this.playing = false;
    this.speed = 1;
    this.following = isLive;
    this.status = null;
    this.shownStep = null;
    /** Shows the frame again, in other colours perhaps. */
    this.refresh = latest(() => this.load());
  }

  /** Asks the server again and again what there is. */
  async watch() {
    for (;;) {
      await this.look();
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS));
    }
  }

  async look() {
    try {
      const status = await json("status");
      const grown =
        status.frames !== this.steps.length || status.last_step !== this.steps.at(-1) ||
        status.first_step !== this.steps[0];
      if (grown) await this.reload();
      this.status = status;
      this.tell(status.problem ?? status.live?.failure ?? null);
      this.changed();
    } catch (error) {
      this.tell(error.message);
    }
  }

  async reload() {
    const atEnd = this.index >= this.steps.length - 1;
    const step = this.steps[this.index];
    const { step: steps, time } = await json("moments");
    [this.steps, this.times] = [steps, time];
    const place = steps.indexOf(step);
    const nearest = steps.findIndex((other) => other >= step);
    this.index = place >= 0 ? place : Math.max(0, nearest);
    // Whoever looks at the last frame of a growing recording wants to see the next.
    if (atEnd && step !== undefined && !this.isLive && !this.playing) this.seek(steps.length - 1);
    this.changed();
  }

  get time() {
    return this.times[this.index] ?? 0;
  }

  seek(index) {
    if (this.steps.length === 0) return;
    this.following = false;
    this.index = Math.min(this.steps.length - 1, Math.max(0, index));
    this.changed();
    return this.refresh();
  }

  seekTime(time) {
    let best = 0;
    this.times.forEach((t, i) => {
      if (Math.abs(t - time) < Math.abs(this.times[best] - time)) best = i;
    });
    return this.seek(best);
  }

  async load() {
    const wanted = this.wanted();
    try {
      const frame = this.following
        ? await this.frames.newest(null, wanted)
        : await this.frames.get(this.steps[this.index], wanted);
      if (frame) this.present(frame);
    } catch (error) {
      this.tell(error.message);
    }
  }

  present(frame) {
    this.shownStep = frame.step;
    this.show(frame);
  }

  /** Follows a live run as long as it is wanted. */
  async follow() {
    for (;;) {
      if (!this.following || document.hidden) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        continue;
      }
      try {
        const wanted = this.wanted();
        const frame = await this.frames.newest(this.shownStep, wanted);
        if (frame && this.following && same(wanted, this.wanted())) this.present(frame);
      } catch (error) {
        this.tell(error.message);
        await new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS));
      }
      // The browser draws before the next one is asked for.
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
  }

  async play() {
    if (this.playing || this.steps.length < 2) return;
    this.playing = true;
    this.following = false;
    if (this.index >= this.steps.length - 1) this.index = 0;
    this.changed();
    let time = this.time;
    let last = performance.now();
    while (this.playing) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      const now = performance.now();
      time += (this.speed * (now - last)) / 1000;
      last = now;
      let next = this.index;
      while (next + 1 < this.times.length && this.times[next + 1] <= time) next++;
      if (next !== this.index) {
        this.index = next;
        this.changed();
        this.prefetch();
        await this.refresh();
        // What loading takes must not be jumped over when it takes longer than a frame lasts.
        const ahead = this.times[this.index + 1] ?? this.time;
        time = Math.min(time, ahead);
      }
      if (this.index >= this.steps.length - 1) this.playing = false;
    }
    this.changed();
  }

  /** Asks for the frame after the one that is being loaded. */
  prefetch() {
    const next = this.steps[this.index + 1];
    if (next !== undefined) this.frames.get(next, this.wanted()).catch(() => {});
  }

  stop() {
    this.playing = false;
    this.changed();
  }
}

function same(one, other) {
  return one.color === other.color && one.chains === other.chains &&
    one.joints === other.joints &&
    one.picked.join() === other.picked.join();
}
