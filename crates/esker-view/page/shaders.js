// Shaders. The numbers in capitals come from the server: they are those of `esker render`, whose
// modules `light`, `occlusion`, `floor` and `walls` explain them.

/** From the frame's axes (about its origin) to those of the picture, and to its pixels. */
const CAMERA = `
uniform vec3 uEye, uRight, uUp, uForward;
uniform vec2 uScale;     // one over the half size of the picture
uniform vec2 uDepth;     // depth buffer: uDepth.x + uDepth.y / z, or uDepth.x z + uDepth.y
uniform bool uPerspective;
uniform float uPixels;   // pixels per camera unit at distance 1, or everywhere

vec3 turn(vec3 v) { return vec3(dot(v, uRight), dot(v, uUp), dot(v, uForward)); }
vec3 toCamera(vec3 p) { return turn(p - uEye); }
vec4 project(vec3 c) {
  return uPerspective ? vec4(c.xy * uScale, uDepth.x * c.z + uDepth.y, c.z)
                      : vec4(c.xy * uScale, uDepth.x * c.z + uDepth.y, 1.0);
}
float depthAt(float z) {
  float d = uPerspective ? uDepth.x + uDepth.y / z : uDepth.x * z + uDepth.y;
  return 0.5 + 0.5 * d;
}
float zOf(float depth) {
  float d = 2.0 * depth - 1.0;
  return uPerspective ? uDepth.y / (d - uDepth.x) : (d - uDepth.y) / uDepth.x;
}
vec3 pointAt(vec2 ndc, float depth) {
  float z = zOf(depth);
  return vec3(ndc / uScale * (uPerspective ? z : 1.0), z);
}
vec3 towardsEye(vec3 c) { return uPerspective ? -normalize(c) : vec3(0.0, 0.0, -1.0); }
float magnification(float z) { return uPerspective ? uPixels / z : uPixels; }
vec3 rotate(vec4 q, vec3 v) { vec3 t = 2.0 * cross(q.xyz, v); return v + q.w * t + cross(q.xyz, t); }
`;

/** The colour of a value. */
const COLOR = `
uniform sampler2D uMap;
uniform vec2 uRange;
uniform bool uCategorical;
vec3 colorOf(float value) {
  if (isnan(value) || isinf(value)) return vec3(0.434);
  if (uCategorical) {
    int count = textureSize(uMap, 0).x;
    return texelFetch(uMap, ivec2(int(max(value, 0.0) + 0.5) % count, 0), 0).rgb;
  }
  float share = clamp((value - uRange.x) / max(uRange.y - uRange.x, 1e-30), 0.0, 1.0);
  float texels = float(textureSize(uMap, 0).x);
  return textureLod(uMap, vec2((share * (texels - 1.0) + 0.5) / texels, 0.5), 0.0).rgb;
}
`;

const CLIP = `
uniform vec4 uClip;      // what lies behind this plane is shown
bool isClipped(vec3 p) { return dot(uClip.xyz, p) > uClip.w; }
`;

/** What bodies leave behind for the light: colour and rim, normal, number. */
const BODY_OUT = `
layout(location = 0) out vec4 outColor;
layout(location = 1) out vec4 outNormal;
layout(location = 2) out uint outId;
uniform float uOutline;  // width of outlines, pixels
/** Light at a rim, from the distance to it and the size of the body in pixels. */
float rim(float fromRim, float pixels) {
  float width = min(uOutline, 0.2 * pixels);
  float strength = clamp((pixels - 1.5) / 5.0, 0.0, 1.0);
  float inside = clamp(fromRim / max(width, 1e-9), 0.0, 1.0);
  return 1.0 - strength * (1.0 - inside * inside);
}
void leave(vec3 color, float inside, vec3 normal, uint id) {
  outColor = vec4(color, inside);
  outNormal = vec4(0.5 + 0.5 * normal, 1.0);
  outId = id;
}
`;

const GRAIN_IN = `
layout(location = 0) in vec4 aPlace;
layout(location = 1) in float aValue;
layout(location = 2) in vec4 aRotation;
uniform float uFirst;
flat out vec3 vColor;
flat out uint vId;
const vec4 NOWHERE = vec4(2.0, 2.0, 2.0, 1.0);
`;

export const SPHERES = {
  vertex: `${CAMERA}${COLOR}${CLIP}${GRAIN_IN}
uniform vec4 uPart;      // centre and radius of a sphere of a clump; 0, 0, 0, 1 of a sphere
flat out vec4 vBall;
out vec3 vPoint;
void main() {
  vId = uint(uFirst) + uint(gl_InstanceID) + 1u;
  vColor = colorOf(aValue);
  vec3 c = toCamera(aPlace.xyz + aPlace.w * rotate(aRotation, uPart.xyz));
  float r = aPlace.w * uPart.w;
  vBall = vec4(c, r);
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
  if (isClipped(aPlace.xyz) || !(r > 0.0) || (uPerspective && c.z <= 1.01 * r)) {
    gl_Position = NOWHERE;
    return;
  }
  if (uPerspective) {
    // A square across the line of sight that just holds the cone around the sphere.
    float d2 = dot(c, c);
    float size = r * sqrt(d2 / (d2 - r * r));
    vec3 u = normalize(cross(c, vec3(0.0, 1.0, 0.0)));
    vec3 v = normalize(cross(u, c));
    vPoint = c + size * (corner.x * u + corner.y * v);
  } else {
    vPoint = c + vec3(r * corner, 0.0);
  }
  gl_Position = project(vPoint);
}`,
  fragment: `${CAMERA}${BODY_OUT}
flat in vec3 vColor;
flat in uint vId;
flat in vec4 vBall;
in vec3 vPoint;
void main() {
  vec3 c = vBall.xyz;
  float r = vBall.w;
  vec3 along = uPerspective ? normalize(vPoint) : vec3(0.0, 0.0, 1.0);
  vec3 origin = uPerspective ? vec3(0.0) : vec3(vPoint.xy, 0.0);
  float foot = dot(c - origin, along);
  vec3 across = (c - origin) - foot * along;
  float under = r * r - dot(across, across);
  if (under < 0.0) discard;
  float half_chord = sqrt(under);
  vec3 hit = origin + (foot - half_chord) * along;
  vec3 normal = (-half_chord * along - across) / r;
  float facing = half_chord / r;
  float pixels = r * magnification(hit.z);
  gl_FragDepth = depthAt(hit.z);
  leave(vColor, rim(pixels * (1.0 - sqrt(max(0.0, 1.0 - facing * facing))), pixels), normal, vId);
}`,
};

export const POINTS = {
  vertex: `${CAMERA}${COLOR}${CLIP}${GRAIN_IN}
uniform float uRadiusFactor;  // from the size of a grain to the radius of a ball around it
flat out float vPixels;
void main() {
  vId = uint(uFirst) + uint(gl_VertexID) + 1u;
  vColor = colorOf(aValue);
  vec3 c = toCamera(aPlace.xyz);
  vPixels = aPlace.w * uRadiusFactor * magnification(max(c.z, 1e-9));
  gl_PointSize = clamp(2.0 * vPixels, 1.0, 64.0);
  gl_Position = isClipped(aPlace.xyz) ? NOWHERE : project(c);
}`,
  fragment: `${CAMERA}${BODY_OUT}
flat in vec3 vColor;
flat in uint vId;
flat in float vPixels;
void main() {
  vec2 p = vec2(gl_PointCoord.x, 1.0 - gl_PointCoord.y) * 2.0 - 1.0;
  float r2 = dot(p, p);
  if (vPixels > 1.0 && r2 > 1.0) discard;
  float facing = sqrt(max(0.0, 1.0 - min(r2, 1.0)));
  vec3 normal = vPixels > 1.0 ? vec3(p, -facing) : vec3(0.0, 0.0, -1.0);
  leave(vColor, rim(vPixels * (1.0 - sqrt(min(r2, 1.0))), vPixels), normalize(normal), vId);
}`,
};

export const SOLIDS = {
  vertex: `${CAMERA}${COLOR}${CLIP}${GRAIN_IN}
layout(location = 3) in vec3 aCorner;
layout(location = 4) in vec3 aNormal;
layout(location = 5) in vec3 aEdge;
uniform float uRadiusFactor;
out vec3 vPoint;
out vec3 vNormal;
out vec3 vEdge;
flat out float vRadius;
void main() {
  vId = uint(uFirst) + uint(gl_InstanceID) + 1u;
  vColor = colorOf(aValue);
  vPoint = toCamera(aPlace.xyz + aPlace.w * rotate(aRotation, aCorner));
  vNormal = turn(rotate(aRotation, aNormal));
  vEdge = aEdge * aPlace.w;
  vRadius = aPlace.w * uRadiusFactor;
  gl_Position = isClipped(aPlace.xyz) ? NOWHERE : project(vPoint);
}`,
  fragment: `${CAMERA}${BODY_OUT}
uniform bool uRound;     // without sharp edges: the rim is where the surface turns away
flat in vec3 vColor;
flat in uint vId;
in vec3 vPoint;
in vec3 vNormal;
in vec3 vEdge;
flat in float vRadius;
void main() {
  vec3 normal = normalize(vNormal);
  float facing = max(0.0, dot(normal, towardsEye(vPoint)));
  float pixels = vRadius * magnification(vPoint.z);
  float edge = min(vEdge.x, min(vEdge.y, vEdge.z)) * magnification(vPoint.z);
  float from_rim = uRound ? pixels * (1.0 - sqrt(max(0.0, 1.0 - facing * facing))) : edge;
  leave(vColor, rim(from_rim, pixels), normal, vId);
}`,
};

export const BARS = {
  vertex: `${CAMERA}${COLOR}${CLIP}
layout(location = 0) in vec3 aFrom;
layout(location = 1) in vec3 aTo;
layout(location = 2) in float aForce;
uniform float uWidth;    // radius of the thickest
uniform float uMaxForce; // 0: all are equally thick, and of one colour
uniform vec3 uColor;
flat out vec3 vColor;
flat out float vRadius;
flat out vec3 vSide;
out float vAcross;
out vec3 vPoint;
void main() {
  bool plain = uMaxForce <= 0.0;
  vColor = plain ? uColor : colorOf(aForce);
  vRadius = uWidth * (plain ? 1.0 : sqrt(aForce / uMaxForce));
  vec3 from = toCamera(aFrom);
  vec3 to = toCamera(aTo);
  vec3 axis = to - from;
  vec3 view = uPerspective ? 0.5 * (from + to) : vec3(0.0, 0.0, 1.0);
  vec3 side = cross(axis, view);
  vSide = length(side) > 0.0 ? normalize(side) : vec3(1.0, 0.0, 0.0);
  vAcross = float(gl_VertexID & 1) * 2.0 - 1.0;
  vPoint = (gl_VertexID >> 1 == 0 ? from : to) + vAcross * vRadius * vSide;
  bool hidden = isClipped(aFrom) || isClipped(aTo) || (uPerspective && min(from.z, to.z) <= vRadius);
  gl_Position = hidden ? vec4(2.0, 2.0, 2.0, 1.0) : project(vPoint);
}`,
  fragment: `${CAMERA}${BODY_OUT}
flat in vec3 vColor;
flat in float vRadius;
flat in vec3 vSide;
in float vAcross;
in vec3 vPoint;
void main() {
  float facing = sqrt(max(0.0, 1.0 - vAcross * vAcross));
  vec3 eye = towardsEye(vPoint);
  vec3 normal = normalize(vAcross * vSide + facing * normalize(eye - dot(eye, vSide) * vSide));
  float pixels = vRadius * magnification(vPoint.z);
  gl_FragDepth = depthAt(vPoint.z - vRadius * facing);
  leave(vColor, rim(pixels * (1.0 - abs(vAcross)), pixels), normal, 0u);
}`,
};

/** A triangle over the whole picture. */
const WHOLE = `
void main() {
  vec2 p = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0;
  gl_Position = vec4(p, 0.0, 1.0);
}`;

const SHADOW = `
uniform bool uShadows;
uniform highp sampler2DShadow uShadowMap;
uniform vec3 uLightEye, uLightRight, uLightUp, uLightForward;  // in the axes of the picture
uniform vec3 uLightScale;  // across, up, and along
uniform float uSize;       // mean radius
float litPart(vec3 p, vec3 normal) {
  if (!uShadows) return 1.0;
  float tolerance = SHADOW_TOLERANCE * uSize;
  vec3 d = p + normal * tolerance - uLightEye;
  vec3 l = vec3(dot(d, uLightRight), dot(d, uLightUp), dot(d, uLightForward) - tolerance);
  vec3 place = 0.5 + 0.5 * l * uLightScale;
  if (any(lessThan(place.xy, vec2(0.0))) || any(greaterThan(place.xy, vec2(1.0)))) return 1.0;
  return texture(uShadowMap, vec3(place.xy, clamp(place.z, 0.0, 1.0)));
}
`;

/** How open each pixel is to the sky and to the key light. */
export const OCCLUSION = {
  vertex: WHOLE,
  fragment: `${CAMERA}${SHADOW}
uniform sampler2D uGeometryDepth, uGeometryNormal;
uniform float uSamples;  // texels of the geometry per pixel, each way
out vec4 outOpen;
const int ORDER[16] = int[](0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5);
bool seen(ivec2 pixel, out vec3 p) {
  ivec2 texel = pixel * int(uSamples);
  float depth = texelFetch(uGeometryDepth, texel, 0).r;
  vec2 size = vec2(textureSize(uGeometryDepth, 0));
  p = pointAt((vec2(texel) + 0.5) / size * 2.0 - 1.0, depth);
  return depth < 1.0;
}
void main() {
  ivec2 pixel = ivec2(gl_FragCoord.xy);
  ivec2 size = textureSize(uGeometryDepth, 0) / int(uSamples);
  vec3 p;
  if (!seen(pixel, p)) { outOpen = vec4(1.0); return; }
  vec3 normal = normalize(texelFetch(uGeometryNormal, pixel * int(uSamples), 0).xyz * 2.0 - 1.0);
  float radius = OCCLUSION_REACH * uSize;
  float reach = clamp(radius * magnification(p.z), 1.5, 80.0);
  float block = float(ORDER[(pixel.y & 3) * 4 + (pixel.x & 3)]) / 16.0;
  float hidden = 0.0;
  for (int tap = 0; tap < 16; tap++) {
    float angle = 6.2831853 * block + 2.3999632 * float(tap + 1);
    vec2 away = vec2(cos(angle), sin(angle)) * reach * sqrt((float(tap) + block) / 16.0);
    ivec2 other = ivec2(floor(vec2(pixel) + 0.5 + away));
    if (any(lessThan(other, ivec2(0))) || any(greaterThanEqual(other, size))) continue;
    vec3 q;
    if (!seen(other, q)) continue;
    vec3 offset = q - p;
    float squared = dot(offset, offset);
    if (squared > 0.0 && squared < radius * radius) {
      float rise = dot(normal, offset) / sqrt(squared) - OCCLUSION_BIAS;
      hidden += max(rise, 0.0) * (1.0 - squared / (radius * radius));
    }
  }
  float sky = max(1.0 - OCCLUSION_STRENGTH * hidden / 16.0, LEAST_SKY);
  outOpen = vec4(sky, litPart(p, normal), 0.0, 1.0);
}`,
};

/** Mean over 4 × 4 pixels of like depth. */
export const SMOOTH = {
  vertex: WHOLE,
  fragment: `${CAMERA}
uniform sampler2D uOpen, uGeometryDepth;
uniform float uSamples, uSize;
out vec4 outOpen;
void main() {
  ivec2 pixel = ivec2(gl_FragCoord.xy);
  ivec2 size = textureSize(uOpen, 0);
  float own = zOf(texelFetch(uGeometryDepth, pixel * int(uSamples), 0).r);
  vec3 sum = vec3(0.0);
  for (int y = -1; y <= 2; y++) {
    for (int x = -1; x <= 2; x++) {
      ivec2 other = pixel + ivec2(x, y);
      if (any(lessThan(other, ivec2(0))) || any(greaterThanEqual(other, size))) continue;
      float z = zOf(texelFetch(uGeometryDepth, other * int(uSamples), 0).r);
      if (abs(z - own) < 0.5 * uSize) sum += vec3(texelFetch(uOpen, other, 0).xy, 1.0);
    }
  }
  outOpen = vec4(sum.z > 0.0 ? sum.xy / sum.z : texelFetch(uOpen, pixel, 0).xy, 0.0, 1.0);
}`,
};

/** Lights what bodies have left behind; over a background, or half-transparent over what is there. */
export const LIGHT = {
  vertex: WHOLE,
  fragment: `${CAMERA}
uniform sampler2D uGeometryColor, uGeometryNormal, uGeometryDepth, uOpen, uOtherDepth;
uniform highp usampler2D uGeometryId;
uniform bool uOccluded, uGhost;
uniform float uOpacity, uSamples;
uniform vec3 uSky, uKey, uTop, uBottom;
uniform int uPicked[16];
uniform vec3 uMarks[16];
out vec4 outColor;
vec3 linear(vec3 x) {
  return mix(x / 12.92, pow((x + 0.055) / 1.055, vec3(2.4)), step(0.04045, x));
}
void main() {
  ivec2 texel = ivec2(gl_FragCoord.xy);
  vec2 size = vec2(textureSize(uGeometryDepth, 0));
  float depth = texelFetch(uGeometryDepth, texel, 0).r;
  if (uGhost && (depth >= 1.0 || depth >= texelFetch(uOtherDepth, texel, 0).r)) discard;
  if (depth >= 1.0) {
    outColor = vec4(linear(mix(uBottom, uTop, gl_FragCoord.y / size.y)), 1.0);
    return;
  }
  vec4 body = texelFetch(uGeometryColor, texel, 0);
  vec3 normal = normalize(texelFetch(uGeometryNormal, texel, 0).xyz * 2.0 - 1.0);
  vec3 eye = towardsEye(pointAt(gl_FragCoord.xy / size * 2.0 - 1.0, depth));
  vec2 open = uOccluded ? texelFetch(uOpen, texel / int(uSamples), 0).xy : vec2(1.0);
  vec3 albedo = body.rgb;
  int id = int(texelFetch(uGeometryId, texel, 0).r);
  bool marked = false;
  for (int i = 0; i < 16; i++) {
    if (id > 0 && uPicked[i] == id) { albedo = mix(albedo, uMarks[i], 0.85); marked = true; }
  }
  float facing = max(dot(normal, eye), 0.0);
  float height = 0.5 + 0.5 * dot(normal, uSky);
  float key = max(dot(normal, uKey), 0.0) * open.y;
  float light = open.x * (GROUND + (SKY - GROUND) * height + FILL * facing) + KEY * key;
  float highlight = HIGHLIGHT * pow(max(dot(normal, normalize(uKey + eye)), 0.0), 40.0) * open.y;
  float at_rim = RIM + (1.0 - RIM) * body.a;
  vec3 color = min((albedo * light + highlight) * at_rim, 1.0);
  outColor = vec4(color, marked ? 1.0 : uOpacity);
}`,
};

const ON_WALL = `
uniform vec3 uKey;
/** Colour and opacity of a wall; denser where it is seen at a grazing angle, as glass is. */
vec4 onWall(vec3 normal, vec3 eye, vec3 color, float opacity) {
  float facing = dot(normal, eye);
  if (facing < 0.0) normal = -normal;
  float grazing = 1.0 - abs(facing);
  float light = WALL_BASE + WALL_KEY * max(dot(normal, uKey), 0.0);
  float highlight = WALL_HIGHLIGHT * pow(max(dot(normal, normalize(uKey + eye)), 0.0), 24.0);
  float denser = opacity * (1.0 + WALL_GRAZING * grazing * grazing * grazing) + opacity * highlight;
  return vec4(min(color * light + highlight, 1.0), min(denser, 1.0));
}
`;

export const WALLS = {
  vertex: `${CAMERA}
layout(location = 0) in vec3 aCorner;
layout(location = 1) in vec3 aNormal;
uniform vec3 uPosition;
uniform vec4 uRotation;
uniform vec3 uStretch;   // along the surface's own axes; keeps the directions of its normals
out vec3 vPlace;
out vec3 vPoint;
out vec3 vNormal;
void main() {
  vPlace = uPosition + rotate(uRotation, uStretch * aCorner);
  vPoint = toCamera(vPlace);
  vNormal = turn(rotate(uRotation, aNormal));
  gl_Position = project(vPoint);
}`,
  fragment: `${CAMERA}${CLIP}${ON_WALL}
uniform vec4 uColor;
in vec3 vPlace;
in vec3 vPoint;
in vec3 vNormal;
out vec4 outColor;
void main() {
  if (isClipped(vPlace)) discard;
  float opacity = uColor.a * (gl_FrontFacing || uColor.a >= 1.0 ? 1.0 : BACK_OPACITY);
  outColor = onWall(normalize(vNormal), towardsEye(vPoint), uColor.rgb, opacity);
}`,
};

export const EDGES = {
  vertex: `${CAMERA}
layout(location = 0) in vec3 aFrom;
layout(location = 1) in vec3 aTo;
layout(location = 2) in vec3 aOne;
layout(location = 3) in vec3 aOther;
layout(location = 4) in float aSharp;
uniform vec3 uPosition;
uniform vec4 uRotation;
uniform vec3 uStretch;
uniform vec2 uLine;      // half the width of a line in half pictures
uniform float uLift;
out vec3 vPlace;
flat out float vBack;
void main() {
  vec3 places[2] = vec3[](
    uPosition + rotate(uRotation, uStretch * aFrom), uPosition + rotate(uRotation, uStretch * aTo));
  vec3 ends[2] = vec3[](toCamera(places[0]), toCamera(places[1]));
  vec3 eye = towardsEye(ends[0]);
  bool one = dot(turn(rotate(uRotation, aOne)), eye) > 0.0;
  bool other = dot(turn(rotate(uRotation, aOther)), eye) > 0.0;
  vBack = one || other ? 0.0 : 1.0;
  int end = gl_VertexID >> 1;
  vPlace = places[end];
  bool behind = uPerspective && min(ends[0].z, ends[1].z) <= uLift;
  if ((aSharp < 0.5 && one == other) || behind) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    return;
  }
  vec4 clip[2];
  for (int i = 0; i < 2; i++) {
    vec3 c = ends[i];
    c *= uPerspective ? 1.0 - EDGE_LIFT : 1.0;
    if (!uPerspective) c.z -= uLift;
    clip[i] = project(c);
  }
  vec2 along = (clip[1].xy / clip[1].w - clip[0].xy / clip[0].w) / uLine;
  vec2 across = length(along) > 0.0 ? normalize(vec2(-along.y, along.x)) : vec2(0.0);
  float side = float(gl_VertexID & 1) * 2.0 - 1.0;
  gl_Position = clip[end] + vec4(across * side * uLine * clip[end].w, 0.0, 0.0);
}`,
  fragment: `${CLIP}
uniform vec4 uColor;
in vec3 vPlace;
flat in float vBack;
out vec4 outColor;
void main() {
  if (isClipped(vPlace)) discard;
  outColor = vec4(uColor.rgb, uColor.a * (vBack > 0.5 ? 0.6 : 1.0));
}`,
};

export const FLOOR = {
  vertex: `${CAMERA}
uniform vec3 uCentre, uAlong, uAcross;
uniform float uRadius;
out vec3 vPlace;
out vec3 vPoint;
void main() {
  vec2 p = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
  vPlace = uCentre + uRadius * (p.x * uAlong + p.y * uAcross);
  vPoint = toCamera(vPlace);
  gl_Position = project(vPoint);
}`,
  fragment: `${CAMERA}${CLIP}${ON_WALL}${SHADOW}
uniform vec3 uCentre, uNormal, uAlong, uAcross;
uniform float uRadius;
uniform vec4 uColor;
in vec3 vPlace;
in vec3 vPoint;
out vec4 outColor;
void main() {
  vec3 normal = turn(uNormal);
  vec3 eye = towardsEye(vPoint);
  if (dot(normal, eye) < -FLOOR_EDGE_ON || isClipped(vPlace)) discard;
  float beyond = (distance(vPlace, uCentre) / uRadius - FLOOR_CLEAR) / (1.0 - FLOOR_CLEAR);
  float left = 1.0 - clamp(beyond, 0.0, 1.0);
  float share = left * left * (3.0 - 2.0 * left);
  if (share <= 0.0) discard;
  vec3 along = turn(uAlong) * SHADOW_BLUR * uSize;
  vec3 across = turn(uAcross) * SHADOW_BLUR * uSize;
  float lit = 0.0;
  for (int tap = 0; tap < 16; tap++) {
    float angle = 2.3999632 * float(tap + 1);
    float reach = sqrt((float(tap) + 0.5) / 16.0);
    lit += litPart(vPoint + (cos(angle) * along + sin(angle) * across) * reach, normal) / 16.0;
  }
  vec4 wall = onWall(normal, eye, uColor.rgb, uColor.a);
  float opacity = min((wall.a + FLOOR_SHADOW_OPACITY * (1.0 - lit)) * share, 1.0);
  outColor = vec4(mix(wall.rgb * FLOOR_SHADE, wall.rgb, lit), opacity);
}`,
};

/** Averages the samples of each pixel in linear light. */
export const RESOLVE = {
  vertex: WHOLE,
  fragment: `
uniform sampler2D uPicture;
uniform float uSamples;
out vec4 outColor;
void main() {
  int n = int(uSamples);
  vec3 sum = vec3(0.0);
  for (int i = 0; i < n * n; i++) {
    sum += texelFetch(uPicture, ivec2(gl_FragCoord.xy) * n + ivec2(i % n, i / n), 0).rgb;
  }
  sum /= float(n * n);
  outColor = vec4(mix(12.92 * sum, 1.055 * pow(sum, vec3(1.0 / 2.4)) - 0.055,
                      step(0.0031308, sum)), 1.0);
}`,
};
