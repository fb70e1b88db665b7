import { describe, expect, it } from "vitest";
import { accountsOf, WAIVER_KEY } from "../../../test/support/user.js";
import { InvalidOptionsError } from "../errors.js";
import { type NetworkOptions, resolveNetworks } from "./networkOptions.js";

const network = (name: string, changes: Partial<NetworkOptions> = {}): NetworkOptions => ({
  name,
  chainId: 988,
  rpcUrl: "http://127.0.0.1:8545",
  waivers: accountsOf(new Uint8Array(32).fill(name.charCodeAt(0))),
  apiKeys: [],
  ...changes,
});

const resolve = (...networks: NetworkOptions[]) => resolveNetworks({ dataDir: "data", networks });

function problemsOf(...networks: NetworkOptions[]): readonly string[] {
  try {
    resolve(...networks);
  } catch (error) {
    if (error instanceof InvalidOptionsError) return error.problems;
    throw error;
  }
  return [];
}

describe("the place of a network", () => {
  it("is the path of its name, or its hosts alone, and its tables have a schema of its name", () => {
    const [first, second, third] = resolve(
      network("a-1"),
      network("b", { hosts: ["B.example"] }),
      network("c", { hosts: ["c.example"], path: "/", schema: "public" }),
    );
    expect(first).toMatchObject({ path: "/a-1", hosts: [], options: { schema: "gas_waiver_a_1" } });
    expect(second).toMatchObject({
      path: undefined,
      hosts: ["b.example"],
      options: { schema: "gas_waiver_b" },
    });
    expect(third).toMatchObject({ path: "/", hosts: ["c.example"], options: { schema: "public" } });
  });

  it("is every path for a network without a name, which can only be alone and has no other place", () => {
    const { name: _, ...nameless } = network("a");
    const [alone] = resolve(nameless);
    expect(alone).toMatchObject({ name: "", isAlone: true, path: "/", hosts: [] });
    expect(alone?.options).not.toHaveProperty("schema");
    expect(problemsOf({ ...nameless, path: "/a" })).toEqual(["path and hosts are of networks with names"]);
    expect(problemsOf({ ...nameless, rpcUrl: "x" })).toEqual(["rpcUrl is not an http:// or https:// URL"]);
    expect(problemsOf(nameless, network("b"))).toEqual([expect.stringMatching(/name has other characters/)]);
  });

  it.each<[string, Partial<NetworkOptions>, RegExp]>([
    ["Main", {}, /name has other characters/],
    ["a-", {}, /name has other characters/],
    ["v1", {}, /name is a path of the service/],
    ["a", { path: "a" }, /path is not of the form/],
    ["a", { path: "/a/" }, /path is not of the form/],
    ["a", { path: "/../b" }, /path is not of the form/],
    ["a", { path: "/rpc/a" }, /path of the service/],
    ["a", { hosts: ["a.example:8080"] }, /no name of a host/],
    ["a", { schema: "Quoted" }, /schema has other characters/],
    ["a", { schema: "pg_a" }, /schema has other characters/],
  ])("is refused: %s %j", (name, changes, problem) => {
    expect(problemsOf(network(name, changes))).toEqual([expect.stringMatching(problem)]);
  });

  it("is of one network alone, and so is a waiver of a chain", () => {
    const same = { path: "/x", hosts: ["x.example"], schema: "x", waivers: accountsOf(WAIVER_KEY) };
    expect(problemsOf(network("x", same), network("x", same))).toEqual([
      "two networks have the name x",
      "two networks have the path /x",
      "two networks have the host x.example",
      "two networks have the schema x",
      expect.stringMatching(/^two networks have the waiver of a chain 0x[0-9a-f]{40} on 988$/),
    ]);
    expect(
      problemsOf(
        network("a", { ...same, path: "/a" }),
        network("b", { ...same, chainId: 1, hosts: [], schema: "b" }),
      ),
    ).toEqual([]);
  });
});

it("names every problem with its network", () => {
  const problems = problemsOf(
    network("a", { rpcUrl: "ftp://x", maxInFlight: 0 }),
    network("b", { waivers: [] }),
  );
  expect(problems.map((problem) => problem.slice(0, 10))).toEqual(["network a:", "network a:", "network b:"]);
  expect(problemsOf()).toEqual(["networks is empty"]);
});
