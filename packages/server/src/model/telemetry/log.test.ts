// Where the log goes may be full, or read by nobody: the service goes on, and what still fits comes later.
import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

/** Logs more than a pipe holds, and says so; logs a last line when standard input ends. */
const LOGS_MUCH = `
  const { createLog } = await import("./dist/model/telemetry/log.js");
  const log = createLog("info");
  for (let i = 0; i < 400; i++) log.info({ i, text: "x".repeat(1000) }, "a line");
  log.fatal("the worst");
  console.log("goes on");
  for await (const _ of process.stdin);
  log.info("the last");`;

function start(stderr: "pipe" | number) {
  const cwd = fileURLToPath(new URL("../../..", import.meta.url));
  const child = spawn(process.execPath, ["--input-type=module", "-e", LOGS_MUCH], {
    ...{ cwd, stdio: ["pipe", "pipe", stderr] },
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const text = async (stream: AsyncIterable<Buffer> | null, onText: (all: string) => void = () => {}) => {
    let all = "";
    for await (const part of stream ?? []) {
      all += part;
      onText(all);
    }
    return all;
  };
  return { child, ended, text };
}

it("holds up nothing while nobody reads it, and is read afterwards", async () => {
  const { child, ended, text } = start("pipe");
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  const log = text(child.stderr, (all) => all.includes("the worst") && child.stdin?.end());
  expect(await ended).toBe(0);
  const lines = (await log)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).msg);
  expect(lines).toEqual([...Array(400).fill("a line"), "the worst", "the last"]);
});

it.runIf(existsSync("/dev/full"))("ends nothing where its disk is full", async () => {
  const full = openSync("/dev/full", "w");
  const { child, ended, text } = start(full);
  closeSync(full);
  child.stdin?.end();
  expect(await text(child.stdout)).toBe("goes on\n");
  expect(await ended).toBe(0);
});
