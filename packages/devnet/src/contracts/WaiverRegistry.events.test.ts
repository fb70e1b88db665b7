import { bytesToHex, type Hex, hexToBytes, REGISTRY_ADDRESS } from "@gas-waiver/protocol";
import { type Abi, decodeEventLog, decodeFunctionResult, encodeFunctionData } from "viem";
import { beforeEach, describe, expect, it } from "vitest";
import { hashOf, signOrdinary } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import { devnetAccount } from "../presets/accounts.js";
import { WaiverRegistry } from "./artifacts.js";

const abi = WaiverRegistry.abi as Abi;
const REGISTRY = bytesToHex(REGISTRY_ADDRESS);
const START_MS = 1_700_000_000_000;
const WEEK_S = 7n * 24n * 3600n;
const EXPIRES_AT = BigInt(START_MS / 1000) + WEEK_S;
const account = (index: number) => devnetAccount(index).address;
const anything = [
  { target: `0x${"00".repeat(20)}`, anyTarget: true, anySelector: true, selectors: [] },
] as const;
const REGISTER = 0;
const UPDATE = 1;
const REVOKE = 2;
const ADD = 3;
const REMOVE = 4;

interface Event {
  readonly eventName: string;
  readonly args: Record<string, unknown>;
}

describe("the WaiverRegistry: events, votes and lists (D12)", () => {
  let clockMs = START_MS;
  beforeEach(() => {
    clockMs = START_MS;
  });
  const node = useTestNode(() => ({ now: () => clockMs }));

  /** Sends a governance transaction and makes a block. @returns its events; undefined if it reverts. */
  async function act(from: number, functionName: string, ...args: unknown[]): Promise<Event[] | undefined> {
    const data = hexToBytes(encodeFunctionData({ abi, functionName, args }));
    const nonce = await node.nonce(from);
    const raw = signOrdinary(from, { to: REGISTRY_ADDRESS, data, nonce, gasLimit: 5_000_000n });
    await node.sendAndMine(raw);
    const { status, logs } = await node.receipt(hashOf(raw));
    if (status !== "0x1") return undefined;
    return (logs as unknown as { data: Hex; topics: [Hex, ...Hex[]] }[]).map(
      ({ data: body, topics }) => decodeEventLog({ abi, data: body, topics }) as unknown as Event,
    );
  }

  async function view<T>(functionName: string, ...args: unknown[]): Promise<T> {
    const data = encodeFunctionData({ abi, functionName, args });
    const result = await node.rpc<Hex>("eth_call", { to: REGISTRY, data }, "latest");
    return decodeFunctionResult({ abi, functionName, data: result }) as T;
  }

  const created = (id: bigint, kind: number, subject: string, version: bigint): Event => ({
    eventName: "ProposalCreated",
    args: { id, kind, subject, proposer: account(20), version, expiresAt: EXPIRES_AT },
  });
  const voted = (id: bigint, by: number, support = true): Event => ({
    eventName: "Voted",
    args: { id, validator: account(by), support },
  });
  const carried = (id: bigint, yes = 3n, validators = 4n): Event => ({
    eventName: "ProposalCarried",
    args: { id, yes, validators },
  });

  /** Votes for a proposal. Only the last vote decides it. @returns the events of the last vote. */
  async function decide(id: bigint, voters = [20, 21, 22]): Promise<Event[] | undefined> {
    for (const by of voters.slice(0, -1)) expect(await act(by, "vote", id, true)).toEqual([voted(id, by)]);
    return act(voters.at(-1) ?? 0, "vote", id, true);
  }

  it.each<[string, unknown[], number, number, bigint, Event]>([
    [
      "proposeRegister",
      [account(12), anything],
      REGISTER,
      12,
      3n,
      { eventName: "WaiverRegistered", args: { waiver: account(12), version: 3n } },
    ],
    [
      "proposeUpdate",
      [account(10), []],
      UPDATE,
      10,
      3n,
      { eventName: "WaiverUpdated", args: { waiver: account(10), version: 3n } },
    ],
    [
      "proposeRevoke",
      [account(10)],
      REVOKE,
      10,
      0n,
      { eventName: "WaiverRevoked", args: { waiver: account(10) } },
    ],
    [
      "proposeAddValidator",
      [account(13)],
      ADD,
      13,
      0n,
      { eventName: "ValidatorAdded", args: { validator: account(13) } },
    ],
    [
      "proposeRemoveValidator",
      [account(23)],
      REMOVE,
      23,
      0n,
      { eventName: "ValidatorRemoved", args: { validator: account(23) } },
    ],
  ])(
    "%s emits the proposal, each vote, the decision and the change",
    async (method, args, kind, subject, version, change) => {
      expect(await act(20, method, ...args)).toEqual([created(1n, kind, account(subject), version)]);
      expect(await act(23, "vote", 1n, false)).toEqual([voted(1n, 23, false)]);
      expect(await decide(1n)).toEqual([voted(1n, 22), carried(1n), change]);
    },
  );

  it("emits that a proposal was voided or has expired", async () => {
    await act(20, "proposeRevoke", account(10));
    await act(20, "proposeRevoke", account(10));
    await act(20, "proposeRevoke", account(11));
    await decide(1n);
    expect(await decide(2n)).toEqual([voted(2n, 22), { eventName: "ProposalVoided", args: { id: 2n } }]);
    clockMs += Number(WEEK_S) * 1000 + 1000;
    expect(await act(13, "settle", 3n)).toEqual([{ eventName: "ProposalExpired", args: { id: 3n } }]);
  });

  it("allows votes on a proposal in its last second, and not after", async () => {
    await act(20, "proposeRevoke", account(10));
    await act(20, "proposeRevoke", account(11));
    clockMs += Number(WEEK_S) * 1000;
    await node.devnet.mine();
    expect(await view("openProposals")).toEqual([1n, 2n]);
    expect(await act(20, "vote", 1n, true)).toEqual([voted(1n, 20)]);
    clockMs += 1000;
    await node.devnet.mine();
    expect(await view("openProposals")).toEqual([]);
    expect(await act(21, "vote", 1n, true)).toBeUndefined();
  });

  it("lists all open proposals, in any order, after others are closed", async () => {
    for (const waiver of [10, 11, 10, 11]) await act(20, "proposeRevoke", account(waiver));
    await decide(2n);
    expect(new Set(await view<bigint[]>("openProposals"))).toEqual(new Set([1n, 3n, 4n]));
    await decide(4n);
    expect(new Set(await view<bigint[]>("openProposals"))).toEqual(new Set([1n, 3n]));
    await decide(1n);
    await decide(3n);
    expect(await view("openProposals")).toEqual([]);
    expect(await view("proposalCount")).toBe(4n);
  });

  it("carries a proposal with more than two thirds of the votes: 1 of 1, 2 of 2, 3 of 3 and of 4, 4 of 5", async () => {
    let id = 0n;
    const propose = async (method: string, subject: number) => {
      await act(20, method, account(subject));
      return ++id;
    };
    const statusOf = async (proposal: bigint) => (await view<unknown[]>("getProposal", proposal))[1];
    const CARRIED = 2;
    const OPEN = 1;
    const expectCarriedByLastVote = async (proposal: bigint, voters: readonly number[]) => {
      for (const by of voters) {
        expect(await statusOf(proposal)).toBe(OPEN);
        await act(by, "vote", proposal, true);
      }
      expect(await statusOf(proposal)).toBe(CARRIED);
    };
    await expectCarriedByLastVote(await propose("proposeAddValidator", 13), [20, 21, 22]);
    await expectCarriedByLastVote(await propose("proposeRemoveValidator", 13), [20, 21, 22, 23]);
    await expectCarriedByLastVote(await propose("proposeRemoveValidator", 23), [20, 21, 22]);
    await expectCarriedByLastVote(await propose("proposeRemoveValidator", 22), [20, 21, 22]);
    await expectCarriedByLastVote(await propose("proposeRemoveValidator", 21), [20, 21]);
    expect(await act(20, "proposeRemoveValidator", account(20))).toBeUndefined();
    await expectCarriedByLastVote(await propose("proposeRevoke", 10), [20]);
    expect(await act(21, "proposeRevoke", account(11))).toBeUndefined();
  });

  it("does not bring back the permissions of an old policy with a new registration", async () => {
    await act(20, "proposeRevoke", account(10));
    await decide(1n);
    expect(await view("targetsOf", account(10))).toEqual([]);
    expect(await view("versionOf", account(10))).toBe(0n);
    await act(20, "proposeRegister", account(10), []);
    await decide(2n);
    expect(await view("isWaiver", account(10))).toBe(true);
    const token = "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9";
    expect(await view("isAllowed", account(10), token, "0xa9059cbb")).toBe(false);
    expect(await view("isCallAllowed", account(10), token, "0xa9059cbb")).toBe(false);
  });
});
