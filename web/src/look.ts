// SPDX-License-Identifier: MIT
// look.ts - the input of every view: the profile, the selection, and the sites that are included in it.

import type { Estimates } from "./data/header";
import type { Profile } from "./data/profile";
import type { Dataset } from "./model/figures/dataset";
import type { Metric } from "./model/figures/metric";
import type { Change, State } from "./state";

export interface Look {
  profile: Profile;
  state: State;
  /** Changes the selection: the URL and every view follow. */
  set: (change: Change) => void;
  dataset: Dataset;
  /** By site of the dataset: 1 if tag, thread, focus and hide include it. */
  included: Uint8Array;
  /** They exclude something. */
  narrowed: boolean;
  /** By site: the value of state.metric; negative for sites before dataset.base; 0 if it is not included. */
  values: Float64Array;
  /** Of all included sites. */
  totals: Estimates;
  /** The metric that was asked for, if another one is shown: some are unknown for a time interval. */
  asked?: Metric;
}

/** The properties of every view. */
export interface ViewProps {
  look: Look;
}
