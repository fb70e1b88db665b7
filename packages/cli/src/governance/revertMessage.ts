import {
  bytesToHex,
  checksumAddress,
  decodeRevert,
  type Hex,
  hexToBytes,
  ResultReader,
  selectorOfSignature,
} from "@gas-waiver/protocol";
import { STATUSES } from "./proposal.js";

const address = (data: ResultReader) => checksumAddress(data.address());
const isoTime = (seconds: bigint) => new Date(Number(seconds) * 1000).toISOString();

/**
 * Formats each error of the registry as a sentence, keyed by the error's signature. Reads the error's ABI-encoded
 * arguments.
 */
const MESSAGES: Readonly<Record<string, (data: ResultReader) => string>> = {
  "NotValidator(address)": (data) => `${address(data)} is not a validator`,
  "AlreadyValidator(address)": (data) => `${address(data)} is a validator already`,
  "LastValidator(address)": (data) => `${address(data)} is the last validator and cannot be removed`,
  "AlreadyRegistered(address)": (data) =>
    `${address(data)} is a registered waiver already; propose an update to change its targets`,
  "NotRegistered(address)": (data) => `${address(data)} is not a registered waiver`,
  "ZeroAddress()": () => "the zero address can be neither waiver nor validator",
  "InvalidTarget(uint256)": (data) =>
    `allowed target ${data.uint()} is refused: its address must not be zero, and its list of selectors, if it has one, must not be empty`,
  "UnknownProposal(uint256)": (data) => `there is no proposal ${data.uint()}`,
  "ProposalClosed(uint256,uint8)": (data) =>
    `proposal ${data.uint()} is closed: it was ${STATUSES[Number(data.uint())] ?? "closed"}`,
  "ProposalPastExpiry(uint256,uint64)": (data) =>
    `proposal ${data.uint()} has expired: it could be voted on until ${isoTime(data.uint())}`,
  "AlreadyVoted(uint256,address)": (data) => {
    const id = data.uint();
    return `${address(data)} has already cast the same vote on proposal ${id}`;
  },
  "NotCarried(uint256,uint256,uint256)": (data) =>
    `proposal ${data.uint()} has ${data.uint()} yes votes of ${data.uint()} validators, which do not carry it`,
};

const BY_SELECTOR = new Map<Hex, (data: ResultReader) => string>(
  Object.entries(MESSAGES).map(([signature, message]) => [selectorOfSignature(signature), message]),
);

/** Formats the registry's revert data as a sentence. */
export function revertMessage(data: Hex): string {
  const bytes = hexToBytes(data);
  const message = BY_SELECTOR.get(bytesToHex(bytes.subarray(0, 4)));
  try {
    if (message !== undefined) return message(new ResultReader(bytes.subarray(4)));
  } catch {
    // The data is too short for the error's arguments: show it as it is.
  }
  const revert = decodeRevert(bytes);
  if (revert.kind === "error") return `the registry reverted: ${revert.message}`;
  return revert.kind === "empty"
    ? "the registry reverted without a reason"
    : `the registry reverted with ${data}`;
}
