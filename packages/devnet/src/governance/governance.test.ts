import type { Hex } from "@gas-waiver/protocol";
import { Interface } from "ethers";
import { describe, expect, it } from "vitest";
import { addressOf, signInner, wrap } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import { WaiverRegistry } from "../contracts/artifacts.js";

const REGISTRY = "0x000000000000000000000000000000000000f334";
const registry = new Interface(WaiverRegistry.abi);
const WAIVER = addressOf(10);

const node = useTestNode();

async function view(name: string, ...args: unknown[]): Promise<unknown> {
  const call = { to: REGISTRY, data: registry.encodeFunctionData(name, args) };
  return registry.decodeFunctionResult(name, await node.rpc<Hex>("eth_call", call, "latest"))[0];
}

interface Log {
  readonly blockNumber: Hex;
  readonly topics: string[];
  readonly data: string;
}

/** The registry's events so far, each with its block. */
async function events(): Promise<string[]> {
  const logs = await node.rpc<Log[]>("eth_getLogs", { fromBlock: "0x0", address: REGISTRY });
  return logs.map((log) => `${Number(log.blockNumber)} ${registry.parseLog(log)?.name}`);
}

interface Change {
  readonly state: string;
  readonly block: number | null;
  readonly transactions: Hex[];
  readonly problem?: string;
}
const changes = async () =>
  (await node.rpc<{ faults: { registry: Change[] } }>("devnet_status")).faults.registry;

const mine = async (blocks: number) => {
  for (let i = 0; i < blocks; i++) await node.devnet.mine();
};

describe("a waiver that is revoked or registered on command", () => {
  it("is revoked in the next block by proposal and votes, and gets its targets back", async () => {
    const before = await view("targetsOf", WAIVER);
    expect(await node.rpc("devnet_revokeWaiver", { waiver: WAIVER })).toMatchObject({
      action: "revoke",
      block: null,
      state: "sent",
    });
    await mine(1);
    expect(await view("isWaiver", WAIVER)).toBe(false);
    expect(await events()).toEqual([
      "1 ProposalCreated",
      "1 Voted",
      "1 Voted",
      "1 Voted",
      "1 ProposalCarried",
      "1 WaiverRevoked",
    ]);
    await expect(node.send(wrap(signInner(0)))).rejects.toMatchObject({ reason: "WAIVER_NOT_REGISTERED" });

    await node.rpc("devnet_registerWaiver", { waiver: WAIVER });
    await mine(1);
    expect(await view("isWaiver", WAIVER)).toBe(true);
    expect(await view("targetsOf", WAIVER)).toEqual(before);
    await node.sendAndMine(wrap(signInner(0)));
    expect(await node.nonce(0)).toBe(1n);
    expect((await changes()).map(({ state }) => state)).toEqual(["done", "done"]);
  });

  it("is revoked and registered in the requested blocks, also while a wrapper of it waits", async () => {
    await node.rpc("devnet_setFaults", {
      revoke: [
        { waiver: WAIVER, block: 3 },
        { waiver: addressOf(11), block: 3 },
      ],
      register: [{ waiver: WAIVER, block: 5 }],
    });
    await mine(2);
    expect(await events()).toEqual([]);
    await node.send(wrap(signInner(0), { nonce: 1n }));
    await Promise.all([node.devnet.mine(), node.devnet.mine(), node.devnet.mine()]);
    const blocks = (await events()).filter((event) => /Revoked|Registered/.test(event));
    expect(blocks).toEqual(["3 WaiverRevoked", "3 WaiverRevoked", "5 WaiverRegistered"]);
    expect(await view("isWaiver", addressOf(11))).toBe(false);
  });

  it("is registered with the given targets", async () => {
    const target = { address: addressOf(0), selectors: ["0x01020304", "0x05060708"] };
    const any = { address: "*" };
    await node.rpc("devnet_registerWaiver", { waiver: addressOf(12), targets: [target, any] });
    await mine(1);
    const allowed = (to: Hex, selector: string) => view("isAllowed", addressOf(12), to, selector);
    expect(await view("isAllowed", addressOf(12), addressOf(0), "0x05060708")).toBe(true);
    expect(await allowed(addressOf(5), "0xffffffff")).toBe(true);
    const [first] = (await view("targetsOf", addressOf(12))) as { selectors: string[] }[];
    expect([...(first?.selectors ?? [])]).toEqual(target.selectors);
  });

  it("is revoked although another proposal takes the number of its proposal first", async () => {
    const propose = registry.encodeFunctionData("proposeRevoke", [addressOf(11)]);
    await node.rpc("anvil_impersonateAccount", addressOf(23));
    await node.rpc("eth_sendTransaction", { from: addressOf(23), to: REGISTRY, data: propose });
    await node.rpc("devnet_revokeWaiver", { waiver: WAIVER });
    await mine(3);
    expect(await view("isWaiver", WAIVER)).toBe(false);
    expect(await changes()).toMatchObject([{ state: "done" }]);
  });

  it("is not changed by a wrong request, whose problems are reported", async () => {
    await mine(2);
    const revoke = (change: unknown) => node.rpc("devnet_revokeWaiver", change);
    await expect(revoke({ waiver: addressOf(12) })).rejects.toThrow(
      `${addressOf(12)} is not a registered waiver`,
    );
    await expect(node.rpc("devnet_registerWaiver", { waiver: WAIVER })).rejects.toThrow(
      `${WAIVER} is a registered waiver already`,
    );
    await expect(revoke({ waiver: WAIVER, block: 2 })).rejects.toThrow(
      "block 2 cannot be changed any more: the latest is 2",
    );
    await expect(revoke(WAIVER)).rejects.toThrow(/^the change is "0x.*, not {"waiver": "0x…", "block"\?/);
    await expect(revoke({ waiver: "0x12", block: "soon", when: 1, targets: [] })).rejects.toThrow(
      /^when is not part of .*; waiver is "0x12", not an address; block is "soon", .*; targets are for/,
    );
    await revoke({ waiver: addressOf(12), block: 3 });
    await mine(1);
    expect(await changes()).toMatchObject([
      { state: "failed", problem: expect.stringContaining("is not a registered waiver") },
    ]);
  });
});
