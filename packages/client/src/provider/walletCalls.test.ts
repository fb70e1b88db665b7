import { describe, expect, it } from "vitest";
import { createConnection } from "../http/connection.js";
import { type BundleStorage, createCallBundles } from "./callBundles.js";
import type { Eip1193Provider } from "./eip1193.js";
import { createWalletCalls } from "./walletCalls.js";

const ALICE = `0x${"a1".repeat(20)}`;
const TOKEN = `0x${"7c".repeat(20)}`;
const CHAIN = "0x899";
const CALLS = [
  { to: TOKEN, data: "0x01" },
  { to: TOKEN, data: "0x02", value: "0x0" },
];
const REQUEST = { version: "2.0.0", chainId: CHAIN, atomicRequired: false, calls: CALLS };

/** A wallet that gives out the hashes 0x1, 0x2, …, a chain with some of their receipts, and a service with the records. */
class Scene {
  readonly sent: object[] = [];
  /** The statuses of the transactions that are in a block. */
  readonly included: Record<string, string> = {};
  readonly failed = new Set<string>();
  /** The position of the call that the wallet does not send. */
  refused = -1;
  /** The error with which the wallet answers that call. */
  refusal: object = Object.assign(new Error("the user says no"), { code: 4001 });
  /** The wallet asks the user until this resolves. */
  question: Promise<void> = Promise.resolve();
  readonly storage: BundleStorage = {
    getItem: () => this.#stored,
    setItem: (_, value) => {
      this.#stored = value;
    },
  };
  #stored: string | null = null;

  /** The methods as one page has them; a second call is a reload of the page. */
  page() {
    const methods = createWalletCalls({
      wallet: this.#wallet,
      chainId: CHAIN,
      bundles: createCallBundles(this.storage),
      connection: createConnection({ url: "https://relay.example.com", apiKey: "gwp_k", fetch: this.#fetch }),
      send: async (call) => {
        await this.question;
        if (this.sent.length === this.refused) throw this.refusal;
        return `0x${this.sent.push(call)}`;
      },
    });
    return async (method: string, ...params: unknown[]) =>
      (await methods.get(`wallet_${method}`)?.(params)) as Record<string, unknown>;
  }

  readonly #wallet: Eip1193Provider = {
    request: async ({ method, params }) => {
      if (method === "eth_accounts") return [ALICE];
      const [hash] = params as [string];
      const status = this.included[hash];
      const logs = [{ address: TOKEN, data: "0x", topics: ["0x7"], logIndex: "0x0" }];
      const block = { blockHash: "0xb", blockNumber: "0x1", gasUsed: "0x5208" };
      return status === undefined ? null : { status, logs, ...block, transactionHash: hash, from: ALICE };
    },
  };

  readonly #fetch: typeof fetch = async (url) => {
    const txHash = String(url).split("/").at(-1) ?? "";
    const error = { code: "BROADCAST_FAILED", reason: "NONCE_TOO_LOW", message: "the nonce is used" };
    const record = {
      ...{ id: "019e", txHash, sender: ALICE, nonce: "0", target: TOKEN, certainty: "broadcast" },
      ...(this.failed.has(txHash) ? { state: "failed", error } : { state: "broadcast" }),
      acceptedAt: "2030-01-01T00:00:00.000Z",
    };
    return new Response(JSON.stringify(record));
  };
}

describe("wallet_sendCalls", () => {
  it("has the wallet send each call in their order, from the account that is connected", async () => {
    const scene = new Scene();
    const { id } = await scene.page()("sendCalls", REQUEST);
    expect(id).toMatch(/^0x[0-9a-f]{64}$/);
    expect(scene.sent).toEqual(CALLS.map((call) => ({ ...call, from: ALICE })));
  });

  it("keeps the page's own id, and takes it once only", async () => {
    const scene = new Scene();
    const request = scene.page();
    expect(await request("sendCalls", { ...REQUEST, id: "order 5" })).toEqual({ id: "order 5" });
    const again = scene.page()("sendCalls", { ...REQUEST, id: "order 5" });
    await expect(again).rejects.toMatchObject({ code: 5720 });
    expect(scene.sent).toHaveLength(2);
  });

  const capabilities = { auxiliaryFunds: { requiredAssets: [] } };
  it.each([
    [5760, "calls that must be atomic", { atomicRequired: true }],
    [5700, "a capability", { capabilities }],
    [5700, "a capability of one call", { calls: [{ ...CALLS[0], capabilities }] }],
    [5710, "another chain", { chainId: "0x1" }],
    [5740, "more calls than anybody confirms", { calls: Array(101).fill(CALLS[0]) }],
    [4100, "an account that is not connected", { from: TOKEN }],
    [-32602, "no calls", { calls: [] }],
    [-32602, "a chain id with leading zeros", { chainId: "0x0899" }],
    [-32602, "an amount that is no quantity", { calls: [{ ...CALLS[0], value: 5 }] }],
    [-32602, "an id of more than 4096 bytes", { id: "0".repeat(8195) }],
  ])("refuses with %i %s, before the user is asked", async (code, _, changed) => {
    const scene = new Scene();
    await expect(scene.page()("sendCalls", { ...REQUEST, ...changed })).rejects.toMatchObject({ code });
    expect(scene.sent).toEqual([]);
  });

  it("ignores a capability that is marked as optional", async () => {
    const optional = { auxiliaryFunds: { ...capabilities.auxiliaryFunds, optional: true } };
    const scene = new Scene();
    await scene.page()("sendCalls", { ...REQUEST, capabilities: optional });
    expect(scene.sent).toHaveLength(2);
  });

  it("takes a paymaster service as met, of the request and of a call (ERC-7677): the gas is waived", async () => {
    const paymasterService = { url: "https://paymaster.example" };
    const scene = new Scene();
    const calls = CALLS.map((call) => ({ ...call, capabilities: { paymasterService } }));
    await scene.page()("sendCalls", { ...REQUEST, calls, capabilities: { paymasterService } });
    expect(scene.sent).toHaveLength(2);
  });

  it("throws the user's refusal of the first call, and the id is free again", async () => {
    const scene = Object.assign(new Scene(), { refused: 0 });
    const request = scene.page();
    await expect(request("sendCalls", { ...REQUEST, id: "a" })).rejects.toMatchObject({ code: 4001 });
    await expect(request("getCallsStatus", "a")).rejects.toMatchObject({ code: 5730 });
    scene.refused = -1;
    expect(await request("sendCalls", { ...REQUEST, id: "a" })).toEqual({ id: "a" });
  });
});

describe("wallet_getCallsStatus", () => {
  const sentBundle = async (scene = new Scene()) => {
    await scene.page()("sendCalls", { ...REQUEST, id: "a" });
    // The page has been loaded again since.
    return { scene, status: () => scene.page()("getCallsStatus", "a") };
  };

  it("is 100 until each call is in a block, then 200 with the receipts, and not atomic", async () => {
    const { scene, status } = await sentBundle();
    const common = { version: "2.0.0", id: "a", chainId: CHAIN, atomic: false };
    expect(await status()).toEqual({ ...common, status: 100 });
    scene.included["0x1"] = "0x1";
    const receipt = (transactionHash: string) => ({
      ...{ status: "0x1", transactionHash, blockHash: "0xb", blockNumber: "0x1", gasUsed: "0x5208" },
      logs: [{ address: TOKEN, data: "0x", topics: ["0x7"] }],
    });
    expect(await status()).toEqual({ ...common, status: 100, receipts: [receipt("0x1")] });
    scene.included["0x2"] = "0x1";
    expect(await status()).toEqual({ ...common, status: 200, receipts: [receipt("0x1"), receipt("0x2")] });
  });

  it("is 400 if no call came to a block, with the reasons of the records", async () => {
    const { scene, status } = await sentBundle();
    scene.failed.add("0x1").add("0x2");
    const failure = { reason: "NONCE_TOO_LOW", message: "the nonce is used" };
    const failures = [0, 1].map((call) => ({ call, ...failure }));
    expect(await status()).toMatchObject({ status: 400, capabilities: { gasWaiver: { failures } } });
    expect(await status()).not.toHaveProperty("receipts");
  });

  it.each([
    [500, "all calls reverted", { "0x1": "0x0", "0x2": "0x0" }],
    [500, "one reverted and the other failed", { "0x1": "0x0" }],
    [600, "one of two reverted", { "0x1": "0x1", "0x2": "0x0" }],
    [600, "one of two failed", { "0x2": "0x1" }],
  ])("is %i if %s", async (code, _, included) => {
    const { scene, status } = await sentBundle();
    Object.assign(scene.included, included);
    scene.failed.add("0x1").add("0x2");
    expect(await status()).toMatchObject({ status: code });
  });

  it("is 600 if the user has refused a later call, which is not sent", async () => {
    const { scene, status } = await sentBundle(Object.assign(new Scene(), { refused: 1 }));
    expect(scene.sent).toHaveLength(1);
    expect(await status()).toMatchObject({ status: 100 });
    scene.included["0x1"] = "0x1";
    const failures = [{ call: 1, reason: "NOT_SENT", message: "the user says no" }];
    expect(await status()).toMatchObject({ status: 600, capabilities: { gasWaiver: { failures } } });
  });

  it("tells the service's reason why a later call was not sent", async () => {
    const data = { reason: "TARGET_NOT_ALLOWED" };
    const refusal = { code: -32003, message: "transaction rejected: not this target", data };
    const { scene, status } = await sentBundle(Object.assign(new Scene(), { refused: 1, refusal }));
    scene.included["0x1"] = "0x1";
    const failures = [{ call: 1, ...data, message: "not this target" }];
    expect(await status()).toMatchObject({ status: 600, capabilities: { gasWaiver: { failures } } });
  });

  it("is 100 while the user is asked for the next call", async () => {
    let answer = () => {};
    const question = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const scene = Object.assign(new Scene(), { question });
    const request = scene.page();
    const sent = request("sendCalls", { ...REQUEST, id: "a" });
    await expect.poll(() => request("getCallsStatus", "a")).toEqual(expect.objectContaining({ status: 100 }));
    answer();
    await sent;
    Object.assign(scene.included, { "0x1": "0x1", "0x2": "0x1" });
    expect(await request("getCallsStatus", "a")).toMatchObject({ status: 200 });
  });

  it("knows no id of another page, and shows none", async () => {
    const request = new Scene().page();
    await expect(request("getCallsStatus", "toString")).rejects.toMatchObject({ code: 5730 });
    await expect(request("showCallsStatus", "0x5")).rejects.toMatchObject({ code: 5730 });
    await request("sendCalls", { ...REQUEST, id: "a" });
    await expect(request("showCallsStatus", "a")).rejects.toMatchObject({ code: 4200 });
  });
});

describe("wallet_getCapabilities", () => {
  it("says for the gasless chain alone that calls are not atomic, and that a paymaster is met", async () => {
    const request = new Scene().page();
    const ours = { [CHAIN]: { atomic: { status: "unsupported" }, paymasterService: { supported: true } } };
    expect(await request("getCapabilities", ALICE)).toEqual(ours);
    expect(await request("getCapabilities", ALICE.toUpperCase().replace("X", "x"), ["0x1", CHAIN])).toEqual(
      ours,
    );
    expect(await request("getCapabilities", ALICE, ["0x1"])).toEqual({});
    await expect(request("getCapabilities", TOKEN)).rejects.toMatchObject({ code: 4100 });
  });
});

describe("the bundles of a page", () => {
  it("are forgotten after a day", () => {
    const { storage } = new Scene();
    const day = 24 * 60 * 60 * 1000;
    const bundles = createCallBundles(storage);
    bundles.write("old", { calls: 1, hashes: ["0x1"], at: Date.now() - day });
    bundles.write("new", { calls: 1, hashes: ["0x2"], at: Date.now() });
    expect([bundles.read("old"), bundles.read("new")?.hashes]).toEqual([undefined, ["0x2"]]);
  });

  it.each(["not ours", '{"theirs":null}', "null"])(
    "last as long as the page where its storage is full, or holds something else: %s",
    (text) => {
      const full: BundleStorage = {
        getItem: () => text,
        setItem: () => {
          throw new Error("the quota is used up");
        },
      };
      const bundles = createCallBundles(full);
      bundles.write("a", { calls: 1, hashes: [], at: Date.now() });
      expect(bundles.read("a")).toMatchObject({ calls: 1 });
      bundles.delete("a");
      expect(bundles.read("a")).toBeUndefined();
    },
  );
});
