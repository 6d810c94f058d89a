// The page: what the reader touches, and what follows from it.

import { Camera } from "./camera.js";
import { Frames, control, json, latest, surfaces } from "./connection.js";
import { drawOverlay, short } from "./legend.js";
import { Picks } from "./picks.js";
import { Player, SPEEDS } from "./player.js";
import { Plots } from "./plots.js";
import { Renderer } from "./renderer.js";
import { dot, scaled } from "./vectors.js";

/** Time without a change after which the picture is drawn finely, ms. */
const STILL_AFTER = 160;
/** Movement of the mouse up to which a press is a click, pixels. */
const CLICK = 4;
/** Grains up to which pictures are drawn finely when they are still. */
const MOST_FINE = 300_000;

const element = (id) => document.getElementById(id);
const canvas = element("picture");
const overlay = element("overlay");

class Page {
  async start() {
    const about = await json("about");
    this.about = about;
    document.title = `${about.name} – esker view`;
    element("name").textContent = about.name;
    this.renderer = new Renderer(canvas, about, await surfaces());
    this.camera = new Camera();
    this.frames = new Frames();
    this.range = [0, 1];
    this.rangeColor = null;
    this.rangeMode = "run";
    this.wallMode = "glass";
    this.hiddenWalls = new Set();
    this.clip = { axis: "", flip: false, place: 0.5 };
    this.chains = false;
    this.joints = false;
    this.chainWidth = about.chain_width;
    this.detail = "auto";
    this.color = about.colors.find((color) => color.missing === null) ?? about.colors[0];
    this.drawn = null;
    this.settling = [];
    this.updateTraces = latest((frame) => this.readTraces(frame));
    this.player = new Player({
      frames: this.frames,
      isLive: about.live,
      wanted: () => ({
        color: this.color.name, chains: this.chains, joints: this.joints, picked: this.picks.ids,
      }),
      show: (frame) => this.show(frame),
      tell: (message) => this.tell(message),
      changed: () => this.writeBar(),
    });
    this.picks = new Picks(
      element("picks"), element("no-picks"), () => this.picksChanged(), (m) => this.tell(m),
    );
    canvas.addEventListener("webglcontextlost", () =>
      this.tell("the browser has lost the graphics card: reload the page"),
    );
    this.buildPanel();
    this.bindMouse();
    this.bindKeys();
    this.resize();
    new ResizeObserver(() => this.resize()).observe(element("stage"));
    await this.player.look();
    await this.setView("oblique");
    await this.findRange();
    if (about.live) {
      await this.player.refresh();
      this.player.follow();
    } else {
      await this.player.seek(0);
    }
    this.plots = new Plots(element("plots"), element("add-plot"), about, (time) =>
      this.player.seekTime(time),
    );
    this.player.watch();
  }

  tell(message) {
    const box = element("message");
    box.hidden = message === null;
    box.textContent = message ?? "";
  }

  /** A frame has come. */
  show(frame) {
    this.frame = frame;
    this.renderer.setFrame(frame);
    if (this.rangeMode === "frame") this.setRange(frame.low, frame.high);
    else if (this.rangeMode === "run" && this.about.live && frame.grains > 0) {
      // What is still to come of a live run is not known: colours widen as it comes.
      const [low, high] = this.rangeColor === this.color.name ? this.range : [Infinity, -Infinity];
      this.rangeColor = this.color.name;
      if (frame.low < low || frame.high > high) {
        this.setRange(Math.min(low, frame.low), Math.max(high, frame.high));
      }
    }
    this.plots?.setTime(frame.time);
    this.picks.update(frame);
    if (this.picks.list.length > 0) this.updateTraces(frame);
    // A live run that begins with few grains outgrows the first view.
    const outgrown = frame.grains > 2 * this.fittedGrains;
    if (this.about.live && outgrown && !this.camera.isTouched) this.setView(this.viewName);
    this.writeBar();
    this.invalidate();
  }

  async readTraces(frame) {
    try {
      this.renderer.setTraces(await this.picks.traces(frame.step));
      this.invalidate();
    } catch (error) {
      this.tell(error.message);
    }
  }

  async picksChanged() {
    await this.player.refresh();
    if (this.frame) this.updateTraces(this.frame);
    this.invalidate();
  }

  /** Draws soon, roughly; and finely when nothing changes any more. */
  invalidate() {
    clearTimeout(this.still);
    this.isSettled = false;
    if (!this.scheduled) {
      this.scheduled = requestAnimationFrame(() => {
        this.scheduled = null;
        this.draw(1);
        const fine = this.frame && this.frame.grains <= MOST_FINE && devicePixelRatio < 2;
        this.still = setTimeout(() => {
          if (fine) this.draw(2);
          this.isSettled = true;
          this.settling.splice(0).forEach((resolve) => resolve());
        }, STILL_AFTER);
      });
    }
  }

  /** Fulfilled when the picture is drawn finely. */
  settled() {
    return this.isSettled ? Promise.resolve() : new Promise((resolve) => this.settling.push(resolve));
  }

  draw(samples) {
    if (!this.frame || !this.camera.eye) return;
    const start = performance.now();
    this.renderer.draw(
      {
        camera: this.camera,
        color: this.color.name,
        map: this.color.map,
        categorical: this.color.map === "categorical",
        range: this.range,
        wallMode: this.wallMode,
        hiddenWalls: this.hiddenWalls,
        clip: this.clipPlane(),
        chains: this.chains,
        joints: this.joints,
        chainWidth: this.chainWidth,
        detail: this.detail,
        marks: this.picks.marks(this.frame),
      },
      samples,
    );
    this.drawMs = performance.now() - start;
    this.drawLegend(overlay, devicePixelRatio);
  }

  drawLegend(target, ratio) {
    const [width, height] = [overlay.clientWidth, overlay.clientHeight];
    const context = target.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const names = this.color.categories;
    const color = names.length > 0 || this.color.map !== "categorical"
      ? this.color
      : { ...this.color, categories: [] };
    drawOverlay(context, {
      width,
      height,
      color,
      range: this.range,
      maps: this.about.maps,
      time: this.frame.time,
      text: this.renderer.drawsPoints(this.detail) ? "grains as points" : "",
    });
  }

  resize() {
    const { clientWidth, clientHeight } = element("stage");
    for (const target of [canvas, overlay]) {
      target.width = Math.max(1, Math.round(clientWidth * devicePixelRatio));
      target.height = Math.max(1, Math.round(clientHeight * devicePixelRatio));
    }
    this.invalidate();
  }

  /** Takes up one of the views of `render`; of this frame alone, if a step is given. */
  async setView(name, step = null) {
    const aspect = canvas.width / canvas.height;
    const of = step === null ? "" : `&step=${step}`;
    this.fittedGrains = this.frame?.grains ?? 0;
    try {
      const view = await json(`view?view=${name}&aspect=${aspect.toFixed(6)}${of}`);
      this.camera.set(view);
      this.viewName = name;
      this.renderer.floors = {
        walls: view.floors,
        // Where there are no grains yet, there is nothing to show a floor under.
        middle: view.floor_middle.map((x) => x ?? 0),
        radius: view.floor_radius ?? 0,
      };
      this.invalidate();
    } catch (error) {
      this.tell(error.message);
    }
  }

  async findRange() {
    if (this.rangeMode !== "run" || this.color.map === "categorical") return;
    try {
      const { name } = this.color;
      const { low, high } = await json(`range?color=${name}`);
      if (low === null || name !== this.color.name || this.rangeMode !== "run") return;
      this.rangeColor = name;
      this.setRange(low, high);
    } catch (error) {
      this.tell(error.message);
    }
  }

  setRange(low, high) {
    if (!Number.isFinite(low) || !Number.isFinite(high)) return;
    if (low === high) {
      const half = low === 0 ? 0.5 : 0.1 * Math.abs(low);
      [low, high] = [low - half, high + half];
    }
    this.range = [low, high];
    element("low").value = short(low, 4);
    element("high").value = short(high, 4);
    this.invalidate();
  }

  clipPlane() {
    const { axis, flip, place } = this.clip;
    if (axis === "") return null;
    const { low, high } = this.camera;
    const normal = axis === "view"
      ? this.clip.normal
      : ["x", "y", "z"].map((name) => (name === axis ? 1 : 0));
    const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((k) =>
      dot(normal, [0, 1, 2].map((i) => ((k >> i) & 1 ? high[i] : low[i]))),
    );
    const [from, to] = [Math.min(...corners), Math.max(...corners)];
    const offset = from + place * (to - from);
    return flip ? { normal: scaled(normal, -1), offset: -offset } : { normal, offset };
  }

  buildPanel() {
    const { about } = this;
    const colors = element("color");
    for (const { name, meaning, missing } of about.colors) {
      const option = new Option(name.replace("-", " "), name);
      option.title = missing ?? meaning;
      option.disabled = missing !== null;
      colors.add(option);
    }
    colors.value = this.color.name;
    colors.addEventListener("change", () => this.setColor(colors.value));
    for (const input of [element("low"), element("high")]) {
      input.addEventListener("change", () => {
        const [low, high] = [element("low"), element("high")].map((i) => Number(i.value));
        if (low < high) {
          this.setRangeMode("fixed");
          this.setRange(low, high);
        }
      });
    }
    element("range-mode").addEventListener("change", (event) =>
      this.setRangeMode(event.target.value),
    );
    about.views.forEach((name, i) => {
      const button = document.createElement("button");
      button.textContent = name;
      button.title = `View of \`render\` (${i + 1})`;
      button.addEventListener("click", () => this.setView(name));
      element("views").append(button);
    });
    const bind = (id, change) => {
      const input = element(id);
      const value = () => (input.type === "checkbox" ? input.checked : input.value);
      input.addEventListener("input", () => {
        change(value());
        this.invalidate();
      });
    };
    bind("detail", (value) => (this.detail = value));
    bind("walls", (value) => (this.wallMode = value));
    bind("clip-axis", (value) => this.setClip(value));
    bind("clip-flip", (value) => (this.clip.flip = value));
    bind("clip-place", (value) => (this.clip.place = Number(value)));
    bind("chains", (value) => this.setChains(value));
    bind("chain-width", (value) => (this.chainWidth = Number(value)));
    bind("joints", (value) => this.setJoints(value));
    bind("traces", (value) => this.setTraces(value));
    element("chain-width").value = this.chainWidth;
    if (!about.has_contacts) {
      element("chains").disabled = true;
      element("chains").parentElement.title =
        "the recording holds no contacts; set contacts = true in [record] of the scene";
    }
    if (about.no_joints !== null) {
      element("joints").disabled = true;
      element("joints").parentElement.title = about.no_joints;
    }
    if (about.walls.length > 1) {
      element("wall-list").hidden = false;
      about.walls.forEach(({ name }, i) => {
        const label = document.createElement("label");
        const box = document.createElement("input");
        box.type = "checkbox";
        box.checked = true;
        box.addEventListener("input", () => {
          if (box.checked) this.hiddenWalls.delete(i);
          else this.hiddenWalls.add(i);
          this.invalidate();
        });
        label.append(box, name);
        element("wall-list").lastElementChild.append(label);
      });
    }
    for (const speed of SPEEDS) element("speed").add(new Option(`${speed} ×`, speed));
    element("speed").value = this.player.speed;
    element("speed").addEventListener("change", () => {
      this.player.speed = Number(element("speed").value);
    });
    element("time").addEventListener("input", () => {
      const index = Number(element("time").value);
      this.player.stop();
      this.player.seek(index);
    });
    const click = (id, act) => element(id).addEventListener("click", act);
    click("play", () => (this.player.playing ? this.player.stop() : this.player.play()));
    click("back", () => this.stepFrame(-1));
    click("on", () => this.stepFrame(1));
    click("screenshot", () => this.screenshot());
    click("show-help", () => this.toggleHelp());
    element("live-buttons").hidden = !about.live;
    click("live-pause", () => this.command(this.isRunning() ? "pause" : "resume"));
    click("live-step", () => this.liveStep());
    click("live-stop", () => this.command("stop"));
    click("follow", () => this.setFollowing());
  }

  setColor(name) {
    this.color = this.about.colors.find((color) => color.name === name);
    element("color").value = name;
    element("range-rows").hidden = this.color.map === "categorical";
    this.findRange();
    this.player.refresh();
  }

  setRangeMode(mode) {
    this.rangeMode = mode;
    document.querySelector(`[name=range][value=${mode}]`).checked = true;
    if (mode === "run") this.findRange();
    if (mode === "frame" && this.frame) this.setRange(this.frame.low, this.frame.high);
  }

  setClip(axis) {
    this.clip.axis = axis;
    if (axis === "view") this.clip.normal = scaled(this.camera.basis().forward, -1);
    element("clip-axis").value = axis;
    element("clip-place").hidden = axis === "";
    this.invalidate();
  }

  /** Force chains, in half-transparent grains; grains and bars share one scale, as in `render`. */
  setChains(on) {
    this.chains = on;
    element("chains").checked = on;
    element("chain-width-row").hidden = !on;
    if (on) this.setColor("force");
    else this.player.refresh();
  }

  /** Joints of machines, in half-transparent bodies. */
  setJoints(on) {
    this.joints = on;
    element("joints").checked = on;
    this.player.refresh();
  }

  setTraces(on) {
    this.picks.showTraces = on;
    element("traces").checked = on;
    if (this.frame) this.updateTraces(this.frame);
  }

  setFollowing() {
    this.player.playing = false;
    this.player.following = true;
    this.player.refresh();
    this.writeBar();
  }

  isRunning() {
    return this.player.status?.live?.state === "running";
  }

  async command(what) {
    try {
      this.player.status = await control(what);
      this.writeBar();
    } catch (error) {
      this.tell(error.message);
    }
  }

  async liveStep() {
    await this.command("step");
    this.setFollowing();
  }

  stepFrame(by) {
    this.player.stop();
    return this.player.seek(this.player.index + by);
  }

  toggleHelp() {
    element("help").hidden = !element("help").hidden;
  }

  writeBar() {
    const { player } = this;
    const { status } = player;
    const bar = element("time");
    bar.max = Math.max(0, player.steps.length - 1);
    bar.value = player.following ? bar.max : player.index;
    const time = player.following ? this.frame?.time ?? 0 : player.time;
    const last = player.times.at(-1) ?? 0;
    const end = Math.max(status?.live?.end ?? 0, last);
    element("clock").value = `${time.toFixed(3)} of ${short(end, 5)} s`;
    element("play").textContent = player.playing ? "Pause" : "Play";
    element("play").setAttribute("aria-pressed", player.playing);
    element("follow").setAttribute("aria-pressed", player.following);
    const grains = this.frame ? `${this.frame.grains.toLocaleString("en")} grains` : "";
    let state = grains;
    if (status?.live) {
      const { live } = status;
      const running = live.state === "running";
      const over = !running && live.state !== "paused";
      element("live-pause").textContent = running || over ? "Pause" : "Resume";
      for (const id of ["live-pause", "live-step", "live-stop"]) element(id).disabled = over;
      const share = live.end > 0 ? `${Math.floor((100 * live.time) / live.end + 1e-6)} %` : "";
      const left = running && live.speed > 0 ? ` · ${duration((live.end - live.time) / live.speed)} left` : "";
      const speed = running ? ` · ${short(live.speed)} × real time` : "";
      const residual = live.residual === null ? "" : ` · residual ${short(live.residual, 2)}`;
      state = `${live.state} · ${share} · step ${live.step}${speed}${left} · ${grains} · ${live.contacts} contacts${residual}`;
    } else if (player.steps.length > 0) {
      state += ` · frame ${player.index + 1} of ${player.steps.length}`;
    }
    element("state").textContent = state;
  }

  /** Saves the picture with its legend as a PNG file. */
  async screenshot() {
    this.draw(devicePixelRatio < 2 ? 2 : 1);
    const whole = document.createElement("canvas");
    [whole.width, whole.height] = [canvas.width, canvas.height];
    const context = whole.getContext("2d");
    context.drawImage(canvas, 0, 0);
    const legend = document.createElement("canvas");
    [legend.width, legend.height] = [canvas.width, canvas.height];
    this.drawLegend(legend, devicePixelRatio);
    context.drawImage(legend, 0, 0);
    const blob = await new Promise((resolve) => whole.toBlob(resolve, "image/png"));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${this.about.name}-${this.frame.time.toFixed(3)}s.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  bindMouse() {
    let press = null;
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      canvas.focus();
      press = { x: event.clientX, y: event.clientY, travelled: 0, button: event.button };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!press) return;
      const [dx, dy] = [event.clientX - press.x, event.clientY - press.y];
      press.travelled += Math.abs(dx) + Math.abs(dy);
      [press.x, press.y] = [event.clientX, event.clientY];
      if (press.travelled <= CLICK) return;
      canvas.classList.add("moving");
      const pixels = canvas.clientHeight;
      if (press.button === 0 && !event.shiftKey) this.camera.orbit(dx, dy, pixels);
      else this.camera.pan(dx, dy, pixels);
      this.invalidate();
    });
    canvas.addEventListener("pointerup", (event) => {
      canvas.classList.remove("moving");
      if (press && press.travelled <= CLICK && press.button === 0) this.clicked(event);
      press = null;
    });
    canvas.addEventListener("dblclick", (event) => {
      const index = this.grainAt(event);
      if (index === null) return;
      this.camera.lookAt(this.renderer.placeOf(index));
      this.invalidate();
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const { left, top, height, width } = canvas.getBoundingClientRect();
        const x = (event.clientX - left - width / 2) / (height / 2);
        const y = -(event.clientY - top - height / 2) / (height / 2);
        const lines = event.deltaMode === 0 ? event.deltaY / 100 : event.deltaY / 3;
        this.camera.zoom(Math.max(-3, Math.min(3, lines)), x, y);
        this.invalidate();
      },
      { passive: false },
    );
  }

  grainAt(event) {
    const { left, top } = canvas.getBoundingClientRect();
    const pixel = (at) => Math.floor(at * devicePixelRatio);
    return this.renderer.pick(pixel(event.clientX - left), pixel(event.clientY - top));
  }

  clicked(event) {
    const index = this.grainAt(event);
    if (index !== null) this.picks.toggle(this.frame, index);
  }

  bindKeys() {
    const next = (list, value) => list[(list.indexOf(value) + 1) % list.length];
    const faster = (by) => {
      const place = SPEEDS.indexOf(this.player.speed) + by;
      this.player.speed = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, place))];
      element("speed").value = this.player.speed;
    };
    const follows = () => this.about.live && this.player.following;
    const keys = {
      " ": () => {
        if (follows()) this.command(this.isRunning() ? "pause" : "resume");
        else if (this.player.playing) this.player.stop();
        else this.player.play();
      },
      ArrowLeft: () => this.stepFrame(-1),
      ArrowRight: () => (follows() ? this.liveStep() : this.stepFrame(1)),
      Home: () => this.player.seek(0),
      End: () => (this.about.live ? this.setFollowing() : this.player.seek(Infinity)),
      "+": () => faster(1),
      "-": () => faster(-1),
      w: () => {
        this.wallMode = next(["glass", "lines", "hidden"], this.wallMode);
        element("walls").value = this.wallMode;
        this.invalidate();
      },
      c: () => this.about.has_contacts && this.setChains(!this.chains),
      j: () => this.about.no_joints === null && this.setJoints(!this.joints),
      x: () => this.setClip(next(["", "x", "y", "z"], this.clip.axis)),
      t: () => this.setTraces(!this.picks.showTraces),
      s: () => this.screenshot(),
      "?": () => this.toggleHelp(),
      Escape: () => {
        element("help").hidden = true;
        this.picks.clear();
      },
    };
    this.about.views.forEach((name, i) => (keys[i + 1] = () => this.setView(name)));
    document.addEventListener("keydown", (event) => {
      const typing = event.target.matches("input[type=number], select");
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const act = keys[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
  }
}

/** Seconds in words. */
function duration(seconds) {
  if (!Number.isFinite(seconds)) return "long";
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

const page = new Page();
// For whoever drives the page by hand or by a test.
window.esker = page;
page.ready = page.start().catch((error) => page.tell(error.message));
