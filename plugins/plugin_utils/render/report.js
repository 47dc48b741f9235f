/* Copyright (c) 2026 Fleetproof maintainers
 * GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 * Sorting and filtering of the grid, and opening what a link points at. The page is complete without it. */
(function () {
  "use strict";
  var table = document.getElementById("grid-table");
  var worst = ["rejected", "fail", "incomplete", "need", "accepted_with_warnings", "warn", "unknown", "not_run", "info", "accepted", "passed", "not_applicable", "blank"];
  if (table) {
    var body = table.tBodies[0];
    var rows = Array.prototype.slice.call(body.rows);
    var first = rows.slice();
    var heads = table.tHead.rows[0].cells;
    var key = function (row, column) {
      var cell = row.cells[column];
      var rank = worst.indexOf(cell.className);
      return rank >= 0 ? rank : cell.textContent;
    };
    Array.prototype.forEach.call(heads, function (head, column) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.textContent = "";
      head.appendChild(button);
      button.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending";
        Array.prototype.forEach.call(heads, function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var keyed = first.map(function (row, place) { return [key(row, column), place, row]; });
        keyed.sort(function (a, b) {
          var order = typeof a[0] === "number" && typeof b[0] === "number" ? a[0] - b[0] : String(a[0]).localeCompare(String(b[0]), "en", {numeric: true});
          return (down ? -order : order) || a[1] - b[1];
        });
        var all = document.createDocumentFragment();
        keyed.forEach(function (item) { all.appendChild(item[2]); });
        body.appendChild(all);
      });
    });

    var tools = document.getElementById("grid-tools");
    var text = document.getElementById("grid-text");
    var said = document.getElementById("grid-said");
    var boxes = tools.querySelectorAll("input[type=checkbox]");
    var words = rows.map(function (row) { return row.textContent.toLowerCase(); });
    var filter = function () {
      var wanted = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      var verdicts = {};
      Array.prototype.forEach.call(boxes, function (box) { verdicts[box.value] = box.checked; });
      var shown = 0;
      rows.forEach(function (row, place) {
        var keep = verdicts[row.cells[1].className] !== false && wanted.every(function (word) { return words[place].indexOf(word) >= 0; });
        row.hidden = !keep;
        shown += keep ? 1 : 0;
      });
      said.textContent = shown === rows.length ? "" : shown + " of " + rows.length + " nodes shown";
    };
    tools.hidden = false;
    text.addEventListener("input", filter);
    Array.prototype.forEach.call(boxes, function (box) { box.addEventListener("change", filter); });
    filter();
  }

  var open = function () {
    var name = location.hash.slice(1);
    var target = name && document.getElementById(name);
    for (var item = target; item; item = item.parentElement) {
      if (item.tagName === "DETAILS") { item.open = true; }
    }
    if (target) { target.scrollIntoView(); }
  };
  window.addEventListener("hashchange", open);
  open();

  /* On paper: what needs attention is open; all of it while the fleet is small. */
  window.addEventListener("beforeprint", function () {
    var all = document.querySelectorAll("details.node");
    Array.prototype.forEach.call(all, function (item) {
      if (all.length <= 40 || !item.classList.contains("accepted")) { item.open = true; }
    });
    Array.prototype.forEach.call(document.querySelectorAll("#wrong details"), function (item) { item.open = true; });
  });
})();
