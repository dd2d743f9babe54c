// SPDX-License-Identifier: MIT
// overview.tsx - what there is to know before looking at anything: headline figures, what stands out, what was lost,
// and what this profile is of.

import "./overview.css";

export { Facts } from "./facts";
export { Findings } from "./findings";
export { Losses } from "./losses";
export { Strip } from "./strip";
