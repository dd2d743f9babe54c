// SPDX-License-Identifier: MIT
// served.mjs - `plimsoll view`: serves the same page, and updates it while a program runs.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { key, sums } from "./figures.mjs";
import { near } from "./sight.mjs";

const ROUND_BYTES = 100 * 1024;

/** Starts grow.c under `plimsoll run`. grow() makes it allocate, and returns when it has. */
async function start(sight) {
  const profile = path.join(sight.plan.directory, `grow-${process.pid}-${performance.now()}.plim`);
  const words = ["run", "--exact", "-o", profile, "--", sight.plan.grow];
  const program = spawn(sight.plan.plimsoll, words, { stdio: ["pipe", "pipe", "ignore"] });
  let said = "";
  let answered = () => {};
  program.stdout.on("data", (part) => {
    said += part;
    answered();
  });
  const ended = new Promise((resolve) => program.on("exit", resolve));
  sight.atEnd(() => {
    program.kill();
    return ended;
  });
  const grow = async (rounds) => {
    const wanted = said.split("\n").length + rounds;
    program.stdin.write("\n".repeat(rounds));
    while (said.split("\n").length < wanted) await new Promise((resolve) => (answered = resolve));
  };
  await grow(10);
  return {
    grow,
    end: () => {
      program.stdin.end();
      return ended;
    },
    pid: () => childOf(program.pid),
  };
}

/** The process that `plimsoll run` has started. */
async function childOf(pid) {
  const { readFileSync } = await import("node:fs");
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  assert.match(children[0], /^\d+$/, "plimsoll run has no child");
  return children[0];
}

export const claims = {
  "view serves the same page as html": async (sight) => {
    const address = await sight.serve(sight.plan.profiles.leaky.profile);
    assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/[^/]{16,}\/$/);
    const view = await sight.visit(address, { hash: "metric=allocated" });
    near(await view.total(), sums(sight.exported("leaky"))[key("allocated")], "allocated");
    const alone = await sight.open("leaky", { hash: "metric=allocated" });
    assert.deepEqual(await view.boxes(), await alone.boxes());
    assert.equal(await view.text(".strip"), await alone.text(".strip"));
  },

  "while a program runs, figures and charts follow it": async (sight) => {
    const program = await start(sight);
    const view = await sight.visit(await sight.serve(await program.pid()), { hash: "metric=live" });
    const first = await view.total();
    assert.ok(first >= 10 * ROUND_BYTES, `${first}`);
    const before = await view.text('.strip [data-metric="live"]');
    await program.grow(20);
    const later = await view.until(view.total, (total) => total >= first + 20 * ROUND_BYTES, "a larger total");
    assert.equal(later - first, 20 * ROUND_BYTES);
    assert.notEqual(await view.text('.strip [data-metric="live"]'), before);
  },

  "Freeze stops updates until it is released": async (sight) => {
    const program = await start(sight);
    const view = await sight.visit(await sight.serve(await program.pid()), { hash: "metric=live" });
    const first = await view.total();
    await view.page.locator("#freeze").click();
    await program.grow(10);
    await view.page.waitForTimeout(2500); // longer than two polls take
    assert.equal(await view.total(), first);
    await view.page.locator("#freeze").click();
    await view.becomes(view.total, first + 10 * ROUND_BYTES, "all that was allocated while it was frozen");
  },

  "updates keep the zoom, the focus and the tab": async (sight) => {
    const program = await start(sight);
    const view = await sight.visit(await sight.serve(await program.pid()), { hash: "metric=live&tab=functions" });
    const box = await view.box("keep_more");
    await view.page.locator("#flame").click({ position: { x: box.x + box.width / 2, y: box.y + box.height / 2 } });
    await view.page.fill("#search", "keep");
    const { zoom } = await view.until(view.graph, ({ matches }) => Number(matches) > 0, "matches");
    await view.page.locator("#search").focus();
    const first = await view.total();
    await program.grow(5);
    await view.until(view.total, (total) => total > first, "a larger total");
    assert.equal((await view.graph()).zoom, zoom);
    assert.equal(await view.page.evaluate(() => document.activeElement.id), "search");
    await view.page.locator("#tab-functions[aria-selected=true]").waitFor();
  },

  "when the program ends, the page says so and shows its last figures": async (sight) => {
    const program = await start(sight);
    const view = await sight.visit(await sight.serve(await program.pid()), { hash: "metric=live" });
    await view.page.locator("#freeze").waitFor();
    await program.grow(3);
    await program.end();
    await view.page.locator("#freeze").waitFor({ state: "detached" });
    assert.ok((await view.total()) >= 13 * ROUND_BYTES);
    assert.equal(await view.text("#ended"), "Ended: exited 0");
  },
};
