// The timeline: a line per unit, and below the chosen one a line per FIFO of it. The canvas is as
// high as its window, and draws the lines that are scrolled to.
const H = 15, HEAD = 34, MOST = 470, LEFT = 210, RIGHT = 10, canvas = $("time"), scroll = $("rows");
let view = [0, N], mark = null;
function lines() {
  const every = $("tall").checked, found = [];
  if (levels[chosen]) found.push({channel: chosen});
  D.rows.forEach((row, n) => {
    const own = row.unit === chosen, next = D.rows[n + 1];
    if (every || own || mains[row.unit] === row) found.push({row});
    if (own && (!next || next.unit !== row.unit))
      for (const c of [...D.units[chosen].inputs, ...D.units[chosen].outputs]) if (levels[c]) found.push({channel: c});
  });
  return found;
}
const width = () => canvas.clientWidth - LEFT - RIGHT, toX = t => LEFT + (t - view[0]) / (view[1] - view[0]) * width();
const toCycle = x => view[0] + (x - LEFT) / width() * (view[1] - view[0]);
function step() {
  const least = Math.max(1, (view[1] - view[0]) / (width() / 90)), ten = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map(n => n * ten).find(n => n >= least);
}
function draw() {
  if (!canvas) return;
  const css = getComputedStyle(document.documentElement), color = n => css.getPropertyValue(n).trim();
  const all = lines(), ratio = devicePixelRatio || 1;
  scroll.style.height = Math.min(MOST, HEAD + all.length * H + 4) + "px";
  const wide = canvas.clientWidth, high = scroll.clientHeight;
  $("spacer").style.height = Math.max(high, HEAD + all.length * H) + "px";
  canvas.style.height = high + "px";
  canvas.width = wide * ratio; canvas.height = high * ratio;
  const g = canvas.getContext("2d");
  g.scale(ratio, ratio);
  g.font = "11px ui-monospace, Menlo, Consolas, monospace";
  const first = Math.floor(scroll.scrollTop / H), count = Math.ceil((high - HEAD) / H);
  all.slice(first, first + count).forEach((line, n) => (line.row ? drawStates : drawLevels)(g, line, HEAD + n * H, color));
  g.fillStyle = color("--card");
  g.fillRect(0, 0, wide, HEAD - 1);
  drawPhases(g, color);
  g.fillStyle = color("--dim");
  const by = step();
  for (let t = Math.ceil(view[0] / by) * by; t <= view[1]; t += by) {
    const x = toX(t), text = num(t);
    g.fillRect(x, 13, 1, 4);
    g.fillText(text, Math.min(x, wide - RIGHT - g.measureText(text).width), 11);
  }
  if (mark !== null && mark >= view[0] && mark <= view[1]) { g.fillStyle = color("--chosen"); g.fillRect(toX(mark), 0, 1, high); }
  $("tfrom").value = Math.floor(view[0]); $("tto").value = Math.ceil(view[1]);
}
function drawPhases(g, color) {
  g.fillStyle = color("--dim");
  if (D.why) g.fillText("what limits the run", 4, 29);
  (D.why ? D.why.phases : []).forEach((phase, n) => {
    const from = Math.max(LEFT, toX(phase.first)), to = Math.min(LEFT + width(), toX(phase.last));
    if (to <= from) return;
    g.fillStyle = color(phase.unit === chosen ? "--chosen" : "--rule");
    g.fillRect(from, 18, Math.max(1, to - from - 1), H - 1);
    g.save(); g.beginPath(); g.rect(from, 18, to - from - 2, H); g.clip();
    g.fillStyle = color(phase.unit === chosen ? "--card" : "--text"); g.fillText(phase.unit, from + 3, 29); g.restore();
  });
}
// Names of one model begin alike, so what is left out is in the middle.
function shortened(text, most) {
  const start = Math.floor(most / 3);
  return text.length <= most ? text : `${text.slice(0, start)}…${text.slice(text.length - (most - start - 1))}`;
}
function drawStates(g, {row}, y, color) {
  g.fillStyle = color(row.unit === chosen ? "--chosen" : "--text");
  g.fillText(shortened(`${row.unit} ${row.does}`, 30), 4, y + 11);
  const s = row.sums ??= sums(row), px = width(), span = view[1] - view[0];
  g.fillStyle = color("--starved");
  g.fillRect(LEFT, y + 1, px, H - 2);
  for (const what of ["busy", "full"]) {
    g.fillStyle = color("--" + what);
    let before = until(s, what, view[0]);
    for (let x = 0; x < px; x++) {
      const now = until(s, what, view[0] + (x + 1) / px * span), share = (now - before) / (span / px);
      before = now;
      if (share > 0.001) { g.globalAlpha = Math.min(1, 0.12 + share); g.fillRect(LEFT + x, y + 1, 1.2, H - 2); }
    }
    g.globalAlpha = 1;
  }
}
function drawLevels(g, {channel}, y, color) {
  const l = levels[channel], depth = D.channels[channel].depth, px = width();
  g.fillStyle = color("--dim");
  const scale = ` 0–${num(depth)}`;
  g.fillText("  " + shortened(channel, 28 - scale.length) + scale, 4, y + 11);
  g.fillStyle = color("--chosen");
  for (let x = 0; x < px; x++) {
    const from = toCycle(LEFT + x), to = toCycle(LEFT + x + 1), a = place(l.times, from), b = place(l.times, to);
    let most = l.times.length && l.times[a] <= from ? l.values[a] : 0;
    for (let k = a; k <= b; k++) if (l.times[k] > from && l.times[k] < to) most = Math.max(most, l.values[k]);
    const h = (H - 2) * Math.min(1, most / depth);
    if (h) g.fillRect(LEFT + x, y + H - 1 - h, 1.2, h);
  }
}
function look(from, to) {
  const span = Math.min(N, Math.max(Math.min(8, N), to - from)), first = Math.max(0, Math.min(N - span, from));
  view = [first, first + span];
  draw();
}
function zoom(factor, at = (view[0] + view[1]) / 2) {
  const span = view[1] - view[0], next = Math.min(N, Math.max(Math.min(8, N), span * factor));
  const first = at - (at - view[0]) / span * next;
  look(first, first + next);
}
const pan = share => { const d = (view[1] - view[0]) * share; look(view[0] + d, view[1] + d); };
function lineAt(e) {
  const r = canvas.getBoundingClientRect(), y = e.clientY - r.top;
  return y < HEAD ? null : lines()[Math.floor(scroll.scrollTop / H) + Math.floor((y - HEAD) / H)];
}
// What a line shows in a cycle, in words.
function state(line, t) {
  if (line.channel) {
    const l = levels[line.channel], at = place(l.times, t), n = l.times.length && l.times[at] <= t ? l.values[at] : 0;
    return `${line.channel}: ${l.coarse ? "up to " : ""}${num(n)} of ${num(D.channels[line.channel].depth)} beats`;
  }
  const s = line.row.sums ??= sums(line.row), share = what => until(s, what, t + 1) - until(s, what, t);
  const busy = share("busy"), full = share("full"), who = `${line.row.unit} ${line.row.does}`;
  if (line.row.gaps) return `${who}: ${busy > 0.5 ? "busy" : full > 0.5 ? "full" : "starved"}`;
  return `${who}: busy in ${Math.round(100 * busy)} %, full in ${Math.round(100 * full)} % of the cycles around it`;
}
if (canvas) {
  let held = null, moved = false;
  canvas.addEventListener("mousedown", e => { held = e.offsetX; moved = false; });
  addEventListener("mouseup", () => { held = null; });
  canvas.addEventListener("mousemove", e => {
    if (held !== null && Math.abs(held - e.offsetX) > 2) { moved = true; pan((held - e.offsetX) / width()); held = e.offsetX; }
    const line = lineAt(e), t = Math.floor(toCycle(e.offsetX));
    $("at").textContent = e.offsetX < LEFT || t >= N ? "" : `Cycle ${num(t)}` + (line ? `, ${state(line, t)}` : "");
  });
  canvas.addEventListener("click", e => {
    if (moved) return;
    const line = lineAt(e), t = Math.floor(toCycle(e.offsetX));
    if (e.offsetX >= LEFT) mark = t;
    const phase = !line && D.why && D.why.phases.find(p => t >= p.first && t < p.last);
    if (line) choose(line.row ? line.row.unit : line.channel); else if (phase) choose(phase.unit); else draw();
  });
  canvas.addEventListener("dblclick", e => zoom(0.25, toCycle(e.offsetX)));
  canvas.addEventListener("wheel", e => {
    if (!e.ctrlKey && !e.shiftKey) return;
    e.preventDefault();
    zoom(e.deltaY + e.deltaX > 0 ? 1.3 : 1 / 1.3, toCycle(e.offsetX));
  }, {passive: false});
  scroll.addEventListener("scroll", draw);
  $("tin").onclick = () => zoom(0.5, mark ?? undefined); $("tout").onclick = () => zoom(2);
  $("tleft").onclick = () => pan(-0.5); $("tright").onclick = () => pan(0.5);
  $("tfit").onclick = () => look(0, N); $("tall").onchange = draw;
  for (const id of ["tfrom", "tto"]) $(id).onchange = () => look(+$("tfrom").value, Math.max(+$("tto").value, +$("tfrom").value + 1));
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  followers.push(name => {
    const at = lines().findIndex(l => l.row ? l.row.unit === name : l.channel === name);
    draw();
    if (at >= 0 && (at * H < scroll.scrollTop || (at + 8) * H > scroll.scrollTop + scroll.clientHeight - HEAD))
      scroll.scrollTop = Math.max(0, at * H - 60);
  });
}
