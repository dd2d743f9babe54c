// SPDX-License-Identifier: MIT
// figures.mjs - how figures on the page must read, computed from `plimsoll export --format json`.
//
// This follows src/analysis/figure.c and uses none of the page's code, so a test fails where the two disagree.

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB"].map((suffix, i) => [1024 ** i, ` ${suffix}`]);
const COUNTS = [
  [1, ""],
  [1e6, " M"],
  [1e9, " G"],
];

/** The metrics: word of --metric -> [member of the export, unit]. */
export const METRICS = {
  live: ["inuse_space", BYTES],
  allocated: ["alloc_space", BYTES],
  calls: ["alloc_objects", COUNTS],
  peak: ["peak_space", BYTES],
  temporary: ["temp_objects", COUNTS],
  blocks: ["inuse_objects", COUNTS],
  "peak-blocks": ["peak_objects", COUNTS],
};

export function key(metric) {
  return METRICS[metric][0];
}

function scaleOf(scales, value) {
  return scales.findLast(([one], i) => i === 0 || Math.abs(value) >= one * 0.9995);
}

/** Like printf: toFixed() rounds 41.25 up. Only numbers that are exact in binary lie in the middle. */
function halfToEven(value, decimals) {
  const scaled = value * 10 ** decimals;
  const below = Math.floor(scaled);
  const rounded = scaled - below === 0.5 ? (below + Math.abs(below % 2)) / 10 ** decimals : value;
  return rounded.toFixed(decimals);
}

function print([one, suffix], value) {
  const shown = value / one;
  const decimals = one === 1 || Math.abs(shown) >= 99.95 ? 0 : Math.abs(shown) >= 0.95 || shown === 0 ? 1 : 2;
  return halfToEven(shown, decimals).replace(/\B(?=(\d{3})+$)/g, ",") + suffix;
}

/** 12.4 MiB; 1.03 M */
export function figure(metric, value) {
  const scales = METRICS[metric][1];
  return print(scaleOf(scales, value), value);
}

/** ± 0.3 MiB, in the unit of the value; "" if it is exact */
export function errorOf(metric, { value, error }) {
  if (!(error > 0)) return "";
  return `± ${print(scaleOf(METRICS[metric][1], value), error)}`;
}

/** Sums of all metrics over sites; in a difference, sites of the first profile count negatively. */
export function sums(exported, wanted = () => true) {
  const base = exported.extent.base_sites;
  const totals = Object.fromEntries(Object.values(METRICS).map(([member]) => [member, 0]));
  exported.sites.forEach((site, number) => {
    if (!wanted(site, exported)) return;
    for (const member of Object.keys(totals)) totals[member] += (number < base ? -1 : 1) * site[member].value;
  });
  return totals;
}

/** Names of the functions of a site's stack, innermost first. */
export function functionsOf(site, exported) {
  return site.stack === null ? [] : exported.stacks[site.stack].map((frame) => exported.frames[frame].function);
}

/** Sums of a metric over sites, grouped by `group(site)`. */
export function sumsBy(exported, metric, group) {
  const found = new Map();
  for (const site of exported.sites) {
    const name = group(site);
    found.set(name, (found.get(name) ?? 0) + site[key(metric)].value);
  }
  return found;
}
