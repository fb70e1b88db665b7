import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { freshFolder } from "./support/freshFolder.js";
import { Program } from "./support/program.js";

const SECRET = "the-secret-of-a-variable";

describe("the process of a service", () => {
  it("opens no inspector at SIGUSR1, and hands no variable of its own to PostgreSQL", async () => {
    const dataDir = freshFolder();
    const flags = ["--no-demo", "--port", "0", "--rpc-port", "0", "--data-dir", dataDir];
    const program = Program.gasWaiver(["dev", ...flags], { GAS_WAIVER_KEYS: SECRET, DATABASE_URL: SECRET });
    const { url } = await program.ready();
    program.signal("SIGUSR1");
    const lock = readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8");
    const environment = readFileSync(`/proc/${lock.split("\n")[0]}/environ`, "utf8");
    expect(environment).toContain("LC_ALL=C");
    expect(environment).not.toContain(SECRET);
    expect((await fetch(`${url}/v1/health`)).status).toBe(200);
    expect(await program.end()).toEqual({ status: 0, signal: null });
    expect(program.stderr).not.toMatch(/debugger/i);
  });
});
