// The one script of the site. Everything is there without it: it sorts and filters tables that stand complete on the
// page, switches colours, reads marks of charts out, and opens what is folded where a link or the printer asks for it.
// All pages load it from one file; it fetches nothing and makes no markup from text. Whole-line comments are left out.
(function () {
"use strict";
var root = document.documentElement;
// The style sheet keeps room for what is added below, so that nothing moves when it comes.
root.classList.add("scripted");

// Colours. A browser may forbid its store, always or for pages from disk: then a choice lasts as long as the page.
var KEY = "sparkbench-theme";
var THEMES = [["auto", "System"], ["light", "Light"], ["dark", "Dark"]];
function stored() {
  try { return localStorage.getItem(KEY); } catch (refused) { return null; }
}
function paint(theme) {
  if (theme === "light" || theme === "dark") { root.setAttribute("data-theme", theme); }
  else { root.removeAttribute("data-theme"); }
}
paint(stored());

function make(name, attributes, text) {
  var element = document.createElement(name);
  for (var key in attributes) { element.setAttribute(key, attributes[key]); }
  if (text) { element.textContent = text; }
  return element;
}
function list(things) { return Array.prototype.slice.call(things); }

function themes() {
  var place = document.querySelector(".tools");
  if (!place) { return; }
  var choice = make("select", { id: "theme", "aria-label": "Colours", title: "Colours" });
  THEMES.forEach(function (theme) { choice.appendChild(make("option", { value: theme[0] }, theme[1])); });
  function show() { choice.value = root.getAttribute("data-theme") || "auto"; }
  choice.addEventListener("change", function () {
    paint(choice.value);
    try { localStorage.setItem(KEY, choice.value); } catch (refused) { return; }
  });
  // Another tab of the same site.
  window.addEventListener("storage", function (event) {
    if (event.key === KEY) { paint(event.newValue); show(); }
  });
  show();
  place.appendChild(choice);
}

// What has happened, for those who do not see it.
var voice;
function say(text) {
  if (!voice) {
    voice = make("div", { "class": "sr", role: "status" });
    document.body.appendChild(voice);
  }
  voice.textContent = text;
}

// Tables. What a cell says first is its value: small print and words for screen readers only are not.
function words(cell) {
  var text = "";
  list(cell.childNodes).forEach(function (node) {
    if (node.nodeType === 3) { text += node.nodeValue; }
    else if (node.nodeType === 1 && !node.matches("small, svg, .sub, .sr, .glyph")) { text += words(node); }
  });
  return text.trim();
}
var SIZES = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, kib: 1024, mib: 1048576, gib: 1073741824, tib: 1099511627776 };
// The number a cell begins with; signs and the spaces between groups of digits as the pages print them.
function number(text) {
  var plain = text.replace(/\u2212/g, "-").replace(/(\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))/g, "$1");
  var found = /^[<>\u2264\u2265\u2248~]?\s*([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?![\d-])\s*([a-z]*)/i.exec(plain);
  return found ? parseFloat(found[1]) * (SIZES[found[2].toLowerCase()] || 1) : null;
}
function absent(text) { return text === "" || /^[-\u2013\u2014]$/.test(text); }
// A column is one of numbers when most of it is; a cell that gives a reason in place of a number counts as absent then.
function keys(rows, column) {
  var texts = rows.map(function (row) { return row.cells[column] ? words(row.cells[column]) : ""; });
  var given = texts.filter(function (text) { return !absent(text); });
  var counted = given.filter(function (text) { return number(text) !== null; });
  var numeric = counted.length > 0 && counted.length * 2 >= given.length;
  return texts.map(function (text) {
    return absent(text) ? null : numeric ? number(text) : text;
  });
}
function compare(a, b) {
  return typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
}
// Rows without a value stay last either way; equal ones keep their order.
function order(rows, column, sign) {
  var key = keys(rows, column);
  return rows.map(function (row, k) { return k; }).sort(function (a, b) {
    if (key[a] === null || key[b] === null) { return (key[a] === null) - (key[b] === null) || a - b; }
    return sign * compare(key[a], key[b]) || a - b;
  }).map(function (k) { return rows[k]; });
}
function sortable(table) {
  var head = table.tHead;
  if (!head || head.rows.length !== 1 || table.querySelector("[colspan], [rowspan]")) { return; }
  var bodies = list(table.tBodies).map(function (body) { return { body: body, rows: list(body.rows) }; });
  if (!bodies.some(function (part) { return part.rows.length > 2; })) { return; }
  var heads = list(head.rows[0].cells);
  heads.forEach(function (cell, column) {
    var name = words(cell);
    // A heading that leads somewhere stays a link.
    if (!name || cell.querySelector("a")) { return; }
    var button = make("button", { type: "button", "class": "sort" });
    while (cell.firstChild) { button.appendChild(cell.firstChild); }
    cell.appendChild(button);
    cell.classList.add("sorts");
    // Headings stay at the top of a long table, and browsers then forget to bring them in from the side.
    button.addEventListener("focus", function () {
      if (button.matches(":focus-visible")) { button.scrollIntoView({ block: "nearest", inline: "nearest" }); }
    });
    button.addEventListener("click", function () {
      var now = cell.getAttribute("aria-sort");
      var next = now === "ascending" ? "descending" : now === "descending" ? null : "ascending";
      heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
      if (next) { cell.setAttribute("aria-sort", next); }
      bodies.forEach(function (part) {
        var rows = next ? order(part.rows, column, next === "ascending" ? 1 : -1) : part.rows;
        rows.forEach(function (row) { part.body.appendChild(row); });
      });
      say(next ? "Sorted by " + name + ", " + next : "In the order of the page");
    });
  });
}

// A box above a table of many rows, which its page marks; a row stays when it holds every word.
var boxes = 0;
function filterable(scroll) {
  var table = scroll.querySelector("table");
  var rows = list(table.tBodies[0].rows);
  var id = "filter-" + (boxes += 1);
  var bar = make("div", { "class": "filter" });
  var box = make("input", { id: id, type: "search", autocomplete: "off", spellcheck: "false" });
  var count = make("span", { "class": "note" }, rows.length + " rows");
  var label = make("label", { "for": id }, "Filter");
  label.appendChild(make("span", { "class": "sr" }, ": " + (scroll.getAttribute("aria-label") || "table")));
  var texts = null;
  function show() {
    texts = texts || rows.map(function (row) { return row.textContent.toLowerCase(); });
    var wanted = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    var left = 0;
    rows.forEach(function (row, k) {
      var stays = wanted.every(function (word) { return texts[k].indexOf(word) >= 0; });
      row.hidden = !stays;
      left += stays;
    });
    count.textContent = wanted.length ? left + " of " + rows.length + " rows" : rows.length + " rows";
    say(count.textContent);
  }
  box.addEventListener("input", show);
  box.addEventListener("keydown", function (event) {
    if (event.key === "Escape" && box.value) { box.value = ""; show(); event.preventDefault(); }
  });
  table.addEventListener("sparkbench-show", function () { if (box.value) { box.value = ""; show(); } });
  bar.appendChild(label);
  bar.appendChild(box);
  bar.appendChild(count);
  scroll.parentNode.insertBefore(bar, scroll);
}

// Charts. Marks carry their values as their names; here the nearest one is shown in words, by pointer, finger or arrow key.
var REACH = 44;
var SVG = "http://www.w3.org/2000/svg";
function distance(box, x, y) {
  var dx = Math.max(box.left - x, 0, x - box.right);
  var dy = Math.max(box.top - y, 0, y - box.bottom);
  return dx * dx + dy * dy;
}
function readable(box) {
  var charts = [];
  list(box.querySelectorAll("svg.chart")).forEach(function (svg) {
    var marks = [];
    list(svg.querySelectorAll("a[aria-label], g > title, a > title")).forEach(function (found) {
      var element = found.nodeName.toLowerCase() === "title" ? found.parentNode : found;
      var text = element.getAttribute("aria-label") || (found === element ? "" : found.textContent);
      var known = marks.some(function (mark) { return mark.element === element; });
      if (text && !known) { marks.push({ element: element, text: text, link: element.getAttribute("href") }); }
    });
    if (marks.length) { charts.push({ svg: svg, marks: marks }); }
  });
  if (!charts.length) { return; }
  var tip = make("div", { "class": "tip" });
  var said = make("span", {});
  var go = make("a", {}, "Open");
  tip.hidden = true;
  tip.appendChild(said);
  tip.appendChild(go);
  box.appendChild(tip);
  var shown = null;
  var ring = document.createElementNS(SVG, "rect");
  ring.setAttribute("class", "near");

  function hide() {
    tip.hidden = true;
    shown = null;
    if (ring.parentNode) { ring.parentNode.removeChild(ring); }
  }
  // `x` and `y` say where within a wide mark; absent, its middle.
  function show(chart, mark, x, finger) {
    // The browser's own tooltip would say the same once more.
    var title = mark.element.querySelector("title");
    if (title) { title.remove(); }
    shown = mark;
    said.textContent = mark.text;
    go.hidden = !(finger && mark.link);
    if (mark.link) { go.setAttribute("href", mark.link); }
    var outer = box.getBoundingClientRect();
    var inner = mark.element.getBoundingClientRect();
    var scale = chart.svg.viewBox.baseVal.width / chart.svg.getBoundingClientRect().width;
    var bounds = mark.element.getBBox();
    // A round mark's bounds are its reach already; a bar or a row gets a little air.
    var round = Math.abs(bounds.width - bounds.height) < 1 && bounds.width / scale < 60;
    var pad = round ? 0 : 2 * scale;
    var place = { x: bounds.x - pad, y: bounds.y - pad, width: bounds.width + 2 * pad, height: bounds.height + 2 * pad };
    place.rx = round ? bounds.width / 2 : 3 * scale;
    for (var side in place) { ring.setAttribute(side, place[side].toFixed(1)); }
    // A mark that has the focus shows it already.
    if (mark.element !== document.activeElement) { chart.svg.appendChild(ring); }
    else if (ring.parentNode) { ring.parentNode.removeChild(ring); }
    tip.hidden = false;
    var middle = inner.width > 80 && x !== undefined ? x : inner.left + inner.width / 2;
    var left = Math.min(middle - outer.left - tip.offsetWidth / 2, outer.width - tip.offsetWidth);
    // Above the mark unless that is beyond the window's edge.
    var above = inner.top - tip.offsetHeight - 8;
    tip.style.left = Math.max(left, 0) + "px";
    tip.style.top = (above < 0 ? inner.bottom + 8 : above) - outer.top + "px";
  }
  function nearest(chart, x, y) {
    var best = null;
    var least = REACH * REACH;
    chart.marks.forEach(function (mark) {
      var away = distance(mark.element.getBoundingClientRect(), x, y);
      if (away < least) { least = away; best = mark; }
    });
    return best;
  }
  charts.forEach(function (chart) {
    var svg = chart.svg;
    var pending = false;
    svg.addEventListener("pointermove", function (event) {
      if (event.pointerType === "touch" || pending) { return; }
      pending = true;
      requestAnimationFrame(function () {
        pending = false;
        var mark = nearest(chart, event.clientX, event.clientY);
        if (mark && mark !== shown) { show(chart, mark, event.clientX); }
        // Far from every mark; a person on the way to the words themselves is within reach of one.
        else if (!mark && !box.contains(document.activeElement)) { hide(); }
      });
    });
    // A finger has no hovering: the first tap reads, the words then offer the way on, and so does a second tap.
    svg.addEventListener("click", function (event) {
      if (event.pointerType !== "touch") { return; }
      var mark = nearest(chart, event.clientX, event.clientY);
      if (!mark) { hide(); }
      else if (mark !== shown) { event.preventDefault(); show(chart, mark, event.clientX, true); say(mark.text); }
    });
    // Marks that lead somewhere are stops of the Tab key already; a drawing without such marks becomes one stop.
    var linked = chart.marks.filter(function (mark) { return mark.link; });
    if (!linked.length) {
      svg.setAttribute("tabindex", "0");
      svg.setAttribute("aria-keyshortcuts", "ArrowRight ArrowLeft Home End Escape");
    }
    // On the box: a drawing that listens to the focus itself becomes a stop of the Tab key.
    box.addEventListener("focusin", function (event) {
      linked.forEach(function (mark) { if (mark.element === event.target) { show(chart, mark); } });
    });
    svg.addEventListener("keydown", function (event) {
      var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -1e9, End: 1e9 }[event.key];
      if (!step || event.altKey || event.ctrlKey || event.metaKey) { return; }
      var walk = linked.length ? linked : chart.marks;
      var at = walk.indexOf(shown);
      var next = walk[Math.min(Math.max(at + step, 0), walk.length - 1)];
      event.preventDefault();
      if (next.link) { next.element.focus(); }
      show(chart, next);
      if (!next.link) { say(next.text); }
    });
  });
  box.addEventListener("pointerleave", function (event) {
    if (event.pointerType !== "touch" && !box.contains(document.activeElement)) { hide(); }
  });
  box.addEventListener("focusout", function (event) { if (!box.contains(event.relatedTarget)) { hide(); } });
  document.addEventListener("keydown", function (event) { if (event.key === "Escape") { hide(); } });
  document.addEventListener("pointerdown", function (event) { if (!box.contains(event.target)) { hide(); } });
}

// What a link leads to is shown: a folded account unfolds, a row that the filter hid comes back.
function arrive() {
  var target = null;
  try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch (malformed) { return; }
  var hidden = false;
  for (var at = target; at; at = at.parentElement) {
    if (at.nodeName === "DETAILS" && !at.open) { at.open = hidden = true; }
    if (at.hidden) { hidden = true; }
    if (at.nodeName === "TABLE") { at.dispatchEvent(new Event("sparkbench-show")); }
  }
  if (hidden) { target.scrollIntoView(); }
}

// On paper everything is unfolded; afterwards it is as it was.
var unfolded = [];
window.addEventListener("beforeprint", function () {
  list(document.querySelectorAll("details:not([open])")).forEach(function (details) { details.open = true; unfolded.push(details); });
});
window.addEventListener("afterprint", function () {
  unfolded.forEach(function (details) { details.open = false; });
  unfolded = [];
});

document.addEventListener("DOMContentLoaded", function () {
  themes();
  list(document.querySelectorAll("table")).forEach(sortable);
  list(document.querySelectorAll(".many")).forEach(filterable);
  list(document.querySelectorAll(".chart-box")).forEach(readable);
  arrive();
  window.addEventListener("hashchange", arrive);
});

// A browser is content when an edge of what has the focus shows; here it is brought out, whole, from under names that stay.
document.addEventListener("focusin", function (event) {
  var target = event.target;
  if (target.matches(".scroll a") && target.matches(":focus-visible")) {
    target.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
});
}());
