import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { hashOf, signInner, wrap } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import { TEST_TOKEN_ADDRESS } from "../presets/constants.js";
import { FILTER_LIFE_MS } from "./filterMethods.js";

let now: number;
beforeEach(() => {
  now = 1_700_000_000_000;
});
const node = useTestNode(() => ({ now: () => now }));

type Log = { readonly blockNumber: Hex; readonly topics: Hex[]; readonly data: Hex; readonly address: Hex };

describe("filters", () => {
  it("of blocks return the hashes since the last poll", async () => {
    const id = await node.rpc("eth_newBlockFilter");
    expect(await node.rpc("eth_getFilterChanges", id)).toEqual([]);
    const blocks = [await node.devnet.mine(), await node.devnet.mine()];
    expect(await node.rpc("eth_getFilterChanges", id)).toEqual(blocks.map(({ hash }) => hash));
    expect(await node.rpc("eth_getFilterChanges", id)).toEqual([]);
    await expect(node.rpc("eth_getFilterLogs", id)).rejects.toThrow("filter not found");
  });

  it("of logs return the new logs, and all of their range with eth_getFilterLogs", async () => {
    await node.sendAndMine(wrap(signInner(0)));
    const id = await node.rpc("eth_newFilter", { address: TEST_TOKEN_ADDRESS, fromBlock: "0x0" });
    await node.sendAndMine(wrap(signInner(1), { nonce: 1n }));
    expect(await node.rpc<Log[]>("eth_getFilterChanges", id)).toMatchObject([{ blockNumber: "0x2" }]);
    expect(await node.rpc<Log[]>("eth_getFilterLogs", id)).toMatchObject([
      { blockNumber: "0x1" },
      { blockNumber: "0x2" },
    ]);
    expect(await node.rpc("eth_getFilterChanges", id)).toEqual([]);
  });

  it("of waiting transactions return the hashes since the last poll", async () => {
    const id = await node.rpc("eth_newPendingTransactionFilter");
    const inner = signInner(0);
    await node.send(wrap(inner));
    expect(await node.rpc("eth_getFilterChanges", id)).toEqual([
      hashOf(wrap(inner)),
      hashOf(bytesToHex(inner.raw)),
    ]);
    expect(await node.rpc("eth_getFilterChanges", id)).toEqual([]);
  });

  it("are removed when uninstalled, or not polled for five minutes", async () => {
    const [uninstalled, polled, expired] = await Promise.all(
      [1, 2, 3].map(() => node.rpc<string>("eth_newBlockFilter")),
    );
    expect(await node.rpc("eth_uninstallFilter", uninstalled)).toBe(true);
    expect(await node.rpc("eth_uninstallFilter", uninstalled)).toBe(false);
    await expect(node.rpc("eth_getFilterChanges", uninstalled)).rejects.toMatchObject({ code: -32000 });
    now += FILTER_LIFE_MS - 1;
    expect(await node.rpc("eth_getFilterChanges", polled)).toEqual([]);
    now += 1;
    expect(await node.rpc("eth_getFilterChanges", polled)).toEqual([]);
    await expect(node.rpc("eth_getFilterChanges", expired)).rejects.toThrow(`filter not found: "${expired}"`);
  });

  it("report the new blocks after a revert", async () => {
    const snapshot = await node.rpc("evm_snapshot");
    const id = await node.rpc("eth_newBlockFilter");
    await node.devnet.mine();
    await node.devnet.mine();
    await node.rpc("eth_getFilterChanges", id);
    await node.rpc("evm_revert", snapshot);
    now += 5_000;
    const { hash } = await node.devnet.mine();
    expect(await node.rpc("eth_getFilterChanges", id)).toEqual([hash]);
  });
});
