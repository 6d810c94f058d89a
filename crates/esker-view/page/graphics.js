// Small helpers around WebGL 2: programs, buffers, targets.

/** A program with its uniforms by name. `defines` are numbers that shaders share with the server. */
export class Program {
  constructor(gl, vertex, fragment, defines) {
    this.gl = gl;
    const head = `#version 300 es\nprecision highp float;\nprecision highp int;\n${defines}`;
    this.handle = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, head + text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) {
        throw new Error(`shader: ${gl.getShaderInfoLog(shader)}`);
      }
      gl.attachShader(this.handle, shader);
    }
    gl.linkProgram(this.handle);
    if (!gl.getProgramParameter(this.handle, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(`program: ${gl.getProgramInfoLog(this.handle)}`);
    }
    this.places = new Map();
  }

  /** Uses it with these uniforms: numbers, booleans, arrays of two to four numbers, or textures. */
  use(uniforms) {
    const { gl } = this;
    gl.useProgram(this.handle);
    let unit = 0;
    for (const [name, value] of Object.entries(uniforms)) {
      const place = this.place(name);
      if (place === null) continue;
      if (value instanceof Texture) {
        gl.activeTexture(gl.TEXTURE0 + unit);
        gl.bindTexture(gl.TEXTURE_2D, value.handle);
        gl.uniform1i(place, unit++);
      } else if (typeof value === "boolean") gl.uniform1i(place, value ? 1 : 0);
      else if (typeof value === "number") gl.uniform1f(place, value);
      else if (value instanceof Int32Array) gl.uniform1iv(place, value);
      else gl[`uniform${value.length}fv`](place, value);
    }
  }

  place(name) {
    if (!this.places.has(name)) {
      this.places.set(name, this.gl.getUniformLocation(this.handle, name));
    }
    return this.places.get(name);
  }
}

export class Texture {
  constructor(gl) {
    this.gl = gl;
    this.handle = gl.createTexture();
  }

  /** Storage of a size for a target; `filter` for those that are read between texels. */
  allocate(format, [width, height], filter = this.gl.NEAREST) {
    const { gl } = this;
    if (this.handle) gl.deleteTexture(this.handle);
    this.handle = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.handle);
    gl.texStorage2D(gl.TEXTURE_2D, 1, format, width, height);
    this.sampling(filter);
    return this;
  }

  /** A row of sRGB colours. */
  colors(list, filter) {
    const { gl } = this;
    const bytes = new Uint8Array(list.flatMap((color) => [...color, 255]));
    gl.bindTexture(gl.TEXTURE_2D, this.handle);
    gl.texImage2D(
      gl.TEXTURE_2D, 0, gl.SRGB8_ALPHA8, list.length, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes,
    );
    this.sampling(filter);
    return this;
  }

  sampling(filter) {
    const { gl } = this;
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, filter);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, filter);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  }
}

/** Textures that are drawn into. */
export class Target {
  constructor(gl, colorFormats, depthFormat) {
    this.gl = gl;
    this.formats = colorFormats;
    this.depthFormat = depthFormat;
    this.colors = colorFormats.map(() => new Texture(gl));
    this.depth = depthFormat ? new Texture(gl) : null;
    this.handle = gl.createFramebuffer();
    this.size = null;
  }

  resize(size) {
    const { gl } = this;
    if (this.size && this.size[0] === size[0] && this.size[1] === size[1]) return;
    this.size = [...size];
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.handle);
    this.colors.forEach((texture, i) => {
      texture.allocate(this.formats[i], size);
      gl.framebufferTexture2D(
        gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0 + i, gl.TEXTURE_2D, texture.handle, 0,
      );
    });
    if (this.depth) {
      this.depth.allocate(this.depthFormat, size);
      gl.framebufferTexture2D(
        gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.depth.handle, 0,
      );
    }
    gl.drawBuffers(this.colors.map((_, i) => gl.COLOR_ATTACHMENT0 + i));
  }

  /** Draws into it from here on. */
  begin() {
    const { gl } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.handle);
    gl.viewport(0, 0, this.size[0], this.size[1]);
  }

  /** The depth of another target, for what is drawn among the things there. */
  shareDepth(other) {
    const { gl } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.handle);
    gl.framebufferTexture2D(
      gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, other.depth.handle, 0,
    );
  }
}

/** A list of attributes: [place, numbers, buffer, stride, offset, divisor], lengths in numbers. */
export function vertexArray(gl, attributes) {
  const array = gl.createVertexArray();
  gl.bindVertexArray(array);
  for (const [place, numbers, buffer, stride, offset, divisor] of attributes) {
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, numbers, gl.FLOAT, false, 4 * stride, 4 * offset);
    gl.vertexAttribDivisor(place, divisor);
  }
  gl.bindVertexArray(null);
  return array;
}

export function buffer(gl, data, usage = gl.STATIC_DRAW) {
  const handle = gl.createBuffer();
  gl.bindBuffer(gl.ARRAY_BUFFER, handle);
  gl.bufferData(gl.ARRAY_BUFFER, data, usage);
  return handle;
}
