// The data of the page, and what is computed of them once.
const D = JSON.parse(document.getElementById("data").textContent);
// A unit and the channel behind it may have one name: that of a channel has an arrow here.
const stream = name => "→" + name;
const bare = name => name.replace(/^→/, "");
const streams = of => Object.fromEntries(Object.entries(of).map(([name, what]) => [stream(name), what]));
[D.channels, D.levels, D.remedy] = [D.channels, D.levels, D.remedy].map(streams);
for (const unit of Object.values(D.units)) for (const side of ["inputs", "outputs"]) unit[side] = unit[side].map(stream);
for (const w of D.waiting) w.channel = stream(w.channel);
const $ = id => document.getElementById(id), num = n => n.toLocaleString("en-US");
const N = D.cycles || 1, percent = n => (100 * n / N).toFixed(1) + " %";
function make(tag, text, cls) {
  const e = document.createElement(tag);
  e.textContent = text ?? "";
  if (cls) e.className = cls;
  return e;
}
function chooser(name, text) {
  const e = make("button", text ?? bare(name), "link");
  e.dataset.choose = name;
  return e;
}

// Edges of states with the busy and full cycles until each: a share is a difference of two.
function sums(row) {
  const edges = [0], busy = [0], full = [0];
  const add = (to, b, f) => {
    const last = edges.length - 1, span = to - edges[last];
    if (span <= 0) return;
    edges.push(to); busy.push(busy[last] + b * span); full.push(full[last] + f * span);
  };
  if (row.gaps) {
    let t = 0, s = 1;
    row.gaps.forEach((gap, n) => { t += gap; add(Math.min(t, N), +(s === 0), +(s === 2)); s = +row.states[n]; });
    add(N, +(s === 0), +(s === 2));
  } else row.busies.forEach((b, n) => add((n + 1) * N / row.busies.length, b / 100, row.fulls[n] / 100));
  return {edges, busy, full};
}
// The last place in ascending numbers whose number is at most x; 0 if there is none.
function place(a, x) {
  let lo = 0, hi = a.length - 1;
  while (lo < hi) { const m = (lo + hi + 1) >> 1; if (a[m] <= x) lo = m; else hi = m - 1; }
  return lo;
}
function until(s, what, x) {
  const n = Math.min(place(s.edges, x), s.edges.length - 2);
  if (n < 0) return 0;
  const span = s.edges[n + 1] - s.edges[n];
  return s[what][n] + (s[what][n + 1] - s[what][n]) * Math.min(1, (x - s.edges[n]) / span);
}
const levels = {};
for (const [name, l] of Object.entries(D.levels)) {
  let t = 0, area = 0, last = 0, most = 0;
  const times = l.gaps.map(g => t += g);
  times.forEach((at, n) => { area += last * (at - (n ? times[n - 1] : 0)); last = l.levels[n]; most = Math.max(most, last); });
  area += last * Math.max(0, N - (times[times.length - 1] || 0));
  levels[name] = {times, values: l.levels, mean: area / N, most, coarse: l.coarse};
}
// Of each unit the row of its main actor, which stands for it.
const mains = {};
for (const row of D.rows) {
  row.sums = null;
  if (row.main || !mains[row.unit]) mains[row.unit] = row;
}
const alike = {};
for (const members of D.alike) for (const one of members) alike[one] = members;
const deadChannels = new Set(D.waiting.map(w => w.channel)), deadUnits = new Set(D.waiting.map(w => w.unit));
