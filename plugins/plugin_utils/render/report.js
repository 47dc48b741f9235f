/* Copyright (c) 2026 Fleetproof maintainers
 * GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 * Sorting and filtering of nodes, and opening what a link points at. The page is complete without it. */
(function () {
  "use strict";
  var each = function (list, act) { Array.prototype.forEach.call(list, act); };
  var table = document.getElementById("grid-table");
  var worst = ["rejected", "fail", "incomplete", "need", "accepted_with_warnings", "warn", "unknown", "not_run", "info", "accepted", "passed", "not_applicable", "blank"];

  /* Of a large fleet the details of nodes and most rows are text until they are needed: then they are read as the page they are. */
  var parsed = function (held) { return new DOMParser().parseFromString(held.textContent, "text/html").body; };
  var unfold = function (item) {
    each(item.querySelectorAll("noscript"), function (held) {
      var from = parsed(held);
      var all = document.createDocumentFragment();
      while (from.firstChild) { all.appendChild(document.adoptNode(from.firstChild)); }
      held.parentNode.replaceChild(all, held);
    });
  };
  document.addEventListener("toggle", function (event) {
    if (event.target.open && event.target.classList.contains("node")) { unfold(event.target); }
  }, true);

  if (table) {
    var body = table.tBodies[0];
    var heads = table.tHead.rows[0].cells;
    var rows = null;
    var order = null;
    /* A table of thousands of rows takes a browser seconds to lay out: the others are shown on request. */
    var most = Number(table.getAttribute("data-most"));
    var complete = function () {
      if (rows) { return; }
      var held = document.getElementById("grid-rest");
      if (held) {
        var all = document.createDocumentFragment();
        each(parsed(held).querySelectorAll("tbody > tr"), function (row) {
          row.hidden = true;
          all.appendChild(document.adoptNode(row));
        });
        body.appendChild(all);
        held.parentNode.removeChild(held);
      }
      rows = Array.prototype.slice.call(body.rows);
      order = rows.map(function (row, place) { return place; });
      say(rows.length);
    };
    var key = function (row, column) {
      var cell = row.cells[column];
      var rank = worst.indexOf(cell.className);
      return rank >= 0 ? rank : cell.textContent;
    };
    var say = function (shown) {
      var text = shown === rows.length ? "" : shown + " of " + rows.length + " nodes match";
      said.textContent = shown <= most ? text : (text || shown + " nodes") + ", the first " + most + " have a row here";
      more.hidden = shown <= most;
    };
    each(heads, function (head, column) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.textContent = "";
      head.appendChild(button);
      button.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending";
        complete();
        each(heads, function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var compare = new Intl.Collator("en", {numeric: true}).compare;
        var keyed = rows.map(function (row, place) { return [key(row, column), place]; });
        keyed.sort(function (a, b) {
          var order = typeof a[0] === "number" && typeof b[0] === "number" ? a[0] - b[0] : compare(String(a[0]), String(b[0]));
          return (down ? -order : order) || a[1] - b[1];
        });
        order = keyed.map(function (item) { return item[1]; });
        var all = document.createDocumentFragment();
        order.forEach(function (place) { all.appendChild(rows[place]); });
        filter();
        body.appendChild(all);
      });
    });

    var tools = document.getElementById("grid-tools");
    var text = document.getElementById("grid-text");
    var said = document.getElementById("grid-said");
    var chosen = [document.getElementById("grid-cohort"), document.getElementById("grid-rule")];
    var details = document.querySelectorAll("details.node");
    var cards = document.querySelectorAll("#wrong .finding");
    var boxes = tools.querySelectorAll("input[type=checkbox]");
    var more = document.getElementById("grid-more");
    var words = null;
    var links = null;
    /* Once, when first asked: the row and all that the node's detail says. */
    var prepare = function () {
      complete();
      words = rows.map(function (row, place) { return (row.textContent + " " + details[place].textContent.replace(/<[^>]*>/g, " ")).toLowerCase(); });
      links = Array.prototype.map.call(cards, function (card) {
        return Array.prototype.map.call(card.querySelectorAll("a[href^='#node-']"), function (link) { return link.getAttribute("href"); });
      });
    };
    var filter = function () {
      if (!words) { prepare(); }
      var wanted = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      var cohort = chosen[0] ? chosen[0].value.trim().replace(/\s+/g, " ") : "";
      var rule = chosen[1] ? chosen[1].value : "";
      var verdicts = {};
      var names = {};
      var shown = 0;
      each(boxes, function (box) { verdicts[box.value] = box.checked; });
      order.forEach(function (place) {
        var row = rows[place];
        var keep = verdicts[row.cells[1].className] !== false && wanted.every(function (word) { return words[place].indexOf(word) >= 0; });
        keep = keep && (!cohort || row.cells[row.cells.length - 1].textContent.trim().replace(/\s+/g, " ") === cohort);
        keep = keep && (!rule || (" " + (row.getAttribute("data-r") || "") + " ").indexOf(" " + rule + " ") >= 0);
        if (keep) {
          names[row.cells[0].firstChild.getAttribute("href")] = true;
          shown += 1;
        }
        row.hidden = !keep || shown > most;
        details[place].hidden = !keep;
      });
      /* A finding stays while one of its nodes does. */
      each(cards, function (card, place) {
        card.hidden = shown !== rows.length && !links[place].some(function (link) { return names[link]; });
      });
      say(shown);
    };
    more.addEventListener("click", function () {
      most = Infinity;
      filter();
    });
    tools.hidden = false;
    text.addEventListener("input", filter);
    each(chosen, function (box) { if (box) { box.addEventListener("change", filter); } });
    each(boxes, function (box) { box.addEventListener("change", filter); });
    document.getElementById("grid-clear").addEventListener("click", function () {
      text.value = "";
      each(chosen, function (box) { if (box) { box.value = ""; } });
      each(boxes, function (box) { box.checked = true; });
      filter();
    });
    window.addEventListener("load", function () { (window.requestIdleCallback || window.setTimeout)(complete); });
  }

  var open = function () {
    var name = location.hash.slice(1);
    var target = name && document.getElementById(name);
    for (var item = target; item; item = item.parentElement) {
      if (item.tagName === "DETAILS") {
        unfold(item);
        item.open = true;
      }
    }
    if (target) {
      if (target.closest("[hidden]")) { document.getElementById("grid-clear").click(); }
      target.scrollIntoView();
    }
  };
  window.addEventListener("hashchange", open);
  open();

  /* On paper: what needs attention is open; all of it while the fleet is small. */
  window.addEventListener("beforeprint", function () {
    var all = document.querySelectorAll("details.node");
    each(all, function (item) {
      if (all.length <= 40 || !item.classList.contains("accepted")) {
        unfold(item);
        item.open = true;
      }
    });
    each(document.querySelectorAll("#wrong details"), function (item) { item.open = true; });
  });
})();
