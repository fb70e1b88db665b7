import { privateKeyAccount } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { InvalidOptionsError } from "../errors.js";
import { DEFAULTS, type ServerOptions } from "./options.js";
import { resolveOptions } from "./reloadableOptions.js";

const GOOD: ServerOptions = {
  chainId: 2201,
  rpcUrl: "http://127.0.0.1:8545",
  waivers: [privateKeyAccount(new Uint8Array(32).fill(7))],
  apiKeys: ["gw_test_a_secret-word-of-a-good-length"],
  allowedTargets: [],
  dataDir: "/somewhere",
};

function problemsOf(changes: Partial<Record<keyof ServerOptions, unknown>>): readonly string[] {
  try {
    resolveOptions({ ...GOOD, ...changes } as ServerOptions);
  } catch (error) {
    if (error instanceof InvalidOptionsError) return error.problems;
    throw error;
  }
  return [];
}

describe("the options of the service", () => {
  it("have the documented defaults (D22), also where undefined is given", () => {
    const { rpcUrl, ...others } = GOOD;
    expect(resolveOptions(GOOD)).toEqual({
      ...others,
      rpcUrls: [rpcUrl],
      policySource: "config",
      ...DEFAULTS,
    });
    const unset = { ...GOOD, maxBatchSize: undefined, leaseMs: undefined } as unknown as ServerOptions;
    expect(resolveOptions(unset)).toEqual(resolveOptions(GOOD));
    expect(DEFAULTS).toMatchObject({
      maxBatchSize: 100,
      maxBodyBytes: 32 * 1024 * 1024,
      ratePerSecond: 100,
      rateBurst: 200,
      queueCapacity: 10_000,
      keyQueueShare: 0.5,
      requestTimeoutMs: 30_000,
      nonceGapTimeoutMs: 10_000,
    });
  });

  it.each([
    ["rpcUrl", "ftp://node", /rpcUrl/],
    ["rpcUrl", "node:8545", /rpcUrl/],
    ["rpcUrl", "", /rpcUrl/],
    ["waivers", [], /is empty/],
    ["waivers", [GOOD.waivers[0], GOOD.waivers[0]], /same key twice/],
    ["waivers", [{ address: new Uint8Array(19), sign: GOOD.waivers[0]?.sign }], /waivers\[0\]/],
    ["waivers", [GOOD.waivers[0]?.address], /waivers\[0\]/],
    ["apiKeys", [`gwp_${"5f3a9c1e7b2d8046af19c3e57d80b264"}`], /apiKeys\[0\] is a publishable key/],
    ["apiKeys", ["short"], /apiKeys\[0\] has 5 characters; 32 random ones are needed/],
    ["publicApiKeys", ["short"], /publicApiKeys\[0\]/],
    ["apiKeys", ["gw_test_a_secret-word-of-a-good-length", "with space in it"], /apiKeys\[1\]/],
    ["dataDir", undefined, /neither/],
    ["databaseUrl", "mysql://db", /databaseUrl/],
    ["databaseUrl", "postgres://user@one:5432,two:5432/db?target_session_attrs=read-write", /several hosts/],
    ["databaseUrl", "postgres://one,two/db", /several hosts/],
    ["newChain", "perhaps", /newChain/],
    ["corsOrigins", ["*", "https://app.example.com/"], /corsOrigins\[1\]/],
    ["policySource", "contract", /policySource is "contract"/],
    ["allowedTargets", [{ address: "*", selectors: [] }], /allowedTargets\[0\] are an empty list/],
    ["policySource", "registry", /allowedTargets would not be used/],
    ["chainId", 0, /chainId/],
    ["chainId", Number.NaN, /chainId/],
    ["maxBatchSize", 0, /maxBatchSize/],
    ["maxBatchSize", 1.5, /maxBatchSize/],
    ["maxBodyBytes", 1, /maxBodyBytes/],
    ["ratePerSecond", 0, /ratePerSecond/],
    ["rateBurst", 99, /never pass/],
    ["queueCapacity", -1, /queueCapacity/],
    ["keyQueueShare", 0, /keyQueueShare/],
    ["keyQueueShare", 1.1, /keyQueueShare/],
    ["requestTimeoutMs", Number.POSITIVE_INFINITY, /requestTimeoutMs/],
    ["maxGasLimit", 20_999n, /maxGasLimit/],
    ["verificationGas", -1n, /verificationGas/],
    ["innerEncoding", "list", /innerEncoding is "list"; it can be envelope or rlp/],
    ["newChain", ["adopt"], /newChain is \["adopt"\]; it can be refuse or adopt/],
    ["gatewayPaid", 1n, /gatewayPaid is 1; it can be pass or refuse/],
    ["leaseMs", 299, /leaseMs/],
  ] as const)("%s = %s is a problem of its own", (name, value, problem) => {
    const problems = problemsOf({ [name]: value });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(problem);
  });

  it("keep the longest calldata within the largest wrapper, unless it is given", () => {
    expect(resolveOptions(GOOD)).toMatchObject({ maxWrapperBytes: 131_072, maxDataLength: 130_786 });
    const higher = { ...GOOD, maxWrapperBytes: 1_048_576 };
    expect(resolveOptions(higher)).toMatchObject({ maxDataLength: 1_048_576 - 286 });
    expect(resolveOptions({ ...higher, maxDataLength: 68 })).toMatchObject({ maxDataLength: 68 });
  });

  it("take the policies from the registry unless targets are configured", () => {
    const { allowedTargets, ...others } = GOOD;
    expect(resolveOptions(others).policySource).toBe("registry");
    expect(resolveOptions({ ...GOOD, policySource: "both" })).toMatchObject({
      policySource: "both",
      allowedTargets,
    });
    for (const policySource of ["config", "both"] as const) {
      expect(() => resolveOptions({ ...others, policySource })).toThrow("there are no allowedTargets");
    }
  });

  it("are refused with all problems at once, and no secret in any", () => {
    const problems = problemsOf({
      rpcUrl: "nowhere",
      waivers: [new Uint8Array(31).fill(0xab)],
      apiKeys: ["geheim words", "kurz"],
      databaseUrl: "mysql://user:passwort@db/x",
      maxBatchSize: -1,
      leaseMs: 0,
    });
    expect(problems.length).toBeGreaterThanOrEqual(7);
    for (const secret of ["abab", "171", "geheim", "kurz", "passwort"]) {
      expect(problems.join("\n")).not.toContain(secret);
    }
  });

  it("do not say the password or path of a node's URL", () => {
    const problems = problemsOf({ rpcUrl: "ws://user:passwort@node/geheim?key=geheim" }).join("\n");
    expect(problems).toContain("rpcUrl");
    expect(problems).not.toMatch(/passwort|geheim/);
  });
});
