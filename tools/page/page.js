const model = JSON.parse(document.getElementById("model").textContent);
const {nodes, pods, texts, zones, pools, resources, verdicts} = model;
const byId = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");
const count = (n, noun) => `${number.format(n)} ${noun}${n === 1 ? "" : "s"}`;

const podsOf = nodes.map(() => []);
pods.node.forEach((n, k) => { if (n >= 0) podsOf[n].push(k); });

// fullness is the largest share of cpu, memory or another resource; the number of pods is left out.
const fullness = nodes.map((n) => Math.max(0, ...n.use.filter((u, k) => resources[k] !== "pods").map((u) => u.percent)));
const level = (percent) => percent < 50 ? "low" : percent < 80 ? "mid" : percent < 95 ? "high" : "full";
const bad = new Set(["Unschedulable", "Refused", "Error", "Blocked", "Evicted", "rejected"]);
const good = new Set(["Scheduled", "Running"]);
const tone = (state) => bad.has(state) ? "bad" : good.has(state) ? "good" : "warn";

// chosen is the pod or node of the detail. verdict is what is said about the chosen pod, and verdictRow its row by node.
let chosen = {pod: -1, node: -1};
let verdict = null;
let verdictRow = new Map();

const podList = new List(document.querySelector("#pods .scroll"), 48, "Pods");
const mapList = new List(document.querySelector("#map .scroll"), 56, "Nodes by zone");
let shownPods = [], shownRows = [], wanted = [];

function podCell(k) {
  const state = texts[pods.state[k]];
  const on = pods.node[k] >= 0 ? nodes[pods.node[k]].name : "no node";
  const b = make("button", {type: "button", "aria-pressed": String(chosen.pod === k)},
    make("span", {class: "one"}, pods.name[k]),
    make("span", {class: "two"}, make("span", {class: tone(state)}, state), `, ${on}`));
  b.addEventListener("click", () => choosePod(k));
  return b;
}

function nodeWords(k) {
  const n = nodes[k];
  const use = resources.map((r, i) => n.use[i].percent < 0 ? "" : `${r} ${n.use[i].percent} %`).filter(Boolean);
  return [n.name, `zone ${zones[n.zone]}`, pools.length > 1 ? `pool ${pools[n.pool]}` : "", ...use, n.marks, verdictWords(k)].filter(Boolean).join(", ");
}

function verdictWords(k) {
  if (!verdictRow.has(k)) return "";
  const row = verdict.rows[verdictRow.get(k)];
  return row.rejections ? "rejects the pod" : "can take the pod";
}

// ending is what the names of all nodes end with from a dot on, when it has a letter: the domain of a provider. A tile leaves it out.
const ending = nodes.length < 2 ? "" : nodes.reduce((rest, n) => {
  while (rest && !n.name.endsWith(rest)) rest = rest.slice(1).replace(/^[^.]*/, "");
  return rest;
}, nodes[0].name.replace(/^[^.]*/, ""));

function shortName(name) {
  return /[a-z]/.test(ending) ? name.slice(0, -ending.length) : name;
}

function nodeCell(k) {
  const n = nodes[k];
  const row = verdictRow.has(k) ? verdict.rows[verdictRow.get(k)] : null;
  const mark = row ? (row.rejections ? "✕ " : "✓ ") : "";
  const b = make("button", {type: "button", class: `tile ${level(fullness[k])}${n.marks ? " marked" : ""}`, "aria-pressed": String(chosen.node === k), "aria-label": nodeWords(k), title: nodeWords(k)},
    make("span", {class: "one"}, mark + shortName(n.name)),
    make("span", {class: "two"}, resources.slice(0, 2).map((r, i) => `${r === "memory" ? "mem" : r} ${n.use[i].percent < 0 ? "–" : n.use[i].percent + "%"}`).join(" · ")));
  b.addEventListener("click", () => chooseNode(k));
  return b;
}

// grouping is by what nodes are grouped: their zones or their pools.
const groupings = {zone: {names: zones, title: "Zone"}, pool: {names: pools, title: "Pool"}};
let grouping = zones.length < 2 && pools.length > 1 ? "pool" : "zone";
const groupOf = (k) => nodes[k][grouping];

// tileWidth has room for the longest name of a node, with a mark before it.
const tileWidth = Math.max(140, 36 + 8.5 * (2 + nodes.reduce((most, n) => Math.max(most, shortName(n.name).length), 0)));

// tiles lays the wanted nodes out in rows under the names of their groups.
function tiles() {
  const across = Math.max(1, Math.floor((mapList.box.clientWidth - 8) / tileWidth));
  shownRows = [];
  let group = -1, row = null;
  for (const k of wanted) {
    if (groupOf(k) !== group) {
      group = groupOf(k);
      shownRows.push({group, nodes: []});
      row = null;
    }
    if (!row || row.nodes.length === across) shownRows.push(row = {nodes: [], across});
    row.nodes.push(k);
  }
  const inGroup = new Map();
  for (const k of wanted) inGroup.set(groupOf(k), (inGroup.get(groupOf(k)) || 0) + 1);
  mapList.show(shownRows.length, (r) => shownRows[r].nodes.length, (r) => {
    const x = shownRows[r];
    if (x.group !== undefined) return [make("h3", {class: "zone"}, `${groupings[grouping].title} ${groupings[grouping].names[x.group]}, ${count(inGroup.get(x.group), "node")}`)];
    const cells = x.nodes.map(nodeCell);
    while (cells.length < x.across) cells.push(make("span", {class: "gap"}));
    return cells;
  });
}

// filter finds the pods and nodes that the form asks for, in pieces of a few milliseconds.
let run = 0;
function filter() {
  const mine = ++run;
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const state = byId("state").value, zone = byId("zone").value;
  const inZone = (n) => zone === "" || n >= 0 && nodes[n].zone === Number(zone);
  const has = (text) => words.every((w) => text.includes(w));
  const someNodes = new Uint8Array(nodes.length), somePods = [];
  const podText = (k) => `${pods.name[k]} ${texts[pods.state[k]].toLowerCase()} ${pods.node[k] >= 0 ? nodes[pods.node[k]].name : ""}`;
  let k = 0;
  const piece = () => {
    if (mine !== run) return;
    const end = performance.now() + 8;
    for (; k < pods.name.length; k++) {
      if (k % 256 === 0 && performance.now() > end) { setTimeout(piece); return; }
      const n = pods.node[k];
      if ((state === "" || pods.state[k] === Number(state)) && inZone(n) && (words.length === 0 || has(podText(k)))) {
        somePods.push(k);
        if (n >= 0) someNodes[n] = 1;
      }
    }
    finish();
  };
  const finish = () => {
    const own = (n) => words.length > 0 && has(`${nodes[n].name} ${zones[nodes[n].zone]} ${pools[nodes[n].pool]} ${nodes[n].marks}`.toLowerCase());
    wanted = [];
    nodes.forEach((n, i) => { if (inZone(i) && (words.length === 0 && state === "" || someNodes[i] || own(i))) wanted.push(i); });
    const full = byId("order").value === "full";
    wanted.sort((a, b) => groupOf(a) - groupOf(b) || (full ? fullness[b] - fullness[a] : 0) || a - b);
    shownPods = somePods;
    podList.show(shownPods.length, () => 1, (r) => [podCell(shownPods[r])]);
    tiles();
    byId("found").textContent = `${number.format(shownPods.length)} of ${count(pods.name.length, "pod")}, ${number.format(wanted.length)} of ${count(nodes.length, "node")}`;
  };
  piece();
}

function redraw() {
  podList.again();
  mapList.again();
}

function facts(pairs) {
  const dl = make("dl", {});
  for (const [name, value] of pairs) if (value !== "" && value !== undefined) dl.append(make("dt", {}, name), make("dd", {}, value));
  return dl;
}

function bullets(items) {
  return make("ul", {class: "plain"}, ...items.map((t) => make("li", {}, t)));
}

// detail replaces what is shown about the chosen pod or node.
function detail(title, parts) {
  for (const l of List.all) if (byId("shown").contains(l.box)) List.all.delete(l);
  byId("detail-title").textContent = title;
  byId("shown").replaceChildren(...parts);
}

// shellWord returns a text as one word of a shell.
function shellWord(text) {
  return /^[A-Za-z0-9%+,./:@_-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function choosePod(k) {
  chosen = {pod: k, node: -1};
  verdict = k in model.of ? verdicts[model.of[k]] : null;
  verdictRow = new Map(verdict ? verdict.nodes.map((n, i) => [n, verdict.row[i]]) : []);
  const state = texts[pods.state[k]], n = pods.node[k];
  const parts = [facts([["State", state], ["Node", n >= 0 ? nodeButton(n) : "none"], ["Asks for", texts[pods.ask[k]]], ["Why", k in pods.message ? texts[pods.message[k]] : ""]])];
  const after = [];
  if (verdict) after.push(...verdictParts(parts));
  else parts.push(make("p", {class: "quiet"}, `kubectl podberth why -o html -- ${shellWord(pods.name[k])} shows what every plugin says about every node.`));
  detail(`Pod ${pods.name[k]}`, parts);
  for (const f of after) f();
  byId("said").textContent = `Pod ${pods.name[k]}: ${state}${verdict ? `, ${number.format(verdict.feasible)} of ${count(nodes.length, "node")} can take it` : ""}`;
  redraw();
}

function nodeButton(n) {
  const b = make("button", {type: "button"}, nodes[n].name);
  b.addEventListener("click", () => chooseNode(n));
  return b;
}

// verdictParts adds what the plugins say, and returns what has to be done when the parts are in the page.
function verdictParts(parts) {
  const v = verdict, after = [];
  if (v.cause) parts.push(make("h3", {}, "Why it waits"), make("p", {}, v.cause));
  if (v.help.length) parts.push(make("h3", {}, "Do"), bullets(v.help));
  if (v.obstacles.length) parts.push(make("h3", {}, "What keeps it off nodes"), bullets(v.obstacles));
  parts.push(make("h3", {}, `Verdict by node: ${number.format(v.feasible)} of ${count(v.nodes.length, "node")} can take it`));
  if (v.scorers.length) {
    parts.push(make("p", {class: "key"}, ...v.scorers.map((s, i) => make("span", {}, make("i", {class: `c${i % 8}`, "aria-hidden": "true"}), `${s.plugin} ×${s.weight}`))));
  }
  const box = make("div", {class: "scroll"});
  parts.push(box);
  const most = Math.max(1, ...v.rows.map((r) => r.total));
  after.push(() => new List(box, 48, "Verdict by node").show(v.nodes.length, () => 1, (r) => [verdictCell(v, v.nodes[r], v.rows[v.row[r]], most)]));
  for (const s of v.skews) {
    parts.push(make("h3", {}, `Skew: ${s.title}`), make("p", {class: "quiet"}, s.text));
    const small = make("div", {class: "scroll small", tabindex: "0", role: "region", "aria-label": `Domains of ${s.key}`});
    parts.push(small);
    const top = Math.max(1, ...s.domains.map((d) => d.pods));
    after.push(() => new List(small, 44, `Domains of ${s.key}`).show(s.domains.length, () => 0, (r) => [skewRow(s.domains[r], top)]));
  }
  return after;
}

function verdictCell(v, n, row, most) {
  const name = make("span", {class: "one"});
  const b = make("button", {type: "button"}, name);
  if (row.rejections) {
    const why = row.rejections.map((x) => `${x.plugin}: ${(x.numbers && x.numbers.length ? x.numbers : x.reasons).join(", ")}`).join("; ");
    name.append(make("span", {class: "bad"}, "✕ rejected "), nodes[n].name);
    b.append(make("span", {class: "two"}, why));
    b.setAttribute("aria-label", `${nodes[n].name}, rejected, ${why}`);
  } else {
    name.append(make("span", {class: "good"}, "✓ "), `${nodes[n].name}, total ${row.total}`);
    const bar = make("span", {class: "bar", "aria-hidden": "true"});
    const words = (row.scores || []).map((s, i) => `${v.scorers[i].plugin} ${s}`);
    (row.scores || []).forEach((s, i) => {
      const part = make("i", {class: `c${i % 8}`});
      part.style.width = `${100 * s / most}%`;
      bar.append(part);
    });
    b.append(bar);
    b.setAttribute("aria-label", `${nodes[n].name}, can take it, total ${row.total}: ${words.join(", ")}`);
    b.title = words.join(", ");
  }
  b.addEventListener("click", () => chooseNode(n, true));
  return b;
}

function skewRow(d, top) {
  const bar = make("span", {class: "bar", "aria-hidden": "true"}), part = make("i", {class: d.over ? "c5" : "c0"});
  part.style.width = `${100 * d.pods / top}%`;
  bar.append(part);
  const words = make("span", {class: "one"}, `${d.value}: ${count(d.pods, "pod")} on ${count(d.nodes, "node")}${d.over ? ", no room for one more" : ""}`);
  const box = make("div", {}, words, bar);
  box.style.flex = "1";
  return box;
}

// chooseNode shows a node. keep leaves the verdict about the pod that was chosen before.
function chooseNode(n, keep) {
  const about = chosen.pod >= 0 ? chosen.pod : chosen.about;
  const row = verdictRow.has(n) ? verdict.rows[verdictRow.get(n)] : null;
  chosen = {pod: -1, node: n, about};
  const x = nodes[n], parts = [];
  parts.push(facts([["Zone", zones[x.zone]], ["Pool", pools[x.pool]], ...resources.map((r, i) => [r, x.use[i].percent < 0 ? "" : `${x.use[i].text} (${x.use[i].percent} %)`]), ["Marks", x.marks]]));
  if (row) {
    const back = make("button", {type: "button"}, pods.name[about]);
    back.addEventListener("click", () => choosePod(about));
    parts.push(make("h3", {}, "Verdict about ", back));
    if (row.rejections) {
      parts.push(bullets(row.rejections.map((r) => `${r.plugin} rejects: ${r.reasons.join(", ")}${r.numbers && r.numbers.length ? ` (${r.numbers.join("; ")})` : ""}`)));
    } else {
      parts.push(bullets([...(row.scores || []).map((s, i) => `${verdict.scorers[i].plugin}: ${s}`), `total: ${row.total}`]));
    }
  }
  parts.push(make("h3", {}, count(podsOf[n].length, "pod")));
  const box = make("div", {class: "scroll"});
  parts.push(box);
  detail(`Node ${x.name}`, parts);
  new List(box, 48, `Pods of ${x.name}`).show(podsOf[n].length, () => 1, (r) => [podCell(podsOf[n][r])]);
  byId("said").textContent = nodeWords(n);
  redraw();
}

function timeline(t) {
  byId("timeline-title").textContent = t.title;
  const end = Math.max(t.end, 1), axis = document.querySelector(".axis");
  const at = (x) => `${100 * x / end}%`;
  const tick = (x, text) => {
    const e = make("span", {}, text);
    e.style.left = at(x);
    axis.append(e);
  };
  const most = 8; // ticks
  if (t.steps) {
    for (let k = 0; k < t.steps; k += Math.ceil(t.steps / most)) tick(k + 0.5, `step ${k + 1}`);
  } else {
    const second = 1000, every = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400, 604800].find((s) => end / (s * second) <= most) || end / second;
    for (let x = 0; x <= end; x += every * second) tick(x, duration(x));
  }
  const list = new List(document.querySelector("#timeline .scroll"), 48, t.title);
  list.show(t.lanes.length, () => 1, (r) => {
    const l = t.lanes[r], words = l.spans.map((s) => s.text).join("; ");
    const track = make("span", {class: "track", "aria-hidden": "true"});
    for (const s of l.spans) {
      const bar = make("i", {class: s.kind, title: s.text});
      bar.style.left = at(s.from);
      bar.style.width = `${100 * (s.to - s.from) / end}%`;
      track.append(bar);
    }
    const b = make("button", {type: "button", "aria-label": `${l.name}: ${words}`, title: words},
      make("span", {class: "lane"}, make("span", {class: "one"}, l.name), track),
      make("span", {class: "two"}, words));
    b.addEventListener("click", () => { if (l.pod >= 0) choosePod(l.pod); else if (l.node >= 0) chooseNode(l.node); });
    return [b];
  });
}

function duration(ms) {
  const s = Math.round(ms / 1000);
  return [[Math.floor(s / 3600), "h"], [Math.floor(s / 60) % 60, "m"], [s % 60, "s"]].filter(([n]) => n > 0).map(([n, u]) => n + u).join("") || "0s";
}

function begin() {
  byId("filter").hidden = byId("answer").hidden = false;
  byId("text").open = false;
  const states = new Map();
  pods.state.forEach((s) => states.set(s, (states.get(s) || 0) + 1));
  for (const [s, n] of states) byId("state").append(make("option", {value: s}, `${texts[s]} (${number.format(n)})`));
  zones.forEach((z, k) => byId("zone").append(make("option", {value: k}, z)));
  byId("legend").textContent = "What the pods of a node ask for; the colour is that of its fullest resource: below 50 %, 80 %, 95 %, or above. A dashed frame: cordoned, tainted or not ready." + (verdicts.length ? " ✓ can take the chosen pod, ✕ rejects it." : "");
  let typed = 0;
  byId("search").addEventListener("input", () => { clearTimeout(typed); typed = setTimeout(filter, 60); });
  byId("filter").addEventListener("submit", (e) => { e.preventDefault(); filter(); });
  byId("group").value = grouping;
  const regroup = () => {
    grouping = byId("group").value;
    byId("map-title").textContent = `Nodes by ${grouping}`;
    mapList.name(`Nodes by ${grouping}`);
  };
  regroup();
  byId("group").addEventListener("change", regroup);
  for (const id of ["state", "zone", "group", "order"]) byId(id).addEventListener("change", filter);
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && !/^(INPUT|SELECT)$/.test(document.activeElement.tagName)) { e.preventDefault(); byId("search").focus(); }
  });
  let width = mapList.box.clientWidth;
  new ResizeObserver(() => { if (Math.abs(mapList.box.clientWidth - width) > 40) { width = mapList.box.clientWidth; tiles(); } }).observe(mapList.box);
  const most = 300; // rows of a list on paper
  addEventListener("beforeprint", () => { byId("text").open = true; for (const l of List.all) l.print(most); });
  addEventListener("afterprint", () => { for (const l of List.all) l.print(0); });
  if (model.timeline) timeline(model.timeline);
  filter();
  if (model.selected >= 0) choosePod(model.selected);
}
begin();
