import { WaiverRegistry } from "@gas-waiver/devnet";
import {
  type AllowedTarget,
  type Argument,
  bytesToHex,
  encodeCall,
  type Hex,
  hexToBytes,
  POLICY_EVENTS,
  parseAllowedTargets,
  policyTargetsCall,
  policyVersionCall,
  ResultReader,
  readPolicyTargets,
  readPolicyVersion,
  topicOf,
  UnexpectedResultError,
} from "@gas-waiver/protocol";
import {
  type Abi,
  type AbiEvent,
  encodeErrorResult,
  encodeFunctionData,
  encodeFunctionResult,
  toEventSelector,
} from "viem";
import { describe, expect, it } from "vitest";
import { revertMessage } from "./revertMessage.js";

const abi = WaiverRegistry.abi as Abi;
const WAIVER: Hex = "0xFABB0ac9d68B0B445fB7357272Ff202C5651694a";
const waiver = hexToBytes(WAIVER);
const TARGETS = "(address,bool,bool,bytes4[])[]";

const policies: readonly [string, AllowedTarget[]][] = [
  ["an empty list", []],
  ["any contract", parseAllowedTargets([{ address: "*" }])],
  [
    "several entries",
    parseAllowedTargets([
      { address: WAIVER, selectors: ["0xa9059cbb", "0x00000000"] },
      { address: "*", selectors: ["0xffffffff"] },
      { address: WAIVER },
    ]),
  ],
  [
    "1,000 entries",
    Array.from({ length: 1_000 }, (_, i) => ({ address: new Uint8Array(20).fill(i % 256), selectors: [] })),
  ],
];

const toContractTargets = (targets: readonly AllowedTarget[]) =>
  targets.map(({ address, selectors }) => ({
    target: address === "*" ? `0x${"00".repeat(20)}` : bytesToHex(address),
    anyTarget: address === "*",
    anySelector: selectors === undefined,
    selectors: (selectors ?? []).map(bytesToHex),
  }));

describe("the ABI of the registry", () => {
  it.each<[string, string, Argument[], unknown[]]>([
    ["vote(uint256,bool)", "vote", [7n, true], [7n, true]],
    ["proposeRevoke(address)", "proposeRevoke", [waiver], [WAIVER]],
    ["proposeAddValidator(address)", "proposeAddValidator", [waiver], [WAIVER]],
    ["proposeRemoveValidator(address)", "proposeRemoveValidator", [waiver], [WAIVER]],
    ["getProposal(uint256)", "getProposal", [2n ** 64n], [2n ** 64n]],
    ["voteOf(uint256,address)", "voteOf", [1n, waiver], [1n, WAIVER]],
    ["listWaivers()", "listWaivers", [], []],
  ])("encodes %s as viem does", (signature, functionName, ours, args) => {
    expect(bytesToHex(encodeCall(signature, ...ours))).toBe(encodeFunctionData({ abi, functionName, args }));
  });

  it.each(policies)("encodes and decodes a policy of %s as viem does", (_, targets) => {
    const theirs = toContractTargets(targets);
    for (const functionName of ["proposeRegister", "proposeUpdate"]) {
      const encoded = encodeCall(`${functionName}(address,${TARGETS})`, waiver, targets);
      expect(bytesToHex(encoded)).toBe(encodeFunctionData({ abi, functionName, args: [WAIVER, theirs] }));
    }
    const result = encodeFunctionResult({ abi, functionName: "targetsOf", result: theirs });
    expect(new ResultReader(hexToBytes(result)).targets()).toEqual(targets);
  });

  it("encodes the service's calls, decodes their results and hashes the events as viem does", () => {
    const args = [WAIVER] as const;
    expect(bytesToHex(policyVersionCall(waiver))).toBe(
      encodeFunctionData({ abi, functionName: "versionOf", args }),
    );
    expect(bytesToHex(policyTargetsCall(waiver))).toBe(
      encodeFunctionData({ abi, functionName: "targetsOf", args }),
    );
    const version = (result: bigint) =>
      hexToBytes(encodeFunctionResult({ abi, functionName: "versionOf", result }));
    expect(readPolicyVersion(version(7n))).toBe(7n);
    // A node's nonsense would make a registered waiver of a revoked one.
    expect(() => readPolicyVersion(new Uint8Array(32).fill(0xab))).toThrow(/^\d+ is no uint64$/);
    expect(readPolicyVersion(version(0n))).toBeUndefined();
    expect(() => readPolicyVersion(new Uint8Array(0))).toThrow(UnexpectedResultError);
    expect(() => readPolicyTargets(new Uint8Array(0))).toThrow(UnexpectedResultError);
    const events = WaiverRegistry.abi.filter(({ type, name }) => type === "event" && /^Waiver/.test(name));
    expect(new Set(POLICY_EVENTS)).toEqual(
      new Set(events.map((event) => toEventSelector(event as AbiEvent))),
    );
  });

  it("hashes the event of a new proposal as viem does", () => {
    const signature = "ProposalCreated(uint256,uint8,address,address,uint64,uint64)";
    expect(topicOf(signature)).toBe(toEventSelector(`event ${signature}`));
  });

  it.each([
    ["no bytes", "0x"],
    ["a cut word", "0x00"],
    ["an offset past the end", `0x${"ff".repeat(32)}`],
    ["a length past the end", `0x${"20".padStart(64, "0")}${"ff".repeat(32)}`],
  ] as const)("refuses to decode %s as a list", (_, bytes) => {
    expect(() => new ResultReader(hexToBytes(bytes)).addresses()).toThrow(UnexpectedResultError);
  });
});

describe("a revert of the registry", () => {
  const errors = WaiverRegistry.abi.filter((item) => item.type === "error");

  it.each(errors.map(({ name, inputs }) => ({ name, inputs })))(
    "$name has a sentence",
    ({ name, inputs }) => {
      const args = inputs.map(({ type }) => (type === "address" ? WAIVER : type === "uint8" ? 2 : 5n));
      const sentence = revertMessage(encodeErrorResult({ abi, errorName: name, args }));
      // A number that is read as an address shows as one that begins with zeros.
      expect(sentence).not.toContain("0x00000000");
      expect(sentence).not.toMatch(/the registry reverted/);
      for (const input of inputs) if (input.type === "address") expect(sentence).toContain(WAIVER);
    },
  );

  it("is shown with its text if it has one, and otherwise with its data", () => {
    const text = "0x08c379a0".concat("20".padStart(64, "0"), "2".padStart(64, "0"), "6869".padEnd(64, "0"));
    expect(revertMessage(text as Hex)).toBe("the registry reverted: hi");
    expect(revertMessage("0x")).toContain("without a reason");
    expect(revertMessage("0x12345678")).toContain("0x12345678");
  });
});
