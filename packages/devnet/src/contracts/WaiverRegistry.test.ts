import { bytesToHex, type Hex, hexToBytes, REGISTRY_ADDRESS } from "@gas-waiver/protocol";
import { type Abi, decodeFunctionResult, encodeFunctionData } from "viem";
import { beforeEach, describe, expect, it } from "vitest";
import { addressOf, hashOf, signInner, signOrdinary, wrap } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import { accountsOf, devnetAccount } from "../presets/accounts.js";
import { TEST_TOKEN_ADDRESS } from "../presets/constants.js";
import { WaiverRegistry } from "./artifacts.js";

const REGISTRY = bytesToHex(REGISTRY_ADDRESS);
const abi = WaiverRegistry.abi as Abi;
const NEWCOMER = 12;
const TRANSFER: Hex = "0xa9059cbb";
const WEEK_MS = 7 * 24 * 3600 * 1000;
const ZERO: Hex = `0x${"00".repeat(20)}`;

const checksummed = (index: number) => devnetAccount(index).address;
const onToken = (...selectors: Hex[]) => [
  { target: TEST_TOKEN_ADDRESS, anyTarget: false, anySelector: selectors.length === 0, selectors },
];
const anything = [{ target: ZERO, anyTarget: true, anySelector: true, selectors: [] }];

describe("the WaiverRegistry (D12)", () => {
  let clockMs = 1_700_000_000_000;
  beforeEach(() => {
    clockMs = 1_700_000_000_000;
  });
  const node = useTestNode(() => ({ now: () => clockMs }));

  async function view<T>(functionName: string, ...args: unknown[]): Promise<T> {
    const data = encodeFunctionData({ abi, functionName, args });
    const result = await node.rpc<Hex>("eth_call", { to: REGISTRY, data }, "latest");
    return decodeFunctionResult({ abi, functionName, data: result }) as T;
  }

  /** Sends a governance transaction and makes a block. @returns whether it succeeded. */
  async function act(from: number, functionName: string, ...args: unknown[]): Promise<boolean> {
    const data = hexToBytes(encodeFunctionData({ abi, functionName, args }));
    const raw = signOrdinary(from, {
      to: REGISTRY_ADDRESS,
      data,
      nonce: await node.nonce(from),
      gasLimit: 500_000_000n,
    });
    await node.sendAndMine(raw);
    return (await node.receipt(hashOf(raw))).status === "0x1";
  }

  async function propose(functionName: string, ...args: unknown[]): Promise<bigint> {
    expect(await act(20, functionName, ...args)).toBe(true);
    return view<bigint>("proposalCount");
  }

  async function carry(functionName: string, ...args: unknown[]): Promise<bigint> {
    const id = await propose(functionName, ...args);
    for (const validator of [20, 21, 22]) expect(await act(validator, "vote", id, true)).toBe(true);
    return id;
  }

  const statusOf = async (id: bigint) => (await view<unknown[]>("getProposal", id))[1];
  const OPEN = 1;
  const CARRIED = 2;
  const VOIDED = 3;
  const EXPIRED = 4;

  it("has the waivers, validators and policies of genesis", async () => {
    expect(await view("listWaivers")).toEqual([checksummed(10), checksummed(11)]);
    expect(await view("listValidators")).toEqual(accountsOf("validator").map(({ address }) => address));
    for (const waiver of [10, 11]) {
      expect(await view("isWaiver", addressOf(waiver))).toBe(true);
      expect(await view("targetsOf", addressOf(waiver))).toEqual(
        onToken(TRANSFER, "0x23b872dd", "0x095ea7b3"),
      );
    }
    expect(await view("isAllowed", addressOf(10), TEST_TOKEN_ADDRESS, TRANSFER)).toBe(true);
    expect(await view("isAllowed", addressOf(10), TEST_TOKEN_ADDRESS, "0x70a08231")).toBe(false);
    expect(await view("isAllowed", addressOf(12), TEST_TOKEN_ADDRESS, TRANSFER)).toBe(false);
    expect(await view("isValidator", addressOf(20))).toBe(true);
    expect(await view("openProposals")).toEqual([]);
  });

  it("registers a waiver with the vote that exceeds two thirds, binding from the next transaction", async () => {
    const id = await propose("proposeRegister", addressOf(NEWCOMER), onToken(TRANSFER));
    expect(await view("openProposals")).toEqual([id]);
    const wrapper = wrap(signInner(0), { waiver: NEWCOMER });
    for (const validator of [20, 21]) await act(validator, "vote", id, true);
    await expect(node.send(wrapper)).rejects.toMatchObject({ reason: "WAIVER_NOT_REGISTERED" });
    await act(22, "vote", id, true);
    expect(await statusOf(id)).toBe(CARRIED);
    expect(await view("openProposals")).toEqual([]);
    await node.sendAndMine(wrapper);
    expect(await node.receipt(hashOf(wrapper))).toMatchObject({ status: "0x1" });
  });

  it("binds within the block: a wrapper admitted before a revocation is dropped after it (D8)", async () => {
    const id = await propose("proposeRevoke", addressOf(10));
    for (const validator of [20, 21]) await act(validator, "vote", id, true);
    const data = hexToBytes(encodeFunctionData({ abi, functionName: "vote", args: [id, true] }));
    const vote = signOrdinary(22, { to: REGISTRY_ADDRESS, data, gasLimit: 1_000_000n });
    const wrapper = wrap(signInner(0));
    const other = wrap(signInner(1), { waiver: 11 });
    await node.sendAndMine(vote, wrapper, other);
    expect(await node.receipt(hashOf(vote))).toMatchObject({ status: "0x1" });
    expect(await node.receipt(hashOf(wrapper))).toBeNull();
    expect(await node.receipt(hashOf(other))).toMatchObject({ status: "0x1" });
    expect(node.devnet.drops()).toMatchObject([{ hash: hashOf(wrapper), reason: "WAIVER_NOT_REGISTERED" }]);
    expect([await node.nonce(0), await node.nonce(10)]).toEqual([0n, 0n]);
  });

  it("replaces the whole policy by an update, by a smaller one too", async () => {
    await carry("proposeUpdate", addressOf(10), onToken("0x095ea7b3"));
    expect(await view("targetsOf", addressOf(10))).toEqual(onToken("0x095ea7b3"));
    await expect(node.send(wrap(signInner(0)))).rejects.toMatchObject({ reason: "SELECTOR_NOT_ALLOWED" });
    await carry("proposeUpdate", addressOf(10), []);
    await expect(node.send(wrap(signInner(0)))).rejects.toMatchObject({ reason: "TARGET_NOT_ALLOWED" });
    await node.sendAndMine(wrap(signInner(0), { waiver: 11 }));
    expect(await node.nonce(11)).toBe(1n);
  });

  it("can allow any contract and any calldata, so that value reaches a plain account", async () => {
    await carry("proposeUpdate", addressOf(10), anything);
    const recipient = hexToBytes(addressOf(5));
    await node.sendAndMine(
      signOrdinary(13, { to: hexToBytes(addressOf(0)), value: 9n, data: new Uint8Array() }),
    );
    const inner = signInner(0, { to: recipient, value: 4n, data: new Uint8Array() });
    await node.sendAndMine(wrap(inner));
    expect(await node.receipt(hashOf(bytesToHex(inner.raw)))).toMatchObject({
      status: "0x1",
      gasUsed: "0x5208",
    });
    expect([await node.balance(0), await node.balance(5)]).toEqual([5n, 4n]);
    expect(await view("isCallAllowed", addressOf(10), addressOf(5), "0x")).toBe(true);
    expect(await view("isCallAllowed", addressOf(11), TEST_TOKEN_ADDRESS, "0x")).toBe(false);
  });

  it("distinguishes selector 0x00000000 from any selector, and the zero address from any target", async () => {
    const entry = {
      target: TEST_TOKEN_ADDRESS,
      anyTarget: false,
      anySelector: false,
      selectors: ["0x00000000"],
    };
    await carry("proposeUpdate", addressOf(10), [entry]);
    expect(await view("isAllowed", addressOf(10), TEST_TOKEN_ADDRESS, "0x00000000")).toBe(true);
    expect(await view("isAllowed", addressOf(10), TEST_TOKEN_ADDRESS, TRANSFER)).toBe(false);
    expect(await view("isAllowed", addressOf(10), ZERO, "0x00000000")).toBe(false);
    const contradictory = { target: ZERO, anyTarget: false, anySelector: true, selectors: [] };
    expect(await act(20, "proposeUpdate", addressOf(10), [contradictory])).toBe(false);
    const nothing = { target: TEST_TOKEN_ADDRESS, anyTarget: false, anySelector: false, selectors: [] };
    expect(await act(20, "proposeUpdate", addressOf(10), [nothing])).toBe(false);
  });

  it("refuses proposals and votes of accounts that are not validators", async () => {
    expect(await act(13, "proposeRevoke", addressOf(10))).toBe(false);
    const id = await propose("proposeRevoke", addressOf(10));
    expect(await act(13, "vote", id, true)).toBe(false);
  });

  it("counts a validator once, and lets a vote change until the proposal is carried", async () => {
    const id = await propose("proposeRevoke", addressOf(10));
    expect(await act(20, "vote", id, true)).toBe(true);
    expect(await act(20, "vote", id, true)).toBe(false);
    await act(21, "vote", id, true);
    expect(await act(21, "vote", id, false)).toBe(true);
    expect(await view("tally", id)).toEqual([1n, 1n, 4n]);
    await act(22, "vote", id, true);
    expect(await statusOf(id)).toBe(OPEN);
    await act(21, "vote", id, true);
    expect(await statusOf(id)).toBe(CARRIED);
    expect(await act(23, "vote", id, true)).toBe(false);
    expect(await view("isWaiver", addressOf(10))).toBe(false);
    expect(await view("listWaivers")).toEqual([checksummed(11)]);
  });

  it("refuses votes on an expired proposal, which any account may settle once", async () => {
    const id = await propose("proposeRevoke", addressOf(10));
    clockMs += WEEK_MS + 1000;
    expect(await act(21, "vote", id, true)).toBe(false);
    expect(await statusOf(id)).toBe(EXPIRED);
    expect(await act(13, "settle", id)).toBe(true);
    expect(await act(13, "settle", id)).toBe(false);
  });

  it("refuses impossible proposals at once, and a vote on an unknown one", async () => {
    expect(await act(20, "proposeRegister", addressOf(10), [])).toBe(false);
    expect(await act(20, "proposeUpdate", addressOf(NEWCOMER), [])).toBe(false);
    expect(await act(20, "proposeRevoke", addressOf(NEWCOMER))).toBe(false);
    expect(await act(20, "proposeAddValidator", addressOf(20))).toBe(false);
    expect(await act(20, "proposeRemoveValidator", addressOf(13))).toBe(false);
    expect(await act(20, "proposeAddValidator", ZERO)).toBe(false);
    expect(await act(20, "vote", 77n, true)).toBe(false);
  });

  it("voids a carried proposal that has become impossible, and registers again under a new policy", async () => {
    const twice = await propose("proposeRevoke", addressOf(10));
    await carry("proposeRevoke", addressOf(10));
    for (const validator of [20, 21, 22]) await act(validator, "vote", twice, true);
    expect(await statusOf(twice)).toBe(VOIDED);
    await carry("proposeRegister", addressOf(10), onToken("0x095ea7b3"));
    expect(await view("isAllowed", addressOf(10), TEST_TOKEN_ADDRESS, TRANSFER)).toBe(false);
    expect(await view("isAllowed", addressOf(10), TEST_TOKEN_ADDRESS, "0x095ea7b3")).toBe(true);
  });

  it("adds and removes validators by the same rule, and ignores the votes of removed validators", async () => {
    await carry("proposeAddValidator", addressOf(13));
    expect(await view("listValidators")).toContain(checksummed(13));
    const id = await propose("proposeRevoke", addressOf(10));
    await act(13, "vote", id, true);
    expect(await view("tally", id)).toEqual([1n, 0n, 5n]);
    const leave = await propose("proposeRemoveValidator", addressOf(13));
    for (const validator of [20, 21, 22, 23]) await act(validator, "vote", leave, true);
    expect(await view("tally", id)).toEqual([0n, 0n, 4n]);
    const back = await propose("proposeAddValidator", addressOf(13));
    for (const validator of [20, 21, 22]) await act(validator, "vote", back, true);
    expect(await view("tally", id)).toEqual([0n, 0n, 5n]);
  });

  it("lets any account settle a proposal that is carried since validators were removed", async () => {
    const revoke = await propose("proposeRevoke", addressOf(10));
    const leave = await propose("proposeRemoveValidator", addressOf(23));
    const early = await propose("proposeRemoveValidator", addressOf(22));
    for (const validator of [20, 21]) await act(validator, "vote", revoke, true);
    expect(await act(13, "settle", revoke)).toBe(false);
    for (const validator of [20, 21, 22]) await act(validator, "vote", leave, true);
    for (const validator of [20, 21, 22]) await act(validator, "vote", early, true);
    expect(await act(13, "settle", revoke)).toBe(true);
    expect(await view("isWaiver", addressOf(10))).toBe(false);
  });

  it("accepts a policy of 1,000 targets in one proposal, whose deciding vote costs less than 200,000 gas", async () => {
    const targets = Array.from({ length: 1000 }, (_, i) => ({
      target: `0x${(i + 1).toString(16).padStart(40, "0")}`,
      anyTarget: false,
      anySelector: false,
      selectors: [TRANSFER, "0x095ea7b3"],
    }));
    const id = await carry("proposeUpdate", addressOf(10), targets);
    expect(await view<unknown[]>("targetsOf", addressOf(10))).toHaveLength(1000);
    expect(await view("isAllowed", addressOf(10), targets[999]?.target, TRANSFER)).toBe(true);
    const votes = await node.rpc<{ transactionHash: Hex }[]>("eth_getLogs", { blockHash: await headHash() });
    expect(BigInt((await node.receipt(votes[0]?.transactionHash ?? "0x")).gasUsed)).toBeLessThan(200_000n);
    expect(await statusOf(id)).toBe(CARRIED);
  });

  const headHash = async () => (await node.rpc<{ hash: Hex }>("eth_getBlockByNumber", "latest")).hash;
});
