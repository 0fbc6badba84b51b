// make returns an element with attributes, properties that begin with a dot, and children, which may be texts.
function make(tag, has, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(has || {})) {
    if (name.startsWith(".")) e[name.slice(1)] = value;
    else if (value !== null && value !== false) e.setAttribute(name, value);
  }
  e.append(...children);
  return e;
}

// List shows rows of equal height in a box that scrolls, and draws only what is visible. A row has cells, which are buttons: one
// of them can be reached with Tab, the others with the arrows, Home, End, Page Up and Page Down.
class List {
  constructor(box, height, label) {
    Object.assign(this, {box, height, drawn: new Map(), rows: 0, at: [0, 0], most: 0, due: false});
    this.list = make("ul", {class: "rows", role: "list", "aria-label": label});
    box.replaceChildren(this.list);
    box.addEventListener("scroll", () => this.soon(), {passive: true});
    box.addEventListener("keydown", (e) => this.key(e));
    box.addEventListener("focusin", (e) => this.reached(e.target));
    new ResizeObserver(() => this.soon()).observe(box);
    List.all.add(this);
  }

  name(label) { this.list.setAttribute("aria-label", label); }

  // show replaces the rows. cells(row) is how many cells a row has; draw(row) returns the children of its element.
  show(rows, cells, draw) {
    Object.assign(this, {rows, cells, draw});
    this.at = [0, 0];
    while (this.at[0] < rows && cells(this.at[0]) === 0) this.at[0]++;
    this.box.scrollTop = 0;
    this.again();
  }

  // again draws everything anew.
  again() {
    const focus = this.list.contains(document.activeElement);
    for (const row of this.drawn.values()) row.remove();
    this.drawn.clear();
    this.list.style.height = this.most ? "auto" : this.rows * this.height + "px";
    this.paint();
    if (focus) this.focus();
  }

  soon() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => { this.due = false; this.paint(); });
  }

  // paint draws the visible rows and the row that Tab reaches, and removes the others.
  paint() {
    const spare = 4;
    let first = Math.max(0, Math.floor(this.box.scrollTop / this.height) - spare);
    let end = Math.min(this.rows, Math.ceil((this.box.scrollTop + this.box.clientHeight) / this.height) + spare);
    if (this.most) [first, end] = [0, Math.min(this.rows, this.most)];
    const wanted = (row) => row >= first && row < end || row === this.at[0] && row < this.rows && !this.most;
    for (const [row, e] of this.drawn) {
      if (!wanted(row)) { e.remove(); this.drawn.delete(row); }
    }
    const rows = [];
    for (let row = first; row < end; row++) rows.push(row);
    if (wanted(this.at[0]) && (this.at[0] < first || this.at[0] >= end)) rows.push(this.at[0]);
    for (const row of rows) {
      if (this.drawn.has(row)) continue;
      const e = make("li", {"aria-setsize": this.rows, "aria-posinset": row + 1}, ...this.draw(row));
      e.style.height = this.height + "px";
      if (!this.most) e.style.transform = `translateY(${row * this.height}px)`;
      let cell = 0;
      for (const b of e.querySelectorAll("button")) {
        b.dataset.row = row;
        b.dataset.cell = cell;
        b.tabIndex = row === this.at[0] && cell === this.at[1] ? 0 : -1;
        cell++;
      }
      let next = null; // in the order of the rows, which is the order in which they are read
      for (const [other, x] of this.drawn) {
        if (other > row && (!next || other < next[0])) next = [other, x];
      }
      this.list.insertBefore(e, next && next[1]);
      this.drawn.set(row, e);
    }
    if (this.most && this.rows > this.most && !this.drawn.has(-1)) {
      const e = make("li", {}, `and ${this.rows - this.most} more`);
      this.list.append(e);
      this.drawn.set(-1, e);
    }
  }

  // print draws up to most rows one below the other; 0 goes back to the box.
  print(most) {
    this.most = most;
    this.again();
  }

  cell([row, cell]) {
    return this.drawn.get(row)?.querySelectorAll("button")[cell];
  }

  reached(e) {
    const b = e.closest("button[data-row]");
    if (!b) return;
    const old = this.cell(this.at);
    if (old) old.tabIndex = -1;
    this.at = [Number(b.dataset.row), Number(b.dataset.cell)];
    b.tabIndex = 0;
  }

  // focus moves to the cell that Tab reaches and scrolls it into the box.
  focus() {
    const top = this.at[0] * this.height;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    if (top + this.height > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + this.height - this.box.clientHeight;
    this.paint();
    this.cell(this.at)?.focus({preventScroll: true});
  }

  key(e) {
    if (e.ctrlKey || e.altKey || e.metaKey || this.rows === 0) return;
    let [row, cell] = this.at;
    const down = (from, step, times) => { // times rows with cells further, or as far as there are any
      let good = row;
      for (let r = from; r >= 0 && r < this.rows && times > 0; r += step) {
        if (this.cells(r) > 0) { good = r; times--; }
      }
      return good;
    };
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.height) - 1);
    switch (e.key) {
      case "ArrowDown": row = down(row + 1, 1, 1); break;
      case "ArrowUp": row = down(row - 1, -1, 1); break;
      case "PageDown": row = down(row + 1, 1, page); break;
      case "PageUp": row = down(row - 1, -1, page); break;
      case "Home": row = down(0, 1, 1); cell = 0; break;
      case "End": row = down(this.rows - 1, -1, 1); cell = this.cells(row) - 1; break;
      case "ArrowRight":
        if (cell + 1 < this.cells(row)) cell++;
        else if (down(row + 1, 1, 1) !== row) { row = down(row + 1, 1, 1); cell = 0; }
        break;
      case "ArrowLeft":
        if (cell > 0) cell--;
        else if (down(row - 1, -1, 1) !== row) { row = down(row - 1, -1, 1); cell = this.cells(row) - 1; }
        break;
      default: return;
    }
    e.preventDefault();
    const old = this.cell(this.at);
    if (old) old.tabIndex = -1;
    this.at = [row, Math.max(0, Math.min(cell, this.cells(row) - 1))];
    this.paint();
    const now = this.cell(this.at);
    if (now) now.tabIndex = 0;
    this.focus();
  }
}
List.all = new Set();
