import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { dataFolder } from "./support/dataFolder.js";
import { Program } from "./support/program.js";

const SECRET = "the-secret-of-a-variable";
const KEY = "gwp_dev_local";

/** Shows the key to the gateway in all the ways in which a log could come to have it. @returns the statuses. */
async function showKey(url: string): Promise<number[]> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_getBalance", params: [] });
  const post = {
    method: "POST",
    body,
    headers: { "content-type": "application/json", referer: `/rpc/${KEY}` },
  };
  const answers = [
    await fetch(`${url}/rpc/${KEY}`, post),
    await fetch(`${url}/rpc/${KEY}`, { ...post, body: "{" }),
    await fetch(`${url}/rpc/${KEY}1`, post),
    await fetch(`${url}/rpc/${KEY}/x?key=${KEY}`, post),
    await fetch(`${url}/rpc/${KEY}`),
  ];
  return answers.map(({ status }) => status);
}

describe("the process of a service", () => {
  it("opens no inspector at SIGUSR1, hands no variable to PostgreSQL, and logs no publishable key", async () => {
    const dataDir = await dataFolder();
    const ports = ["--port", "0", "--rpc-port", "0"];
    const flags = ["--no-demo", "--log-level", "trace", "--data-dir", dataDir, ...ports];
    const program = Program.gasWaiver(["dev", ...flags], { GAS_WAIVER_KEYS: SECRET, DATABASE_URL: SECRET });
    const { url } = await program.ready();
    program.signal("SIGUSR1");
    const lock = readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8");
    const environment = readFileSync(`/proc/${lock.split("\n")[0]}/environ`, "utf8");
    expect(environment).toContain("LC_ALL=C");
    expect(environment).not.toContain(SECRET);
    expect((await fetch(`${url}/v1/health`)).status).toBe(200);
    expect(await showKey(url)).toEqual([200, 200, 401, 404, 426]);
    for (const path of [`/rpc/${KEY}`, `/rpc/${KEY}1`]) {
      const socket = new WebSocket(`${url.replace("http", "ws")}${path}`);
      socket.on("error", () => {});
      socket.once("open", () => socket.terminate());
      await new Promise((resolve) => socket.once("close", resolve));
    }
    expect(await program.end()).toEqual({ status: 0, signal: null });
    expect(program.stderr).not.toMatch(/debugger/i);
    expect(program.stderr).toContain("an authentication failed");
    expect(program.stderr).not.toContain(KEY);
  });
});
