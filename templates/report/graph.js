// The drawings: alike branches once, and every unit.
const panes = [...document.querySelectorAll(".pane")], shownPane = () => panes.find(p => !p.hidden);
const drawn = (pane, name) => pane.marks.filter(g => g.names.includes(name));

for (const pane of panes) {
  const svg = pane.querySelector("svg"), whole = svg.getAttribute("viewBox").split(" ").map(Number);
  let now = [...whole], from = null, moved = false;
  const set = () => svg.setAttribute("viewBox", now.join(" "));
  pane.zoom = (f, x = 0.5, y = 0.5) => {
    now = [now[0] + now[2] * (1 - f) * x, now[1] + now[3] * (1 - f) * y, now[2] * f, now[3] * f];
    set();
  };
  pane.fit = () => { now = [...whole]; set(); };
  // As large as the drawing may be without becoming larger than life, from its upper end on.
  pane.start = () => {
    const w = pane.clientWidth, h = pane.clientHeight;
    if (whole[2] <= w * 1.2 && whole[3] <= h * 1.2) return pane.fit();
    now = [whole[0] + (whole[2] - w) / 2, whole[1], w, h];
    set();
  };
  pane.show = g => {
    if (now[2] >= whole[2] && now[3] >= whole[3]) return;  // all of it is in view
    const box = g.getBBox(), x = box.x + box.width / 2, y = box.y + box.height / 2;
    const w = Math.min(now[2], pane.clientWidth), h = Math.min(now[3], pane.clientHeight);
    const inside = x > now[0] + 0.1 * now[2] && x < now[0] + 0.9 * now[2] && y > now[1] + 0.1 * now[3] && y < now[1] + 0.9 * now[3];
    if (inside && now[2] <= 2 * pane.clientWidth && now[3] <= 2 * pane.clientHeight) return;
    // Not further than the drawing goes.
    const within = (at, size, first, all) => size >= all ? first + (all - size) / 2 : Math.min(first + all - size, Math.max(first, at));
    now = [within(x - w / 2, w, whole[0], whole[2]), within(y - h / 2, h, whole[1], whole[3]), w, h];
    set();
  };
  pane.addEventListener("wheel", e => {
    if (!e.ctrlKey && !e.shiftKey) return;
    e.preventDefault();
    const r = pane.getBoundingClientRect();
    pane.zoom(e.deltaY + e.deltaX > 0 ? 1.15 : 1 / 1.15, (e.clientX - r.x) / r.width, (e.clientY - r.y) / r.height);
  }, {passive: false});
  pane.addEventListener("mousedown", e => { from = [e.clientX, e.clientY]; moved = false; });
  pane.addEventListener("mousemove", e => {
    if (!from || !e.buttons) return;
    if (Math.abs(e.clientX - from[0]) + Math.abs(e.clientY - from[1]) > 3) moved = true;
    if (!moved) return;
    const k = Math.max(now[2] / pane.clientWidth, now[3] / pane.clientHeight);
    now[0] -= (e.clientX - from[0]) * k; now[1] -= (e.clientY - from[1]) * k;
    from = [e.clientX, e.clientY];
    set();
  });
  pane.addEventListener("click", e => {
    const g = e.target.closest("[data-name]");
    if (g && !moved) choose(g.names.includes(chosen) ? chosen : g.own);
  });

  pane.marks = [...svg.querySelectorAll("[data-name]")];
  for (const g of pane.marks) {
    const named = g.classList.contains("arrow") ? stream : name => name;
    g.names = g.dataset.members.split(" ").map(named);
    g.own = named(g.dataset.name);
    const title = g.querySelector("title");
    if (g.classList.contains("arrow")) {
      const path = g.querySelector("path"), hit = path.cloneNode();
      hit.setAttribute("class", "hit");
      g.append(hit);
      const full = Math.max(...g.names.map(c => levels[c] && D.channels[c] ? levels[c].mean / D.channels[c].depth : 0));
      if (full > 0.01) {
        path.style.stroke = `color-mix(in srgb, var(--full) ${Math.min(100, 25 + 75 * full)}%, var(--line))`;
        path.style.strokeWidth = 1 + 2 * full;
      }
      if (title && D.cycles) title.textContent += `, ${Math.round(100 * full)} % full on average`;
      g.classList.toggle("dead", g.names.some(c => deadChannels.has(c)));
    } else {
      const rows = g.names.map(u => mains[u]).filter(Boolean), rect = g.querySelector("rect");
      const share = rows.reduce((sum, r) => sum + r.busy, 0) / Math.max(1, rows.length) / N;
      if (rect && rows.length) {
        rect.style.fill = `color-mix(in srgb, var(--busy) ${Math.min(90, 100 * share)}%, var(--box))`;
        g.classList.toggle("deep", share > 0.25);
        if (title) title.textContent += `, busy in ${Math.round(100 * share)} % of the cycles` + (rows.length > 1 ? `, on average of ${rows.length} alike` : "");
      }
      g.classList.toggle("dead", g.names.some(u => deadUnits.has(u)));
    }
  }
}
followers.push(name => {
  const unit = D.units[name], own = unit ? [...unit.inputs, ...unit.outputs] : [];
  for (const pane of panes) for (const g of pane.marks) {
    g.classList.toggle("chosen", g.names.includes(name));
    g.classList.toggle("touches", g.names.some(c => own.includes(c)));
  }
  showChosen();
});
// A box may stand for several alike units, under the name of another one.
function showChosen() {
  const [first] = drawn(shownPane(), chosen);
  if (first) shownPane().show(first);
  $("stands").textContent = first && first.own !== chosen ? `${bare(chosen)} is drawn as ${bare(first.own)}` : "";
}

$("gin").onclick = () => shownPane().zoom(0.7);
$("gout").onclick = () => shownPane().zoom(1 / 0.7);
$("gfit").onclick = () => shownPane().fit();
if ($("toggle")) $("toggle").onclick = () => {
  for (const pane of panes) pane.hidden = !pane.hidden;
  $("toggle").textContent = panes[0].hidden ? "show alike units once" : "show every unit";
  if (!shownPane().started) { shownPane().started = true; shownPane().start(); }
  showChosen();
};
let hits = [], hit = 0;
$("search").oninput = e => {
  const word = e.target.value.trim().toLowerCase(), unit = n => D.units[n] || {};
  const has = n => [n, unit(n).kind, unit(n).operator].some(text => text && text.toLowerCase().includes(word));
  for (const pane of panes) for (const g of pane.marks)
    g.classList.toggle("found", word !== "" && g.names.some(has));
  const names = [...Object.keys(D.units), ...Object.keys(D.channels)];
  hits = word ? names.filter(n => has(n) && drawn(shownPane(), n).length) : [];
  hit = 0;
  $("found").textContent = !word ? "" : hits.length ? `${hits.length} found; Enter shows the next` : "none found";
  if (hits.length) shownPane().show(drawn(shownPane(), hits[0])[0]);
};
$("search").onkeydown = e => { if (e.key === "Enter" && hits.length) choose(hits[hit++ % hits.length]); };
