// Grains that were clicked on: their state, their marks in the picture, their traces.

import { json, latest } from "./connection.js";
import { short } from "./legend.js";
import { length } from "./vectors.js";

/** Colours of marks, sRGB. */
const MARKS = [
  [0.9, 0.2, 0.1], [0.9, 0.1, 0.6], [0.95, 0.6, 0.0], [0.1, 0.1, 0.1],
  [0.0, 0.6, 0.9], [0.5, 0.2, 0.8], [0.0, 0.5, 0.2], [0.6, 0.3, 0.0],
];
/** Grains that can be picked at once. */
const MOST = MARKS.length;
/** Contacts that are listed. */
const MOST_CONTACTS = 6;

export class Picks {
  constructor(host, hint, changed, tell) {
    Object.assign(this, { host, hint, changed, tell });
    this.list = [];
    this.showTraces = true;
    /** Asks for the state of all in another frame. */
    this.update = latest((frame) => this.readStates(frame));
  }

  get ids() {
    return this.list.map((pick) => pick.id);
  }

  /** Marks of the grains that are in the frame, with their places in it. */
  marks(frame) {
    const marks = [];
    this.list.forEach((pick, i) => {
      const index = frame.picked[i];
      if (index !== undefined && index < frame.grains) marks.push({ index, color: pick.color });
    });
    return marks;
  }

  /** Picks the grain at a place of a frame, or lets it go. */
  async toggle(frame, index) {
    try {
      const state = await json(`grain?step=${frame.step}&index=${index}`);
      if (this.list.some((pick) => pick.id === state.id)) return this.remove(state.id);
      if (this.list.length >= MOST) this.remove(this.list[0].id);
      const used = new Set(this.list.map((pick) => pick.color));
      const color = MARKS.find((mark) => !used.has(mark)) ?? MARKS[0];
      const pick = { id: state.id, color, state, box: this.box(state, color), trace: [] };
      this.list.push(pick);
      this.write(pick);
      this.hint.hidden = true;
      this.changed();
    } catch (error) {
      this.tell(error.message);
    }
  }

  remove(id) {
    this.list.find((pick) => pick.id === id)?.box.remove();
    this.list = this.list.filter((pick) => pick.id !== id);
    this.hint.hidden = this.list.length > 0;
    this.changed();
  }

  clear() {
    this.ids.forEach((id) => this.remove(id));
  }

  async readStates(frame) {
    await Promise.all(
      this.list.map(async (pick) => {
        try {
          pick.state = await json(`grain?step=${frame.step}&id=${pick.id}`);
        } catch {
          pick.state = null;
        }
        this.write(pick);
      }),
    );
  }

  /** Asks for the traces of all up to a step; a list for the renderer. */
  async traces(step) {
    if (!this.showTraces) return [];
    return Promise.all(
      this.list.map(async (pick) => {
        const { places } = await json(`trace?id=${pick.id}&until=${step}`);
        return { places, color: pick.color };
      }),
    );
  }

  box({ name }, color) {
    const box = document.createElement("div");
    box.className = "pick";
    box.style.setProperty("--mark", `rgb(${color.map((x) => Math.round(255 * x)).join(" ")})`);
    const head = document.createElement("header");
    const title = document.createElement("span");
    title.textContent = name;
    const close = document.createElement("button");
    close.textContent = "×";
    close.title = `Let ${name} go`;
    head.append(title, close);
    box.append(head, document.createElement("table"));
    close.addEventListener("click", () => {
      const pick = this.list.find((other) => other.box === box);
      if (pick) this.remove(pick.id);
    });
    this.host.append(box);
    return box;
  }

  write({ box, state }) {
    const table = box.querySelector("table");
    const rows = state ? rowsOf(state) : [["", "not in this frame"]];
    table.replaceChildren(
      ...rows.map((cells) => {
        const row = document.createElement("tr");
        row.append(
          ...cells.map((text) => {
            const cell = document.createElement("td");
            cell.textContent = text;
            return cell;
          }),
        );
        return row;
      }),
    );
  }
}

/** What is known of a grain, as lines of a table. */
function rowsOf(state) {
  const vector = (v) => v.map((x) => short(x)).join(", ");
  const rows = [];
  const add = (name, text) => rows.push([name, text]);
  if (state.position) add("position", `${vector(state.position)} m`);
  if (state.velocity) {
    add("velocity", `${vector(state.velocity)} m/s`);
    add("speed", `${short(length(state.velocity))} m/s`);
  }
  if (state.angular_velocity) add("rotation", `${vector(state.angular_velocity)} rad/s`);
  if (state.radius !== null) add("radius", `${short(state.radius)} m`);
  if (state.mass !== null) add("mass", `${short(state.mass)} kg`);
  if (state.material !== null) add("material", state.material);
  if (state.aggregate) add("frozen", `in aggregate ${state.aggregate}`);
  if (state.contacts) {
    const strongest = state.contacts.toSorted((a, b) => b.force - a.force);
    add("contacts", String(strongest.length));
    for (const { with: partner, force } of strongest.slice(0, MOST_CONTACTS)) {
      add("", `${partner}: ${short(force)} N`);
    }
  }
  return rows;
}
