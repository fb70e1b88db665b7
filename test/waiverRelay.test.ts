// Sending with a waiver of one's own, through nodes that fail and kills of the program: each payment is made once.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileJournal } from "@gas-waiver/client/node";
import {
  openWaiverRelay,
  privateKeyAccount,
  type RelayCall,
  type WaiverRelay,
  type WaiverRelayOptions,
} from "@gas-waiver/client/self-hosted";
import { accountsOf, createDevnet, type Devnet } from "@gas-waiver/devnet";
import { hexToBytes } from "@gas-waiver/protocol";
import { type JsonRpcProvider, toBeHex } from "ethers";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { deferred } from "../packages/server/test/support/deferred.js";
import { freshFolder } from "./support/freshFolder.js";
import { NodeProxy } from "./support/nodeProxy.js";
import { SeededRandom } from "./support/seededRandom.js";
import { account, CHAIN_ID, connect, TOKEN, tokensOf, transferData, transferOf } from "./support/user.js";

const [, waiver] = accountsOf("waiver");
const WAIVER_KEY = hexToBytes(waiver?.privateKey ?? "0x");
const DEAD = "0x000000000000000000000000000000000000dEaD";

let devnet: Devnet;
let rpcUrl: string;
let chain: JsonRpcProvider;
let proxy: NodeProxy;
beforeAll(async () => {
  devnet = await createDevnet({ blockTimeMs: 100 });
  ({ url: rpcUrl } = await devnet.listen({ port: 0 }));
  chain = connect(rpcUrl);
  proxy = await NodeProxy.inFrontOf(rpcUrl);
});
afterAll(async () => {
  chain?.destroy();
  await proxy?.close();
  await devnet?.close();
});

const open = (options: Partial<WaiverRelayOptions> = {}): Promise<WaiverRelay> =>
  openWaiverRelay({
    ...{ rpcUrls: [rpcUrl], chainId: CHAIN_ID, waiver: privateKeyAccount(WAIVER_KEY), wait: "included" },
    ...options,
  });

const keyOf = (i: number) => ({ privateKey: account(i).privateKey as Hex });
let recipients = 0;
/** Transfers of one token each, to recipients of their own. */
function payments(count: number): (RelayCall & { readonly recipient: Hex })[] {
  return Array.from({ length: count }, () => {
    const recipient = toBeHex(BigInt(0x5000_0000 + recipients++), 20) as Hex;
    const data = transferData(recipient, 1n) as Hex;
    return { to: TOKEN as Hex, data, recipient, idempotencyKey: `payment of ${recipient}` };
  });
}

const balances = (calls: readonly { readonly recipient: Hex }[]) =>
  Promise.all(calls.map(({ recipient }) => tokensOf(chain, recipient)));

describe("a relay of one's own waiver", () => {
  it("sends a call, and a transaction that the user has signed, once however often it gets it", async () => {
    const relay = await open();
    const [one, two] = payments(2);
    const { txHash } = await relay.send(keyOf(0), one as RelayCall);
    expect(await chain.getTransactionReceipt(txHash)).toMatchObject({ status: 1, gasPrice: 0n });
    const nonce = await chain.getTransactionCount(account(0).address);
    const signed = await account(0).signTransaction(transferOf(two?.recipient ?? DEAD, 1n, nonce));
    const hashes = await Promise.all([relay.relay(signed), relay.relay(signed)]);
    expect(hashes[0]).toEqual(hashes[1]);
    expect(await relay.relay(signed)).toEqual(hashes[0]);
    expect(await chain.getTransactionCount(account(0).address)).toBe(nonce + 1);
    await relay.close();
  });

  it("names the missing nonce of a transaction that waits for it, where the call's time ends first", async () => {
    const relay = await open({ timeoutMs: 3_000 });
    const nonce = await chain.getTransactionCount(account(0).address);
    const ahead = await account(0).signTransaction(transferOf(DEAD, 1n, nonce + 2));
    const gap = {
      reason: "NONCE_GAP",
      inDoubt: [],
      message: expect.stringContaining(`nonce ${nonce + 1} is`),
    };
    await expect(relay.relay(ahead)).rejects.toMatchObject(gap);
    await relay.close();
  });

  it("takes accounts of viem as waiver and as user", async () => {
    const relay = await open({ waiver: privateKeyToAccount(waiver?.privateKey ?? "0x") });
    const [call] = payments(1);
    await relay.send(privateKeyToAccount(account(0).privateKey as Hex), call as RelayCall);
    expect(await balances(call ? [call] : [])).toEqual([1n]);
    await relay.close();
  });

  it("gives a batch consecutive nonces, and one result for each call", async () => {
    const relay = await open({ allowedTargets: [{ address: TOKEN as Hex }], maxDataLength: 100 });
    const [first, last] = payments(2);
    const batch = [
      first as RelayCall,
      { to: DEAD, gas: 21_000n } as const,
      { to: TOKEN as Hex, gas: 10_000_001n },
      { to: TOKEN as Hex, data: `0x${"00".repeat(101)}` } as const,
      last as RelayCall,
    ];
    const before = await chain.getTransactionCount(account(1).address);
    const results = await relay.sendBatch(keyOf(1), batch);
    expect(results.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
    expect(results.map((one) => (one.success ? "sent" : `${one.error.code} ${one.error.reason}`))).toEqual([
      "sent",
      "TARGET_NOT_ALLOWED TARGET_NOT_ALLOWED",
      "GAS_LIMIT_EXCEEDED GAS_LIMIT_TOO_HIGH",
      "DATA_TOO_LARGE DATA_TOO_LONG",
      "sent",
    ]);
    expect(await chain.getTransactionCount(account(1).address)).toBe(before + 2);
    await relay.close();
  });

  it("gives a batch its results also where a call's arguments or a signer fail", async () => {
    const relay = await open();
    const [first, last] = payments(2) as [RelayCall & { recipient: Hex }, RelayCall & { recipient: Hex }];
    const results = await relay.sendBatch(keyOf(1), [first, { to: "alice.eth" as Hex }, last]);
    expect(results).toMatchObject([
      { index: 0, success: true },
      {
        index: 1,
        success: false,
        error: { code: "INVALID_TRANSACTION", message: expect.stringContaining("alice.eth") },
      },
      { index: 2, success: true },
    ]);
    expect(await balances([first, last])).toEqual([1n, 1n]);
    const locked = {
      address: account(1).address as Hex,
      sign: () => Promise.reject(new Error("it is locked")),
    };
    const refused = { success: false, error: { code: "BROADCAST_FAILED", message: "it is locked" } };
    expect(await relay.sendBatch(locked, payments(2))).toMatchObject([refused, refused]);
    await relay.close();
  });

  it("says of a call that its end leaves open that it may run, and of one that comes later that it does not", async () => {
    const path = join(freshFolder(), "relay.journal");
    const calls = payments(1) as [RelayCall & { recipient: Hex }];
    const relay = await open({ journal: fileJournal(path) });
    await chain.send("devnet_stopMining", []);
    const waiting = relay.send(keyOf(2), calls[0]).catch((error: unknown) => error);
    await vi.waitFor(
      async () => expect(Number((await chain.send("txpool_status", [])).pending)).toBe(1),
      10_000,
    );
    const nonce = await chain.getTransactionCount(account(2).address);
    await relay.close();
    const leftOpen = { code: "TIMEOUT", inDoubt: [{ txHash: expect.any(String) }] };
    expect(await waiting).toMatchObject({
      ...leftOpen,
      message: expect.stringContaining("the relay is closed"),
    });
    const later = await account(2).signTransaction(transferOf(DEAD, 1n, nonce + 1));
    const refusal = { code: "BROADCAST_FAILED", message: "the relay is closed", inDoubt: [] };
    await expect(relay.relay(later)).rejects.toMatchObject(refusal);
    await chain.send("devnet_resumeMining", []);
    const again = await open({ journal: fileJournal(path) });
    await again.send(keyOf(2), calls[0]);
    expect(await balances(calls)).toEqual([1n]);
    await again.close();
  });

  it.each(["the call's time", "the relay"])(
    "keeps nothing of a call of which it said that it was not sent, where %s ended while its wrapper was signed",
    async (ended) => {
      const path = join(freshFolder(), "relay.journal");
      const [first, second] = payments(2) as RelayCall[] as [RelayCall, RelayCall];
      const quick = privateKeyAccount(WAIVER_KEY);
      const [begun, signing] = [deferred<void>(), deferred<void>()];
      const sign = async (hash: Uint8Array) => {
        begun.resolve();
        await signing.promise;
        return await quick.sign(hash);
      };
      const timeoutMs = ended === "the relay" ? 60_000 : 3_000;
      const relay = await open({ journal: fileJournal(path), waiver: { ...quick, sign }, timeoutMs });
      const told = relay.send(keyOf(4), first).catch((error: unknown) => error);
      await begun.promise;
      const closing = ended === "the relay" ? relay.close() : undefined;
      expect(await told).toMatchObject({ code: "BROADCAST_FAILED", inDoubt: [] });
      signing.resolve();
      if (closing === undefined) await relay.send(keyOf(4), second);
      await (closing ?? relay.close());
      const accepted = readFileSync(path, "utf8").match(/"inner":/g) ?? [];
      expect(accepted).toHaveLength(closing ? 0 : 1);
    },
  );

  it("refuses another call, or another user, under the name of a payment, which itself goes on", async () => {
    const file = fileJournal(join(freshFolder(), "journal"));
    const both = payments(2);
    const [call, other] = both as never as [RelayCall, RelayCall];
    const again = { ...call, to: TOKEN.toLowerCase() as Hex, gas: 200_000n };
    const refused = { success: false, error: { reason: "IDEMPOTENCY_KEY_REUSED" } };
    const paid: unknown[] = [];
    // With and without the first call still under way, and from the journal.
    for (const _ of ["new", "opened again"]) {
      const relay = await open({ journal: file });
      const first = relay.send(keyOf(2), call);
      const batch = [
        again,
        { ...call, data: other.data },
        { ...call, value: 1n },
        { ...call, to: DEAD } as const,
      ];
      const results = await relay.sendBatch(keyOf(2), batch);
      expect(results).toMatchObject([{ success: true, ...(await first) }, refused, refused, refused]);
      const { txHash } = await first;
      const strange = relay.send(keyOf(3), call);
      await expect(strange).rejects.toMatchObject({ inDoubt: [], message: expect.stringContaining(txHash) });
      paid.push(txHash, await relay.send(keyOf(2), call).then((sent) => sent.txHash));
      await relay.close();
    }
    expect(new Set(paid).size).toBe(1);
    expect(await balances(both)).toEqual([1n, 0n]);
  });

  it("names each fault of signed bytes by the code of the public library", async () => {
    const relay = await open();
    const sign = (changes: object) => account(2).signTransaction({ ...transferOf(DEAD, 1n, 0), ...changes });
    const results = await relay.relayBatch([
      "0x00",
      await sign({ chainId: 1 }),
      await sign({ gasPrice: 1 }),
      await sign({
        type: 4,
        gasPrice: null,
        maxFeePerGas: 0,
        maxPriorityFeePerGas: 0,
        authorizationList: [],
      }),
      await sign({ to: null, data: "0x00" }),
    ]);
    expect(results.map((one) => (one.success ? "sent" : one.error.code))).toEqual([
      "INVALID_TRANSACTION",
      "WRONG_CHAIN_ID",
      "NON_ZERO_GAS_PRICE",
      "UNSUPPORTED_TX_TYPE",
      "INVALID_TRANSACTION",
    ]);
    await relay.close();
  });

  it("goes on behind a transaction that the chain refuses", async () => {
    const relay = await open();
    const [first, last] = payments(2);
    const batch = [first as RelayCall, { to: DEAD, gas: 30_000n } as const, last as RelayCall];
    const [one, two, three] = await relay.sendBatch(keyOf(2), batch);
    expect([one?.success, three?.success]).toEqual([true, true]);
    expect(two).toMatchObject({ error: { code: "TARGET_NOT_ALLOWED", reason: "TARGET_NOT_ALLOWED" } });
    await relay.close();
  }, 60_000);

  it("asks the next endpoint where the first one does not answer", async () => {
    const relay = await open({ rpcUrls: ["http://127.0.0.1:1", rpcUrl] });
    const [call] = payments(1);
    await relay.send(keyOf(3), call as RelayCall);
    expect(await balances(call ? [call] : [])).toEqual([1n]);
    await relay.close();
  });

  it("leaves nothing to be sent later of a transaction that no node could be told of", async () => {
    const calls = payments(1) as [RelayCall & { recipient: Hex }];
    proxy.decide = (text) => (text.includes("eth_blockNumber") ? { status: 503, body: "" } : "pass");
    const impatient = await open({ rpcUrls: [proxy.url], timeoutMs: 200 });
    const failure = { name: "WaiverRelayError", reason: "NOT_BROADCAST", inDoubt: [] };
    await expect(impatient.send(keyOf(3), calls[0])).rejects.toMatchObject(failure);
    await impatient.close();
    const relay = await open();
    await relay.send(keyOf(3), calls[0]);
    expect(await balances(calls)).toEqual([1n]);
    await relay.close();
  });

  it("has the bytes of a transaction in doubt, and goes on with them", async () => {
    const calls = payments(1) as [RelayCall & { recipient: Hex }];
    const journal = fileJournal(join(freshFolder(), "relay.journal"));
    const impatient = await open({ rpcUrls: [proxy.url], timeoutMs: 200, journal });
    proxy.decide = (text) => (text.includes("eth_sendRaw") ? "dropResponse" : "pass");
    let error: { code?: string; inDoubt?: { signed: string; txHash: string }[] } = {};
    // On a slow machine the time is over before anything is sent.
    while (error.code !== "TIMEOUT") error = await impatient.send(keyOf(4), calls[0]).catch((one) => one);
    await impatient.close();
    const relay = await open({ journal });
    const [{ signed, txHash } = { signed: "", txHash: "" }] = error.inDoubt ?? [];
    expect(await relay.relay(signed)).toEqual({ txHash });
    expect(await relay.send(keyOf(4), calls[0])).toEqual({ txHash });
    expect(await balances(calls)).toEqual([1n]);
    await relay.close();
  });

  it("tells what became of one whose nonce the user used in another way, and pays all behind it", async () => {
    const relay = await open();
    const { rpc } = { rpc: (method: string, ...params: unknown[]) => chain.send(method, params) };
    const nonce = await chain.getTransactionCount(account(5).address);
    await rpc("devnet_stopMining");
    const calls = payments(3);
    const lost = { ...(calls[0] as RelayCall), nonce };
    const waiting = [relay.send(keyOf(5), lost), ...calls.slice(1).map((call) => relay.send(keyOf(6), call))];
    const settled = Promise.allSettled(waiting);
    await vi.waitFor(async () => {
      const pool = await rpc("txpool_status");
      expect(Number(pool.pending)).toBeGreaterThanOrEqual(3);
    }, 10_000);
    await rpc("devnet_evictPool");
    await rpc("hardhat_setNonce", account(5).address, toBeHex(nonce + 1));
    await rpc("devnet_resumeMining");
    const [first, ...others] = await settled;
    expect(first).toMatchObject({ status: "rejected", reason: { reason: "NONCE_TOO_LOW", inDoubt: [] } });
    expect(others.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
    expect(await balances(calls)).toEqual([0n, 1n, 1n]);
    await relay.close();
  }, 60_000);
});

describe("the journal", () => {
  it("is of one waiver on one chain, and is refused when it is damaged", async () => {
    const path = join(freshFolder(), "relay.journal");
    const relay = await open({ journal: fileJournal(path) });
    await relay.send(keyOf(7), payments(1)[0] as RelayCall);
    await relay.close();
    const other = { privateKey: account(12).privateKey as Hex };
    await expect(open({ journal: fileJournal(path), waiver: other })).rejects.toThrow(
      "the journal is of waiver",
    );
    const text = readFileSync(path, "utf8");
    const reading = (read: string) => ({
      read: async () => read,
      begin: async () => undefined,
      append: async () => undefined,
    });
    const damaged = text.replace('{"inner":"0xf8', '{"inner":"0xzz');
    await expect(open({ journal: reading(damaged) })).rejects.toThrow("line 2 of the journal is damaged");
    await expect(open({ journal: reading("{}\n") })).rejects.toThrow("not a journal of a relay");
  });

  it("that cannot be written ends all calls, and nothing is sent", async () => {
    const full = new Error("no space left on the device");
    const journal = {
      read: async () => undefined,
      begin: async () => undefined,
      append: () => Promise.reject(full),
    };
    const relay = await open({ journal });
    const calls = payments(2);
    const unpaid = { success: false, error: { message: expect.stringContaining(full.message) } };
    expect(await relay.sendBatch(keyOf(7), calls)).toMatchObject([unpaid, unpaid]);
    expect(await balances(calls)).toEqual([0n, 0n]);
    await relay.close();
  });

  it("has a failure before the call is told of it: a later relay would send the bytes", async () => {
    let text: string | undefined;
    const journal = {
      read: async () => text,
      async begin(begun: string) {
        text = begun;
      },
      async append(lines: string) {
        text += lines;
      },
    };
    const refused = { jsonrpc: "2.0", error: { code: -32_000, message: "insufficient funds for transfer" } };
    proxy.decide = (asked) => {
      if (!asked.includes("eth_sendRaw")) return "pass";
      const calls = [JSON.parse(asked)].flat();
      const replies = calls.map(({ id }) => ({ ...refused, id }));
      const body = JSON.stringify(asked.startsWith("[") ? replies : replies[0]);
      return { status: 200, body };
    };
    const [call] = payments(1) as [RelayCall & { recipient: Hex }];
    const { idempotencyKey: _, ...unnamed } = call;
    const relay = await open({ rpcUrls: [proxy.url], journal });
    const told = await relay.send(keyOf(9), unnamed).catch((error: unknown) => error);
    const atThatMoment = String(text);
    expect(told).toMatchObject({ reason: "INSUFFICIENT_BALANCE", inDoubt: [] });
    await relay.close();
    text = atThatMoment;
    const later = await open({ journal });
    // Once another is paid behind it, the entries of the journal were dealt with.
    await later.send(keyOf(7), payments(1)[0] as RelayCall);
    expect(await balances([call])).toEqual([0n]);
    await later.close();
  });

  it("is of the relay that has opened it last: one before it signs and sends nothing more", async () => {
    const path = join(freshFolder(), "relay.journal");
    const [first, second] = payments(2) as [RelayCall & { recipient: Hex }, RelayCall & { recipient: Hex }];
    const before = await open({ journal: fileJournal(path) });
    await before.send(keyOf(7), first);
    const after = await open({ journal: fileJournal(path) });
    const fenced = {
      code: "TIMEOUT",
      message: expect.stringContaining(`another program has begun ${path} anew`),
    };
    await expect(before.send(keyOf(7), second)).rejects.toMatchObject(fenced);
    await Promise.all([after.send(keyOf(7), first), after.send(keyOf(7), second)]);
    expect(await balances([first, second])).toEqual([1n, 1n]);
    await Promise.all([before.close(), after.close()]);
  });
});

/** The ways in which the network between a program and a node spoils one request. */
const MISFORTUNES = [
  "reset",
  "dropResponse",
  { status: 502, body: "bad gateway" },
  { status: 200, body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"no backend"}}' },
] as const;

it("pays each of a batch once through lost requests and answers", async () => {
  const random = new SeededRandom("relay", 1);
  proxy.decide = (text) =>
    random.chance(text.includes("eth_sendRaw") ? 0.5 : 0.1) ? random.pick(MISFORTUNES) : "pass";
  const fetchSoon: typeof fetch = (input, init) =>
    fetch(input, {
      ...init,
      signal: AbortSignal.any([AbortSignal.timeout(200), ...(init?.signal ? [init.signal] : [])]),
    });
  const relay = await open({ rpcUrls: [proxy.url, proxy.url], fetch: fetchSoon, maxBatchSize: 7 });
  const calls = payments(60);
  const results = await relay.sendBatch(keyOf(8), calls);
  expect(results.filter(({ success }) => !success)).toEqual([]);
  expect(new Set(await balances(calls))).toEqual(new Set([1n]));
  await relay.close();
}, 120_000);
