// SPDX-License-Identifier: MIT
// patience.mjs - how many milliseconds tests wait for something to happen: patience.py says more.

import fs from "node:fs";

const HEADER = new URL("patience.h", import.meta.url);
export const PATIENCE_MS = 1000 * Number(/#define PATIENCE_S (\d+)/.exec(fs.readFileSync(HEADER, "utf8"))[1]);
