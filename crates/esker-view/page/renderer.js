// Draws a frame: bodies into a buffer of colours, normals and depths, then light on it, then walls.
//
// The passes are those of `esker render`. Bodies: spheres as squares on which every pixel finds its
// own depth, other shapes as instanced meshes, bars; or points, where there are very many grains.
// Occlusion: how open a pixel is to the sky and to the key light, once per pixel. Light. Floors and
// walls, blended. The samples of a pixel are averaged in linear light.

import { CORNER_NUMBERS, EDGE_NUMBERS, JOINT_NUMBERS, extent } from "./frame.js";
import { Program, Target, Texture, buffer, vertexArray } from "./graphics.js";
import * as shaders from "./shaders.js";
import { add, cross, dot, length, rotated, scaled, sub, unit } from "./vectors.js";

/** Grains from which on points are drawn, unless bodies are asked for. */
export const MOST_BODIES = 250_000;
/** Triangles of all grains from which on coarse meshes are drawn. */
const MOST_TRIANGLES = 3_000_000;
/** Texels of the shadow map, each way. */
const SHADOW_SIZE = 1024;
/** Grains that can be marked. */
const MOST_MARKS = 16;
/** Width of traces in mean radii. */
const TRACE_WIDTH = 0.28;
/** Everything is shown: nothing lies before this plane. */
const NO_CLIP = [0, 0, 0, 1];

const toLinear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);

export class Renderer {
  constructor(canvas, about, surfaces) {
    this.canvas = canvas;
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false, depth: false });
    if (!gl) throw new Error("this browser has no WebGL 2, which the picture needs");
    this.gl = gl;
    this.about = about;
    // Numbers in round brackets: some are negative.
    const defines = Object.entries(about.look)
      .map(([name, value]) => `#define ${name} (${value.toFixed(6)})\n`)
      .join("");
    const program = ({ vertex, fragment }) => new Program(gl, vertex, fragment, defines);
    this.programs = Object.fromEntries(
      Object.entries(shaders).map(([name, source]) => [name, program(source)]),
    );
    this.maps = {
      viridis: new Texture(gl).colors(about.maps.viridis, gl.LINEAR),
      cividis: new Texture(gl).colors(about.maps.cividis, gl.LINEAR),
      categorical: new Texture(gl).colors(about.maps.categorical, gl.NEAREST),
    };
    const geometry = [gl.SRGB8_ALPHA8, gl.RGB10_A2, gl.R32UI];
    this.opaque = new Target(gl, geometry, gl.DEPTH_COMPONENT24);
    this.ghosts = new Target(gl, geometry, gl.DEPTH_COMPONENT24);
    this.rough = new Target(gl, [gl.RGBA8], null);
    this.open = new Target(gl, [gl.RGBA8], null);
    this.lit = new Target(gl, [gl.SRGB8_ALPHA8], null);
    this.among = gl.createFramebuffer();
    this.shadow = this.shadowTarget();
    this.walls = surfaces.walls.map((surface) => this.wallSurface(surface));
    this.ball = this.wallSurface(surfaces.ball);
    this.bar = this.wallSurface(surfaces.bar);
    this.shapes = surfaces.shapes.map((levels, i) => ({
      levels: levels.map((surface) => ({
        corners: surface.corners,
        data: buffer(gl, surface.cornerData),
      })),
      isRound: !hasSharpEdges(levels[0]),
      spheres: about.shapes[i].spheres,
      radius: about.shapes[i].bounding_radius,
    }));
    this.nothing = gl.createVertexArray();
    this.place = gl.createBuffer();
    this.value = gl.createBuffer();
    this.rotation = gl.createBuffer();
    this.chains = gl.createBuffer();
    this.trace = gl.createBuffer();
    this.sphereArray = vertexArray(gl, [
      [0, 4, this.place, 4, 0, 1],
      [1, 1, this.value, 1, 0, 1],
    ]);
    this.chainArray = vertexArray(gl, barAttributes(this.chains));
    this.traceArray = vertexArray(gl, barAttributes(this.trace));
    this.groups = [];
    this.tracePieces = 0;
    this.frame = null;
  }

  shadowTarget() {
    const { gl } = this;
    const target = new Target(gl, [], gl.DEPTH_COMPONENT24);
    target.resize([SHADOW_SIZE, SHADOW_SIZE]);
    gl.bindTexture(gl.TEXTURE_2D, target.depth.handle);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    return target;
  }

  wallSurface(surface) {
    const { gl } = this;
    const corners = buffer(gl, surface.cornerData);
    const edges = buffer(gl, surface.edgeData);
    const edge = (place, numbers, offset) => [place, numbers, edges, EDGE_NUMBERS, offset, 1];
    return {
      ...surface,
      surfaceArray: vertexArray(gl, [
        [0, 3, corners, CORNER_NUMBERS, 0, 0],
        [1, 3, corners, CORNER_NUMBERS, 3, 0],
      ]),
      edgeArray: vertexArray(gl, [
        edge(0, 3, 0), edge(1, 3, 3), edge(2, 3, 6), edge(3, 3, 9), edge(4, 1, 12),
      ]),
      middle: middleOf(surface),
    };
  }

  /** Takes up a frame: everything of it goes to the graphics card. */
  setFrame(frame) {
    const { gl } = this;
    if (frame === this.frame) return;
    this.frame = frame;
    this.extent = extent(frame, this.shapes.map((shape) => shape.radius));
    for (const [handle, data] of [
      [this.place, frame.place],
      [this.value, frame.value],
      [this.rotation, frame.rotation],
      [this.chains, frame.chains],
    ]) {
      gl.bindBuffer(gl.ARRAY_BUFFER, handle);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
    }
    this.groups.forEach((group) => group.arrays.forEach((array) => gl.deleteVertexArray(array)));
    this.groups = [];
    let triangles = 0;
    for (let g = 0; g < frame.groups.length; g += 3) {
      const [shape, first, count] = frame.groups.subarray(g, g + 3);
      triangles += (count * this.shapes[shape].levels[0].corners) / 3;
      this.groups.push({ shape: this.shapes[shape], first, count });
    }
    const level = triangles > MOST_TRIANGLES ? 1 : 0;
    for (const group of this.groups) {
      const { shape, first } = group;
      const instance = [
        [0, 4, this.place, 4, 4 * first, 1],
        [1, 1, this.value, 1, first, 1],
        [2, 4, this.rotation, 4, 4 * (first - frame.spheres), 1],
      ];
      const mesh = shape.levels[level];
      group.corners = mesh.corners;
      const corner = (place, offset) => [place, 3, mesh.data, CORNER_NUMBERS, offset, 0];
      const round = shape.spheres.length > 0;
      const own = round ? [] : [corner(3, 0), corner(4, 3), corner(5, 6)];
      const points = instance.map(([place, numbers, data, stride, offset]) => [
        place, numbers, data, stride, offset, 0,
      ]);
      group.arrays = [vertexArray(gl, [...instance, ...own]), vertexArray(gl, points)];
    }
    if (this.pointArray) gl.deleteVertexArray(this.pointArray);
    this.pointArray = vertexArray(gl, [
      [0, 4, this.place, 4, 0, 0],
      [1, 1, this.value, 1, 0, 0],
    ]);
  }

  /** Traces to draw: lists of places in the scene. */
  setTraces(traces) {
    this.traces = traces;
    this.traceOrigin = null;
  }

  uploadTraces() {
    const { origin } = this.frame;
    if (this.traceOrigin === origin || !this.traces) return;
    this.traceOrigin = origin;
    const numbers = [];
    this.traceRanges = [];
    for (const { places, color } of this.traces) {
      const first = numbers.length / 7;
      for (let i = 1; i < places.length; i++) {
        const [from, to] = [places[i - 1], places[i]];
        if (from && to) numbers.push(...sub(from, origin), ...sub(to, origin), 1);
      }
      this.traceRanges.push({ first, count: numbers.length / 7 - first, color });
    }
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.trace);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.DYNAMIC_DRAW);
  }

  /** Whether grains are drawn as points. */
  drawsPoints(detail) {
    const many = this.frame && this.frame.grains > MOST_BODIES;
    return detail === "points" || (detail === "auto" && many);
  }

  /**
   * Draws the frame. `style` has: camera, map, range, categorical, wallMode, hiddenWalls, clip,
   * chains, joints, chainWidth, detail, marks; `samples` per pixel, each way.
   */
  draw(style, samples) {
    const { gl, frame, canvas } = this;
    if (!frame || canvas.width === 0 || canvas.height === 0) return;
    const size = [canvas.width, canvas.height];
    const fine = size.map((n) => n * samples);
    const points = this.drawsPoints(style.detail);
    this.style = style;
    this.opaque.resize(fine);
    this.lit.resize(fine);
    this.rough.resize(size);
    this.open.resize(size);
    if (style.chains) this.ghosts.resize(fine);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.among);
    gl.framebufferTexture2D(
      gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.lit.colors[0].handle, 0,
    );
    gl.framebufferTexture2D(
      gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.opaque.depth.handle, 0,
    );
    const view = this.view(style.camera, size);
    const light = this.light(style.camera, view);
    const bodies = {
      ...view,
      uMap: this.maps[style.map],
      uRange: style.range,
      uCategorical: style.categorical,
      uClip: this.clipPlane(style.clip),
      uOutline: Math.min(4, Math.max(0.6, size[1] / 800)),
    };
    const shadows = !points && frame.grains > 0;
    gl.disable(gl.BLEND);
    gl.disable(gl.CULL_FACE);
    if (shadows) this.drawShadows(bodies, light, style);

    this.beginGeometry(this.opaque);
    if (style.chains) this.drawChains(bodies, style);
    else this.drawGrains(bodies, points);
    this.drawTraces(bodies);

    gl.disable(gl.DEPTH_TEST);
    gl.bindVertexArray(this.nothing);
    const shadowUniforms = this.shadowUniforms(light, shadows);
    const occluded = !points;
    if (occluded) this.drawOpenness(view, shadowUniforms, samples);
    this.drawLight(view, light, this.opaque, { samples, occluded, opacity: 1 });
    if (style.chains) {
      gl.enable(gl.DEPTH_TEST);
      this.beginGeometry(this.ghosts);
      this.drawGrains(bodies, points);
      gl.disable(gl.DEPTH_TEST);
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
      this.drawLight(view, light, this.ghosts, {
        samples, occluded: false, opacity: this.about.ghost, over: this.opaque,
      });
      gl.disable(gl.BLEND);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.among);
    gl.viewport(0, 0, fine[0], fine[1]);
    this.drawScenery(bodies, light, shadowUniforms, size);

    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, size[0], size[1]);
    gl.bindVertexArray(this.nothing);
    this.programs.RESOLVE.use({ uPicture: this.lit.colors[0], uSamples: samples });
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    this.samples = samples;
  }

  /** Uniforms of a camera. */
  view(camera, size) {
    const { origin } = this.frame;
    const { right, up, forward } = camera.basis();
    const aspect = size[0] / size[1];
    const half = camera.halfHeight;
    const [near, far] = camera.depthRange(...this.reach(camera));
    const span = far - near;
    const depth = camera.perspective
      ? [(far + near) / span, (-2 * far * near) / span]
      : [2 / span, -(far + near) / span];
    return {
      uEye: sub(camera.eye, origin),
      uRight: right,
      uUp: up,
      uForward: forward,
      uScale: [1 / (half * aspect), 1 / half],
      uDepth: depth,
      uPerspective: camera.perspective,
      uPixels: size[1] / (2 * half),
    };
  }

  /** A ball around all that can be seen. */
  reach(camera) {
    const { low, high, radius } = this.extent;
    const { origin } = this.frame;
    let reach = length(sub(high, low)) / 2 + 2 * radius;
    const middle = add(origin, scaled(add(low, high), 0.5));
    const include = (point, size) => {
      reach = Math.max(reach, length(sub(point, middle)) + size);
    };
    include(scaled(add(camera.low, camera.high), 0.5), length(sub(camera.high, camera.low)) / 2);
    if (this.floors) include(this.floors.middle, 1.01 * this.floors.radius);
    this.frameWalls().forEach((wall) => {
      if (!wall.isFloor) include(add(origin, add(wall.position, rotated(wall.rotation, wall.surface.middle.point))), wall.surface.middle.reach);
    });
    this.jointMarks().forEach(({ position, stretch }) => include(add(origin, position), length(stretch)));
    return [middle, reach];
  }

  /** Where walls stand in this frame; those that are not there are left out. */
  frameWalls() {
    const list = [];
    this.walls.forEach((surface, i) => {
      const numbers = this.frame.walls.subarray(7 * i, 7 * i + 7);
      if (numbers.length < 7 || !Number.isFinite(numbers[0])) return;
      const isFloor = this.floors?.walls.includes(i) ?? false;
      list.push({
        index: i,
        surface,
        isFloor,
        position: [...numbers.subarray(0, 3)],
        rotation: [...numbers.subarray(3, 7)],
        stretch: [1, 1, 1],
        color: this.about.walls[i].color,
        isBody: this.about.walls[i].body,
      });
    });
    return list;
  }

  /** Balls and bars of the joints of this frame, as surfaces with a place, a size and a colour. */
  jointMarks() {
    const { colors, bar: thickness } = this.about.joint;
    const { joints } = this.frame;
    const list = [];
    for (let at = 0; at < joints.length; at += JOINT_NUMBERS) {
      const numbers = joints.subarray(at, at + JOINT_NUMBERS);
      const point = (from) => [...numbers.subarray(from, from + 3)];
      const [anchor, radius, color] = [point(0), numbers[3], colors[numbers[10]]];
      list.push({
        anchor, color, surface: this.ball, position: anchor, rotation: [0, 0, 0, 1],
        stretch: [radius, radius, radius],
      });
      const [from, to] = [point(4), point(7)];
      if (!Number.isFinite(from[0])) continue;
      const along = sub(to, from);
      list.push({
        anchor, color, surface: this.bar,
        position: scaled(add(from, to), 0.5),
        rotation: rotationFromZ(unit(along)),
        stretch: [thickness * radius, thickness * radius, 0.5 * length(along)],
      });
    }
    return list;
  }

  /** Directions of the light in the axes of the picture, and the camera of the shadow map. */
  light(camera, view) {
    const turned = (v) => [dot(v, view.uRight), dot(v, view.uUp), dot(v, view.uForward)];
    const sky = unit(turned(camera.up));
    const { KEY_SKY, KEY_RIGHT, KEY_UP, KEY_FORWARD } = this.about.look;
    const key = unit(add(scaled(sky, KEY_SKY), [KEY_RIGHT, KEY_UP, KEY_FORWARD]));
    const { uRight, uUp, uForward } = view;
    const towards = add(add(scaled(uRight, key[0]), scaled(uUp, key[1])), scaled(uForward, key[2]));
    const forward = scaled(towards, -1);
    const right = unit(cross(forward, Math.abs(forward[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0]));
    const up = cross(right, forward);
    const { low, high, radius } = this.extent;
    const middle = scaled(add(low, high), 0.5);
    const half = scaled(sub(high, low), 0.5);
    const reach = (axis) =>
      Math.abs(axis[0]) * half[0] + Math.abs(axis[1]) * half[1] + Math.abs(axis[2]) * half[2] + 1.05 * radius;
    const scale = [right, up, forward].map((axis) => 1 / Math.max(reach(axis), 1e-30));
    return {
      sky,
      key,
      camera: {
        uEye: middle,
        uRight: right,
        uUp: up,
        uForward: forward,
        uScale: [scale[0], scale[1]],
        uDepth: [scale[2], 0],
        uPerspective: false,
        uPixels: SHADOW_SIZE * 0.5 * scale[1],
      },
      middle: turned(sub(middle, view.uEye)),
      axes: [right, up, forward].map(turned),
      scale,
    };
  }

  shadowUniforms(light, shadows) {
    return {
      uShadows: shadows,
      uShadowMap: this.shadow.depth,
      uLightEye: light.middle,
      uLightRight: light.axes[0],
      uLightUp: light.axes[1],
      uLightForward: light.axes[2],
      uLightScale: light.scale,
      uSize: this.extent.meanRadius,
    };
  }

  clipPlane(clip) {
    if (!clip) return NO_CLIP;
    return [...clip.normal, clip.offset - dot(clip.normal, this.frame.origin)];
  }

  beginGeometry(target) {
    const { gl } = this;
    target.begin();
    gl.clearBufferfv(gl.COLOR, 0, [0, 0, 0, 0]);
    gl.clearBufferfv(gl.COLOR, 1, [0.5, 0.5, 0.5, 0]);
    gl.clearBufferuiv(gl.COLOR, 2, [0, 0, 0, 0]);
    gl.clearBufferfv(gl.DEPTH, 0, [1]);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LESS);
    gl.depthMask(true);
  }

  drawGrains(uniforms, points) {
    const { gl, frame } = this;
    if (frame.spheres > 0 && points) {
      this.programs.POINTS.use({ ...uniforms, uFirst: 0, uRadiusFactor: 1 });
      gl.bindVertexArray(this.pointArray);
      gl.drawArrays(gl.POINTS, 0, frame.spheres);
    } else if (frame.spheres > 0) {
      this.programs.SPHERES.use({ ...uniforms, uFirst: 0, uPart: [0, 0, 0, 1] });
      gl.bindVertexArray(this.sphereArray);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, frame.spheres);
    }
    for (const { shape, first, count, corners, arrays } of this.groups) {
      const own = { ...uniforms, uFirst: first, uRadiusFactor: shape.radius };
      if (points) {
        this.programs.POINTS.use(own);
        gl.bindVertexArray(arrays[1]);
        gl.drawArrays(gl.POINTS, 0, count);
        continue;
      }
      gl.bindVertexArray(arrays[0]);
      for (const part of shape.spheres) {
        this.programs.SPHERES.use({ ...own, uPart: part });
        gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
      }
      if (shape.spheres.length === 0 && corners > 0) {
        this.programs.SOLIDS.use({ ...own, uRound: shape.isRound });
        gl.drawArraysInstanced(gl.TRIANGLES, 0, corners, count);
      }
    }
  }

  drawChains(uniforms, style) {
    const { gl, frame } = this;
    if (frame.chainCount === 0) return;
    const byForce = style.color === "force";
    this.programs.BARS.use({
      ...uniforms,
      uMap: this.maps.viridis,
      uRange: byForce ? style.range : [0, frame.maxForce],
      uCategorical: false,
      uWidth: style.chainWidth * frame.meanRadius,
      uMaxForce: frame.maxForce,
      uColor: [0, 0, 0],
    });
    gl.bindVertexArray(this.chainArray);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, frame.chainCount);
  }

  drawTraces(uniforms) {
    const { gl } = this;
    if (!this.traces || this.traces.length === 0) return;
    this.uploadTraces();
    // They lead through the bed, and are to be seen there.
    gl.depthFunc(gl.ALWAYS);
    for (const { first, count, color } of this.traceRanges) {
      if (count === 0) continue;
      this.programs.BARS.use({
        ...uniforms,
        uWidth: TRACE_WIDTH * this.frame.meanRadius,
        uMaxForce: 0,
        uColor: color.map(toLinear),
        uClip: NO_CLIP,
      });
      const array = vertexArray(gl, barAttributes(this.trace, first));
      gl.bindVertexArray(array);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
      gl.deleteVertexArray(array);
    }
  }

  drawShadows(uniforms, light, style) {
    const { gl } = this;
    this.shadow.begin();
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LESS);
    gl.depthMask(true);
    gl.clearBufferfv(gl.DEPTH, 0, [1]);
    const seenByLight = { ...uniforms, ...light.camera };
    if (style.chains) this.drawChains(seenByLight, style);
    else this.drawGrains(seenByLight, false);
  }

  drawOpenness(view, shadowUniforms, samples) {
    const { gl } = this;
    const geometry = {
      ...view,
      uGeometryDepth: this.opaque.depth,
      uGeometryNormal: this.opaque.colors[1],
      uSamples: samples,
      uSize: shadowUniforms.uSize,
    };
    this.rough.begin();
    this.programs.OCCLUSION.use({ ...geometry, ...shadowUniforms });
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    this.open.begin();
    this.programs.SMOOTH.use({ ...geometry, uOpen: this.rough.colors[0] });
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  drawLight(view, light, geometry, { samples, occluded, opacity, over }) {
    const { gl, about } = this;
    const picked = new Int32Array(MOST_MARKS);
    const marks = new Float32Array(3 * MOST_MARKS);
    this.style.marks.slice(0, MOST_MARKS).forEach(({ index, color }, i) => {
      picked[i] = index + 1;
      marks.set(color.map(toLinear), 3 * i);
    });
    this.lit.begin();
    const { LIGHT } = this.programs;
    LIGHT.use({
      ...view,
      uGeometryColor: geometry.colors[0],
      uGeometryNormal: geometry.colors[1],
      uGeometryId: geometry.colors[2],
      uGeometryDepth: geometry.depth,
      uOpen: this.open.colors[0],
      uOtherDepth: (over ?? geometry).depth,
      uGhost: over !== undefined,
      uOccluded: occluded,
      uOpacity: opacity,
      uSamples: samples,
      uSky: light.sky,
      uKey: light.key,
      uTop: about.background.top.map((x) => x / 255),
      uBottom: about.background.bottom.map((x) => x / 255),
      uPicked: picked,
    });
    gl.uniform3fv(LIGHT.place("uMarks"), marks);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  drawScenery(uniforms, light, shadowUniforms, size) {
    const { gl, style, about } = this;
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LESS);
    const walls = this.frameWalls().filter((wall) => !style.hiddenWalls.has(wall.index));
    const shown = style.wallMode === "hidden" ? walls.filter((wall) => wall.isBody) : walls;
    const [nx, ny, nz, limit] = uniforms.uClip;
    const marks = style.joints
      ? this.jointMarks().filter(({ anchor }) => dot([nx, ny, nz], anchor) <= limit)
      : [];
    if (style.joints) {
      for (const wall of shown.filter((wall) => wall.isBody)) {
        wall.color = [...wall.color.slice(0, 3), about.joint.ghost];
      }
    }
    const eye = uniforms.uEye;
    const distance = ({ position, rotation, surface }) =>
      length(sub(add(position, rotated(rotation, surface.middle.point)), eye));
    const upright = [...shown.filter((wall) => !wall.isFloor), ...marks];
    upright.sort((a, b) => distance(b) - distance(a));
    const drawSurface = (wall) => {
      this.programs.WALLS.use({
        ...uniforms,
        uKey: light.key,
        uPosition: wall.position,
        uRotation: wall.rotation,
        uStretch: wall.stretch,
        uClip: wall.anchor ? NO_CLIP : uniforms.uClip,
        uColor: [...wall.color.slice(0, 3).map(toLinear), wall.color[3]],
      });
      gl.bindVertexArray(wall.surface.surfaceArray);
      gl.drawArrays(gl.TRIANGLES, 0, wall.surface.corners);
    };
    gl.depthMask(true);
    upright.filter((wall) => wall.color[3] >= 1).forEach(drawSurface);
    gl.depthMask(false);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE);
    if (style.wallMode !== "hidden") {
      for (const wall of shown.filter((wall) => wall.isFloor)) {
        this.drawFloor(uniforms, light, shadowUniforms, wall, about.floor);
      }
    }
    const isGlass = (wall) => wall.isBody || style.wallMode === "glass";
    const glass = upright.filter((wall) => wall.color[3] < 1 && isGlass(wall));
    gl.enable(gl.CULL_FACE);
    for (const side of [gl.FRONT, gl.BACK]) {
      gl.cullFace(side);
      glass.forEach(drawSurface);
    }
    gl.disable(gl.CULL_FACE);
    const width = 1.3 * uniforms.uOutline;
    for (const wall of upright) {
      this.programs.EDGES.use({
        ...uniforms,
        uPosition: wall.position,
        uRotation: wall.rotation,
        uStretch: wall.stretch,
        uClip: wall.anchor ? NO_CLIP : uniforms.uClip,
        uLine: [width / size[0], width / size[1]],
        uLift: about.look.EDGE_LIFT * style.camera.distance,
        uColor: [
          ...wall.color.slice(0, 3).map((x) => 0.12 * toLinear(x)),
          Math.min(0.25 + wall.color[3], 0.85),
        ],
      });
      gl.bindVertexArray(wall.surface.edgeArray);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, wall.surface.edges);
    }
    gl.depthMask(true);
  }

  drawFloor(uniforms, light, shadowUniforms, wall, color) {
    const { gl, frame } = this;
    const corner = (k) => [...wall.surface.cornerData.subarray(CORNER_NUMBERS * k, CORNER_NUMBERS * k + 6)];
    if (wall.surface.corners === 0 || this.floors.radius === 0) return;
    const first = corner(0);
    const normal = rotated(wall.rotation, first.slice(3));
    const point = add(wall.position, rotated(wall.rotation, first.slice(0, 3)));
    const middle = sub(this.floors.middle, frame.origin);
    const centre = sub(middle, scaled(normal, dot(normal, sub(middle, point))));
    const { FLOOR_EDGE_ON, FLOOR_HALF_LINE } = this.about.look;
    const edgeOn = !uniforms.uPerspective && Math.abs(dot(normal, uniforms.uForward)) < FLOOR_EDGE_ON;
    // Seen from its edge, a floor is a line of so many pixels.
    const sideways = edgeOn ? uniforms.uForward : Math.abs(normal[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
    const along = unit(cross(normal, sideways));
    const across = edgeOn
      ? scaled(normal, FLOOR_HALF_LINE / uniforms.uPixels / this.floors.radius)
      : cross(normal, along);
    this.programs.FLOOR.use({
      ...uniforms,
      ...shadowUniforms,
      uKey: light.key,
      uCentre: centre,
      uNormal: normal,
      uAlong: along,
      uAcross: across,
      uRadius: this.floors.radius,
      uColor: [...color.slice(0, 3).map(toLinear), color[3]],
    });
    gl.bindVertexArray(this.nothing);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  /** Index of the grain at a pixel of the picture (from its upper left); null where there is none. */
  pick(x, y) {
    const { gl, style } = this;
    if (!this.frame || !style) return null;
    const target = style.chains ? this.ghosts : this.opaque;
    gl.bindFramebuffer(gl.FRAMEBUFFER, target.handle);
    gl.readBuffer(gl.COLOR_ATTACHMENT2);
    const id = new Uint32Array(1);
    const row = this.canvas.height - 1 - y;
    gl.readPixels(
      x * this.samples, row * this.samples, 1, 1, gl.RED_INTEGER, gl.UNSIGNED_INT, id,
    );
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return id[0] > 0 ? id[0] - 1 : null;
  }

  /** Where a grain of the frame is. */
  placeOf(index) {
    const { place, origin } = this.frame;
    return add(origin, [...place.subarray(4 * index, 4 * index + 3)]);
  }
}

function barAttributes(data, first = 0) {
  return [
    [0, 3, data, 7, 7 * first, 1],
    [1, 3, data, 7, 7 * first + 3, 1],
    [2, 1, data, 7, 7 * first + 6, 1],
  ];
}

/** The rotation that turns z into a direction, by the shortest way. */
function rotationFromZ([x, y, z]) {
  if (z < -0.999999) return [1, 0, 0, 0];
  const q = [-y, x, 0, 1 + z];
  const size = Math.hypot(...q);
  return q.map((number) => number / size);
}

function hasSharpEdges({ edges, edgeData }) {
  for (let i = 0; i < edges; i++) if (edgeData[EDGE_NUMBERS * i + 12] > 0.5) return true;
  return false;
}

/** Middle of a surface in its own axes, and how far it reaches from there. */
function middleOf({ corners, cornerData }) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < corners; i++) {
    for (let k = 0; k < 3; k++) {
      const x = cornerData[CORNER_NUMBERS * i + k];
      low[k] = Math.min(low[k], x);
      high[k] = Math.max(high[k], x);
    }
  }
  if (corners === 0) return { point: [0, 0, 0], reach: 0 };
  return { point: scaled(add(low, high), 0.5), reach: length(sub(high, low)) / 2 };
}
