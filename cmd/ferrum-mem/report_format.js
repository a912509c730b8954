"use strict";
// Formats sizes and times in the way of the tables.
(function () {
  var unit = document.documentElement.dataset.timeUnit;

  // Two digits, ties to even like those of the tables.
  function hundredths(n) {
    var whole = Math.floor(n);
    var rest = n - whole;
    if (rest > 0.5 || (rest === 0.5 && whole % 2 === 1)) {
      whole++;
    }
    return (whole / 100).toFixed(2);
  }

  function bytes(n) {
    var units = [["TiB", 40], ["GiB", 30], ["MiB", 20], ["KiB", 10]];
    for (var i = 0; i < units.length; i++) {
      var size = Math.pow(2, units[i][1]);
      if (n >= size && (i > 0 || n >= 10 * size)) {
        return hundredths(100 * n / size) + " " + units[i][0];
      }
    }
    return n + " B";
  }

  function time(t) {
    if (unit !== "ns") {
      return String(t);
    }
    var s = t / 1e9;
    if (s < 60) {
      return s.toFixed(3) + " s";
    }
    var whole = Math.round(s);
    var text = Math.floor(whole / 60) % 60 + " min " + whole % 60 + " s";
    return whole >= 3600 ? Math.floor(whole / 3600) + " h " + text : text;
  }

  window.ferrumFormat = { bytes: bytes, time: time };
})();
