// SPDX-License-Identifier: MIT
// look.ts - everything that a view needs to know: the profile, the selection, and the sites that it leaves.

import type { Estimates } from "./data/header";
import type { Profile } from "./data/profile";
import type { Dataset } from "./model/dataset";
import type { Metric } from "./model/metric";
import type { Change, State } from "./state";

export interface Look {
  profile: Profile;
  state: State;
  /** Changes the selection: the URL and every view follow. */
  set: (change: Change) => void;
  dataset: Dataset;
  /** By site of the dataset: 1 where tag, thread, focus and hide leave it in. */
  included: Uint8Array;
  /** Something is left out by them. */
  narrowed: boolean;
  /** By site: the figure of state.metric; negative for what is compared with; 0 where it is left out. */
  values: Float64Array;
  /** Of all that is included. */
  totals: Estimates;
  /** The metric that was asked for, where another is shown: of a stretch of time some are not known. */
  asked?: Metric;
}

/** What every view is called with. */
export interface ViewProps {
  look: Look;
}
