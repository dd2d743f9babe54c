// SPDX-License-Identifier: MIT
// figures.mjs - what figures on the page must say, from the numbers of `plimsoll export --format json`.
//
// Written from src/analysis/figure.c, not from the page's own code: where the two disagree, a test fails.

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

function print([one, suffix], value) {
  const shown = value / one;
  const decimals = one === 1 || Math.abs(shown) >= 99.95 ? 0 : Math.abs(shown) >= 0.95 || shown === 0 ? 1 : 2;
  return shown.toFixed(decimals).replace(/\B(?=(\d{3})+$)/g, ",") + suffix;
}

/** 12.4 MiB; 1.03 M */
export function figure(metric, value) {
  const scales = METRICS[metric][1];
  return print(scaleOf(scales, value), value);
}

/** ± 0.3 MiB, in the unit of its value, or nothing */
export function errorOf(metric, { value, error }) {
  if (!(error > 0)) return "";
  return `± ${print(scaleOf(METRICS[metric][1], value), error)}`;
}

/** Metrics of all sites together; what a difference is compared with counts negatively. */
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

/** Sums of a metric by what `group` says of a site. */
export function sumsBy(exported, metric, group) {
  const found = new Map();
  for (const site of exported.sites) {
    const name = group(site);
    found.set(name, (found.get(name) ?? 0) + site[key(metric)].value);
  }
  return found;
}
