// deploy/systemd: what the unit names is there, and systemd reads it without a complaint, where systemd is installed.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { STATUS } from "../../packages/cli/src/exitStatus.js";
import { SERVE_SETTINGS } from "../../packages/cli/src/serve/serveSettings.js";
import { freshFolder } from "../support/freshFolder.js";
import { root } from "../support/program.js";

const unit = readFileSync(join(root, "deploy", "systemd", "gas-waiver.service"), "utf8");
const valuesOf = (key: string) =>
  Array.from(unit.matchAll(new RegExp(`^${key}=(.+)$`, "gm")), ([, value = ""]) => value);
const [start = ""] = valuesOf("ExecStart");
const INSTALLED = "/opt/gas-waiver/";

/** The unit with the programs of this machine, since systemd looks for them. */
function unitHere(): string {
  const file = join(freshFolder(), "gas-waiver.service");
  const [, script = ""] = start.split(" ");
  const here = start
    .replace("/usr/bin/node", process.execPath)
    .replace(script, join(root, script.slice(INSTALLED.length)));
  writeFileSync(file, unit.replace(start, here));
  return file;
}

const version = Number(
  /\d+/.exec(spawnSync("systemd-analyze", ["--version"], { encoding: "utf8" }).stdout ?? "")?.[0] ?? 0,
);

describe("gas-waiver.service", () => {
  it("starts a program that an installation has, with settings that the service knows", () => {
    const [, script = "", command] = start.split(" ");
    expect(existsSync(join(root, script.slice(INSTALLED.length)))).toBe(true);
    expect(command).toBe("serve");
    const known = Object.values(SERVE_SETTINGS).map((setting) => ("env" in setting ? setting.env : ""));
    const given = valuesOf("Environment").map((pair) => pair.split("=", 2));
    expect(given.map(([name]) => name).filter((name) => !known.includes(name as never))).toEqual([]);
    const credentials = valuesOf("LoadCredential").map((pair) => `%d/${pair.split(":", 1)[0]}`);
    expect(
      given
        .map(([, value]) => value)
        .filter((value) => value?.startsWith("%d/"))
        .sort(),
    ).toEqual(credentials.sort());
  });

  it("is not started again for settings that are wrong", () => {
    expect(valuesOf("RestartPreventExitStatus")).toEqual([String(STATUS.usage)]);
  });

  it("waits longer for the end than the service takes: the delay, and 5 s", () => {
    const delay = /GAS_WAIVER_SHUTDOWN_DELAY=(\d+)/.exec(unit)?.[1];
    expect(Number(valuesOf("TimeoutStopSec")[0])).toBeGreaterThan(Number(delay) / 1_000 + 5);
  });

  // 250 is the first version that knows `%d`.
  it.runIf(version >= 250)("is read by systemd without a complaint, and leaves the service little", () => {
    const file = unitHere();
    const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
    expect({ status, output: `${stdout}${stderr}` }).toEqual({ status: 0, output: "" });
    const report = execFileSync("systemd-analyze", ["security", "--offline=true", "--threshold=20", file], {
      encoding: "utf8",
    });
    expect(report).toContain("OK");
  });
});
