// The key to the colours and the time, drawn over the picture and into screenshots.

const INK = "#1f2933";

/** Round numbers between two ends, about so many. */
export function ticks(low, high, about) {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const rough = span / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough);
  const list = [];
  for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + 1e-9 * span; x += step) {
    list.push(Math.abs(x) < 1e-9 * span ? 0 : x);
  }
  return list;
}

/** A number with as many digits as tell it from its neighbours. */
export function short(x, digits = 3) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e5 || size < 1e-3) return x.toExponential(digits - 1).replace("e+", "e");
  return String(Number(x.toPrecision(digits)));
}

/** Draws legend and time on a canvas of `width` × `height` CSS pixels. */
export function drawOverlay(context, { width, height, color, range, maps, time, text }) {
  context.clearRect(0, 0, width, height);
  context.fillStyle = INK;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;
  if (color) {
    const barHeight = Math.max(2, Math.round(Math.min(260, 0.45 * height)));
    const x = width - 74;
    const y = (height - barHeight) / 2;
    context.textAlign = "right";
    context.fillText(color.title, width - 14, y - 18);
    const map = maps[color.map];
    if (color.map === "categorical") {
      const names = color.categories;
      names.forEach((name, i) => {
        context.fillStyle = css(map[i % map.length]);
        context.fillRect(width - 28, y + 22 * i, 14, 14);
        context.fillStyle = INK;
        context.fillText(name, width - 36, y + 22 * i + 7);
      });
    } else {
      for (let i = 0; i < barHeight; i++) {
        context.fillStyle = css(map[Math.round((1 - i / (barHeight - 1)) * (map.length - 1))]);
        context.fillRect(x, y + i, 16, 1.5);
      }
      context.strokeStyle = "#0004";
      context.strokeRect(x - 0.5, y - 0.5, 17, barHeight + 1);
      context.fillStyle = INK;
      context.textAlign = "left";
      for (const value of ticks(range[0], range[1], 5)) {
        const at = y + barHeight * (1 - (value - range[0]) / (range[1] - range[0] || 1));
        context.fillRect(x + 16, at - 0.5, 4, 1);
        context.fillText(short(value), x + 24, at);
      }
    }
  }
  context.textAlign = "left";
  context.fillText(`t = ${time.toFixed(3)} s`, 14, height - 18);
  if (text) {
    context.fillStyle = "#66727f";
    context.fillText(text, 14, height - 36);
  }
}
