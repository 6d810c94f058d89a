// Plots of scalars beside the picture, with a cursor at the time that is shown.

import { json } from "./connection.js";
import { short, ticks } from "./legend.js";

/** Series that are plotted at first, by name. */
const FIRST = ["kinetic energy", "touching", "residual"];
/** Time between two readings of a growing run, ms. */
const BETWEEN_READINGS = 2000;
const LINE = "#0072b2";
const BAND = "#0072b233";
const CURSOR = "#d55e00";

export class Plots {
  /** `seek` takes a time that is clicked on. */
  constructor(host, choice, about, seek) {
    Object.assign(this, { host, series: about.series, seek });
    this.shown = [];
    this.time = 0;
    for (const [i, { name, meaning }] of about.series.entries()) {
      if (["step", "time"].includes(name)) continue;
      const option = new Option(name, i);
      option.title = meaning;
      choice.add(option);
    }
    choice.addEventListener("change", () => {
      if (choice.value !== "") this.add(Number(choice.value));
      choice.value = "";
    });
    const byName = (name) => about.series.findIndex((series) => series.name === name);
    const forces = about.series.findIndex(({ name }) => name.startsWith("force on "));
    for (const i of [...FIRST.map(byName), forces]) if (i >= 0) this.add(i, false);
    this.read();
    setInterval(() => this.read(), BETWEEN_READINGS);
    new ResizeObserver(() => this.draw()).observe(host);
  }

  add(column, reads = true) {
    if (this.shown.some((plot) => plot.column === column)) return;
    const { name, unit, meaning } = this.series[column];
    const box = document.createElement("div");
    box.className = "plot";
    box.title = meaning;
    const head = document.createElement("header");
    const label = document.createElement("span");
    const close = document.createElement("button");
    close.textContent = "×";
    close.title = `Close the plot of ${name}`;
    head.append(label, close);
    const canvas = document.createElement("canvas");
    box.append(head, canvas);
    this.host.append(box);
    const plot = { column, name, unit: unit === "1" ? "" : unit, label, canvas, data: null };
    this.shown.push(plot);
    close.addEventListener("click", () => {
      this.shown = this.shown.filter((other) => other !== plot);
      box.remove();
    });
    const pointed = (event) => {
      if (event.buttons !== 1 || !plot.axis) return;
      const { left, width } = canvas.getBoundingClientRect();
      const share = Math.min(1, Math.max(0, (event.clientX - left) / width));
      this.seek(plot.axis[0] + share * (plot.axis[1] - plot.axis[0]));
    };
    canvas.addEventListener("pointerdown", pointed);
    canvas.addEventListener("pointermove", pointed);
    if (reads) this.read();
  }

  async read() {
    if (this.reading || this.shown.length === 0 || document.hidden) return;
    this.reading = true;
    try {
      const columns = this.shown.map((plot) => plot.column);
      const points = Math.max(50, Math.round(this.host.clientWidth * 1.5));
      const answer = await json(`series?columns=${columns.join(",")}&points=${points}`);
      columns.forEach((column, i) => {
        const plot = this.shown.find((other) => other.column === column);
        if (plot) plot.data = { time: answer.time, ...answer.columns[i] };
      });
      this.draw();
    } catch {
      // The message about it is shown with the picture.
    } finally {
      this.reading = false;
    }
  }

  /** Moves the cursors. */
  setTime(time) {
    this.time = time;
    this.draw();
  }

  draw() {
    for (const plot of this.shown) draw(plot, this.time);
  }
}

function draw(plot, now) {
  const { canvas, data } = plot;
  const ratio = devicePixelRatio;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (width === 0) return;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const known = (list) => list.filter((x) => x !== null);
  const values = data ? [...known(data.low), ...known(data.high)] : [];
  if (values.length === 0) {
    plot.label.textContent = `${plot.name}: ${data ? "not measured" : "…"}`;
    return;
  }
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (low === high) [low, high] = [low - (Math.abs(low) || 1) * 0.5, high + (Math.abs(high) || 1) * 0.5];
  const axis = [Math.min(0, data.time[0]), data.time.at(-1)];
  plot.axis = axis;
  const x = (t) => ((t - axis[0]) / (axis[1] - axis[0] || 1)) * width;
  const bottom = height - 14;
  const y = (v) => bottom - 3 - ((v - low) / (high - low)) * (bottom - 10);
  context.font = "10px system-ui, sans-serif";
  context.fillStyle = "#66727f";
  context.strokeStyle = "#e4e8ee";
  context.lineWidth = 1;
  context.textBaseline = "bottom";
  for (const value of ticks(low, high, 2)) {
    context.beginPath();
    context.moveTo(0, Math.round(y(value)) + 0.5);
    context.lineTo(width, Math.round(y(value)) + 0.5);
    context.stroke();
    const isHigh = y(value) < 14;
    context.textBaseline = isHigh ? "top" : "bottom";
    context.fillText(short(value), 1, y(value) + (isHigh ? 2 : -1));
  }
  context.textBaseline = "alphabetic";
  for (const value of ticks(axis[0], axis[1], 4)) {
    const text = `${short(value)} s`;
    const at = x(value);
    context.textAlign = at < 12 ? "left" : at > width - 14 ? "right" : "center";
    context.fillText(text, at, height - 2);
  }
  context.textAlign = "left";
  const points = data.time.map((t, i) => [x(t), data.low[i], data.high[i]]).filter((p) => p[1] !== null);
  context.fillStyle = BAND;
  context.beginPath();
  points.forEach(([px, , top]) => context.lineTo(px, y(top)));
  points.toReversed().forEach(([px, under]) => context.lineTo(px, y(under)));
  context.fill();
  context.strokeStyle = LINE;
  context.lineWidth = 1.2;
  context.beginPath();
  points.forEach(([px, under, top]) => context.lineTo(px, y(0.5 * (under + top))));
  context.stroke();
  context.strokeStyle = CURSOR;
  context.beginPath();
  context.moveTo(x(now), 0);
  context.lineTo(x(now), bottom);
  context.stroke();
  // Some are not measured in every step: the last one that was before now.
  const before = points.findLast(([at]) => at <= x(now) + 0.5) ?? points[0];
  plot.label.textContent = `${plot.name}: ${short(before[2])} ${plot.unit}`;
}
