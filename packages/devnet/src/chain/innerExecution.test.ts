import { bytesToHex, type Hex, hexToBytes, intrinsicGas, type SignedTransaction } from "@gas-waiver/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { allowEverything, BYTECODE, place, slotOf, wordOf } from "../../test/support/bytecode.js";
import { signDelegation } from "../../test/support/delegation.js";
import { addressOf, hashOf, signInner, wrap } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";

describe("an inner transaction (D9)", () => {
  const node = useTestNode();
  let nonces: Map<number, bigint>;
  let wrappers: bigint;
  beforeEach(async () => {
    await allowEverything(node);
    nonces = new Map();
    wrappers = 0n;
  });

  interface Inner {
    readonly to: Hex;
    readonly data?: Uint8Array;
    readonly value?: bigint;
    readonly gasLimit?: bigint;
    readonly from?: number;
  }

  /** Sends the inner in a wrapper, makes a block, and checks that both nonces are used and nothing was dropped. */
  async function run({ from = 0, to, data = new Uint8Array(), ...rest }: Inner) {
    const nonce = nonces.get(from) ?? 0n;
    nonces.set(from, nonce + 1n);
    const inner = signInner(from, { nonce, to: hexToBytes(to), data, ...rest });
    const wrapper = wrap(inner, { nonce: wrappers++ });
    await node.sendAndMine(wrapper);
    expect(node.devnet.drops()).toEqual([]);
    expect([await node.nonce(from), await node.nonce(10)]).toEqual([nonce + 1n, wrappers]);
    const receipt = await node.receipt(hashOf(bytesToHex(inner.raw)));
    expect((await node.receipt(hashOf(wrapper))).status).toBe(receipt.status);
    return { inner, receipt };
  }

  const fund = (account: Hex, wei: bigint) => node.rpc("anvil_setBalance", account, `0x${wei.toString(16)}`);
  const balance = async (account: Hex) => BigInt(await node.rpc<Hex>("eth_getBalance", account, "latest"));
  const usedBy = (inner: SignedTransaction, execution: bigint) => intrinsicGas(inner) + execution;

  it("has the user as origin and as sender, and the value from the user", async () => {
    const recorder = await place(node, 1, BYTECODE.recorder);
    await fund(addressOf(0), 50n);
    const { receipt } = await run({ to: recorder, value: 30n });
    expect(receipt.status).toBe("0x1");
    expect(await slotOf(node, recorder, 0)).toBe(BigInt(addressOf(0)));
    expect(await slotOf(node, recorder, 1)).toBe(BigInt(addressOf(0)));
    expect(await slotOf(node, recorder, 2)).toBe(30n);
    expect([await balance(addressOf(0)), await balance(recorder), await balance(addressOf(10))]).toEqual([
      20n,
      30n,
      0n,
    ]);
  });

  it("moves value to a new account for the intrinsic gas alone", async () => {
    await fund(addressOf(0), 50n);
    const stranger: Hex = `0x${"5a".repeat(20)}`;
    const { inner, receipt } = await run({ to: stranger, value: 50n });
    expect(BigInt(receipt.gasUsed)).toBe(usedBy(inner, 0n));
    expect([await balance(stranger), await balance(addressOf(0))]).toEqual([50n, 0n]);
  });

  it("that runs out of gas uses its limit, and changes nothing but the nonces", async () => {
    const burner = await place(node, 1, BYTECODE.burner);
    await fund(addressOf(0), 9n);
    const { receipt } = await run({ to: burner, value: 9n, gasLimit: 77_777n });
    expect(receipt).toMatchObject({ status: "0x0", gasUsed: `0x${(77_777).toString(16)}`, logs: [] });
    expect([await balance(addressOf(0)), await balance(burner)]).toEqual([9n, 0n]);
  });

  it("that reverts gives back its value and the gas it did not use", async () => {
    const reverter = await place(node, 1, BYTECODE.reverter);
    await fund(addressOf(0), 9n);
    const { receipt } = await run({ to: reverter, value: 9n });
    expect(receipt.status).toBe("0x0");
    expect(BigInt(receipt.gasUsed)).toBeLessThan(22_000n);
    expect(await balance(addressOf(0))).toBe(9n);
  });

  it("succeeds although a contract that it calls reverts", async () => {
    const [forwarder, reverter] = [
      await place(node, 1, BYTECODE.forwarder),
      await place(node, 2, BYTECODE.reverter),
    ];
    const { receipt } = await run({ to: forwarder, data: wordOf(reverter) });
    expect(receipt.status).toBe("0x1");
  });

  it("may create contracts in its call: their address comes from the creating contract", async () => {
    const creator = await place(node, 1, BYTECODE.creator);
    const { receipt } = await run({ to: creator });
    expect(receipt).toMatchObject({ status: "0x1", contractAddress: null });
    const created: Hex = `0x${(await slotOf(node, creator, 0)).toString(16).padStart(40, "0")}`;
    expect(await node.rpc("eth_getCode", created, "latest")).toBe("0x00");
    expect(BigInt(await node.rpc<Hex>("eth_getTransactionCount", created, "latest"))).toBe(1n);
    const logs = await node.rpc<{ topics: Hex[] }[]>("eth_getLogs", { address: creator });
    expect(logs.map(({ topics }) => BigInt(topics[0] ?? 0))).toEqual([BigInt(created)]);
  });

  it("may make an existing contract self-destruct: the contract pays out and stays (EIP-6780)", async () => {
    const destroyer = await place(node, 1, BYTECODE.destroyer);
    await fund(destroyer, 12n);
    const { receipt } = await run({ to: destroyer });
    expect(receipt.status).toBe("0x1");
    expect([await balance(destroyer), await balance(addressOf(0))]).toEqual([0n, 12n]);
    expect(await node.rpc("eth_getCode", destroyer, "latest")).toBe(BYTECODE.destroyer);
  });

  it("may call a precompile, and pays its gas", async () => {
    const ecrecover = await run({ to: `0x${"1".padStart(40, "0")}` });
    expect(BigInt(ecrecover.receipt.gasUsed)).toBe(usedBy(ecrecover.inner, 3_000n));
    // BLAKE2F takes 213 bytes; anything else fails and uses up the gas.
    const blake2f = await run({ to: `0x${"9".padStart(40, "0")}`, gasLimit: 50_000n });
    expect(blake2f.receipt).toMatchObject({ status: "0x0", gasUsed: "0xc350" });
  });

  it("pays for its access list, and less for the accesses on it", async () => {
    const recorder = await place(node, 1, BYTECODE.recorder);
    const plain = await run({ to: recorder });
    const listed = signInner(1, {
      to: hexToBytes(recorder),
      data: new Uint8Array(),
      ...({
        type: "eip2930",
        gasPrice: 0n,
        accessList: [{ address: hexToBytes(recorder), storageKeys: [wordOf(0n), wordOf(1n)] }],
      } as object),
    });
    await node.sendAndMine(wrap(listed, { nonce: wrappers }));
    const { gasUsed } = await node.receipt(hashOf(bytesToHex(listed.raw)));
    // Slots 0 and 1 hold another account now. Changing each costs 2,900 gas, where creating it cost 20,000.
    const creations = 2n * (20_000n - 2_900n);
    const list = 2_400n + 2n * 1_900n - 2n * 2_100n;
    expect(BigInt(gasUsed)).toBe(BigInt(plain.receipt.gasUsed) - creations + list);
  });

  it("to its own sender runs the code that the sender delegated to (EIP-7702)", async () => {
    const recorder = await place(node, 1, BYTECODE.recorder);
    const delegation = await signDelegation({ authority: 3, contract: recorder, to: 3 });
    await node.sendAndMine(delegation);
    nonces.set(3, 1n);
    const { receipt } = await run({ from: 3, to: addressOf(3) });
    expect(receipt.status).toBe("0x1");
    expect(await slotOf(node, addressOf(3), 0)).toBe(BigInt(addressOf(3)));
    expect(await slotOf(node, recorder, 0)).toBe(0n);
  });
});
