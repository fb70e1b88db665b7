import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { accountsOf, createDevnet, type Devnet } from "@gas-waiver/devnet";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "../run.js";

let devnet: Devnet;
let url: string;
beforeAll(async () => {
  devnet = await createDevnet({ blockTimeMs: 0 });
  ({ url } = await devnet.listen({ port: 0 }));
});
afterAll(() => devnet.close());

const [waiver] = accountsOf("waiver");

/** Runs `gas-waiver node check` to its end. */
async function check(...argv: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const status = await run(["node", "check", ...argv], {
    env: {},
    signal: new AbortController().signal,
    print: (line) => out.push(line),
    printError: (line) => err.push(line),
    write: async () => {},
  });
  return { status, out: out.join("\n"), err: err.join("\n") };
}

describe("gas-waiver node check", () => {
  it("shows the findings of each node for people, and succeeds where serve would start", async () => {
    const waivers = waiver?.address ?? "";
    const { status, out, err } = await check("--rpc-url", url, "--rpc-url", url, "--waivers", waivers);
    expect({ status, err }).toEqual({ status: 0, err: "" });
    expect(out).toContain(`node 1 ${url}`);
    expect(out).toMatch(/ {2}ok {10}chain {7}chain 2201/);
    expect(out).toMatch(/not proven {2}lookups .*\n +whether the node finds.*\n +to do: check/);
    expect(out).toMatch(/all nodes\n {2}ok {10}waivers {5}0x\w{40} is registered/);
    expect(out).toMatch(/gas-waiver serve would start: 0 warning\(s\), 2 not proven$/);
  });

  it("fails where serve would refuse to start, and names it in JSON for programs", async () => {
    const { status, out, err } = await check("--rpc-url", url, "--chain-id", "988", "--json");
    expect({ status, err }).toEqual({
      status: 1,
      err: "gas-waiver: the nodes are not as the service needs them",
    });
    const { starts, findings } = JSON.parse(out);
    expect(starts).toBe(false);
    expect(findings).toMatchObject([
      { check: "answers", verdict: "ok" },
      {
        check: "chain",
        verdict: "refuses",
        found: "chain 2201",
        remedy: expect.stringContaining("--chain-id"),
      },
    ]);
  });

  it("checks the nodes of each network of a file", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "gas-waiver-test-")), "gas-waiver.yaml");
    const keys = "waiver-kms: alias/none";
    const network = (name: string, id: number) =>
      `  - {name: ${name}, chain-id: ${id}, rpc-url: "${url}", ${keys}}\n`;
    writeFileSync(file, `networks:\n${network("here", 2201)}${network("other", 988)}`);
    const { status, out } = await check("--config", file);
    expect(status).toBe(1);
    expect(out).toMatch(
      /^network here\nnode 1 .*\n {2}ok +answers[\s\S]*\nnetwork other\nnode 1 [\s\S]*refuses +chain +chain 2201/,
    );
    expect(out).toMatch(/gas-waiver serve would refuse to start: 1 reason\(s\)/);
    const { findings } = JSON.parse((await check("--config", file, "--json")).out);
    expect(findings).toContainEqual(expect.objectContaining({ network: "other", verdict: "refuses" }));
    expect(await check("--config", file, "--chain-id", "988")).toMatchObject({ status: 2 });
    rmSync(dirname(file), { recursive: true });
  });

  it("refuses a node URL that is invalid or missing", async () => {
    expect(await check("--rpc-url", "ftp://node")).toMatchObject({ status: 2 });
    expect(await check()).toMatchObject({ status: 2, err: expect.stringContaining("--rpc-url") });
  });
});
