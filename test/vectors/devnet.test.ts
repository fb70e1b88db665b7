// Runs every case of the vector file on a devnet, over JSON-RPC and in blocks.
import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import type { VectorCase } from "./case.js";
import type { VectorFile } from "./generate.js";
import { VectorNode } from "./vectorNode.js";

const path = new URL("../../packages/protocol/vectors/wrappers.json", import.meta.url);
const { cases }: VectorFile = JSON.parse(readFileSync(path, "utf8"));

type Verdict = VectorCase["expect"]["verdict"];
type With<V extends Verdict> = VectorCase & {
  readonly expect: Extract<VectorCase["expect"], { verdict: V }>;
};
const refused = cases.filter((one): one is With<"refused"> => one.expect.verdict === "refused");
const included = cases.filter((one): one is With<"included"> => one.expect.verdict === "included");
const gaps = refused.filter(({ expect: { reason } }) => reason.endsWith("NONCE_GAP"));

/** A refusal changes no state, so cases with the same state share a node. */
const shared = new Map<string, Promise<VectorNode>>();
function nodeOf(vector: VectorCase): Promise<VectorNode> {
  const key = JSON.stringify([vector.registry, vector.accounts]);
  const node = shared.get(key) ?? VectorNode.create(vector, { pool: "strict" });
  shared.set(key, node);
  return node;
}
afterAll(async () => {
  for (const node of shared.values()) await (await node).close();
});

async function stateRoot(node: VectorNode): Promise<string> {
  return (await node.rpc<{ stateRoot: string }>("eth_getBlockByNumber", "latest", false)).stateRoot;
}

/** The reason and values of the node's refusal; undefined if it accepts the wrapper. */
async function refusalOf(node: VectorNode, wrapper: string): Promise<Record<string, unknown> | undefined> {
  try {
    await node.rpc("eth_sendRawTransaction", wrapper);
    return undefined;
  } catch (error) {
    const { reason, values } = error as { reason?: string; values?: object };
    return { reason, ...values };
  }
}

describe("a refused vector changes no state and uses no nonce on the devnet (D7)", () => {
  it.each(refused)("$expect.check, $expect.reason: $name", async (vector) => {
    const node = await nodeOf(vector);
    const before = await stateRoot(node);
    const { check, reason, cause } = vector.expect;
    const refusal = await refusalOf(node, vector.wrapper);
    expect(refusal).toMatchObject({ reason, check, ...(cause === undefined ? {} : { cause }) });
    await node.mine();
    expect(await stateRoot(node)).toBe(before);
  });
});

describe("a queued pool holds a wrapper with a nonce gap, and puts it into no block", () => {
  it.each(gaps)("$expect.reason: $name", async (vector) => {
    const node = await VectorNode.create(vector, { pool: "queued" });
    try {
      const before = await stateRoot(node);
      await node.rpc("eth_sendRawTransaction", vector.wrapper);
      await node.mine();
      expect(await stateRoot(node)).toBe(before);
    } finally {
      await node.close();
    }
  });
});

describe("an included vector has its effects in a block of the devnet (D9, D10)", () => {
  it.each(included)("$name", async (vector) => {
    const node = await VectorNode.create(vector, { pool: "strict" });
    try {
      await assertEffects(node, vector);
    } finally {
      await node.close();
    }
  });
});

const hex = (decimal: string | number) => `0x${BigInt(decimal).toString(16)}`;

async function assertEffects(
  node: VectorNode,
  { wrapper, expect: expected }: With<"included">,
): Promise<void> {
  expect(await node.rpc("eth_sendRawTransaction", wrapper)).toBe(expected.wrapperHash);
  await node.mine();
  const block = await node.rpc<{ transactions: string[] }>("eth_getBlockByNumber", "latest", false);
  expect(block.transactions).toEqual([expected.wrapperHash, expected.innerHash]);
  const common = { status: hex(expected.status), effectiveGasPrice: "0x0" };
  expect(await node.rpc("eth_getTransactionReceipt", expected.wrapperHash)).toMatchObject({
    ...common,
    from: expected.waiver,
    gasUsed: hex(expected.wrapperGasUsed),
    logs: [],
  });
  expect(await node.rpc("eth_getTransactionReceipt", expected.innerHash)).toMatchObject({
    ...common,
    from: expected.sender,
    gasUsed: hex(expected.innerGasUsed),
    logs: expected.logs,
  });
  for (const [address, { nonce, balance }] of Object.entries(expected.accounts)) {
    expect(await node.rpc("eth_getTransactionCount", address, "latest"), address).toBe(hex(nonce));
    expect(await node.rpc("eth_getBalance", address, "latest"), address).toBe(hex(balance));
  }
}
