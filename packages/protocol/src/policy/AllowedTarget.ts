import { InvalidAddressError, parseAddress } from "../accounts/address.js";
import { describeValue } from "../describeValue.js";
import { bytesToHex, type Hex, hexToBytes } from "../encoding/hex.js";
import { ProtocolError } from "../protocolError.js";

/** One entry of a waiver's policy (D4). */
export interface AllowedTarget {
  /** The contract (20 bytes), or `"*"` for any contract. */
  readonly address: Uint8Array | "*";
  /** The permitted method selectors, 4 bytes each. Absent: any calldata, empty calldata included. */
  readonly selectors?: readonly Uint8Array[];
}

/** An {@link AllowedTarget} as text, as configuration files and the wire hold it. */
export interface AllowedTargetJson {
  readonly address: Hex | "*";
  readonly selectors?: readonly Hex[];
}

/** Thrown by {@link parseAllowedTargets}; the message names the entry and what is wrong with it. */
export class InvalidAllowedTargetError extends Error {
  override readonly name = "InvalidAllowedTargetError";
}

/**
 * Reads a policy from parsed JSON. An empty list is a policy that permits nothing; an entry with an empty list of selectors
 * and an address with a wrong checksum are refused (D4).
 * @throws {@link InvalidAllowedTargetError} that names the entry and its fault.
 * @example
 * ```ts
 * const targets = parseAllowedTargets([
 *   { address: "0x78cf24370174180738c5b8e352b6d14c83a6c9a9", selectors: ["0xa9059cbb"] },
 * ]);
 * ```
 */
export function parseAllowedTargets(input: unknown): AllowedTarget[] {
  if (!Array.isArray(input)) throw new InvalidAllowedTargetError("the allowed targets are not a list");
  return input.map((entry: unknown, i) => {
    const where = `allowed target ${i}`;
    if (typeof entry !== "object" || entry === null) {
      throw new InvalidAllowedTargetError(`${where} is not an object`);
    }
    const unknown = Object.keys(entry).filter((key) => key !== "address" && key !== "selectors");
    if (unknown.length > 0) {
      throw new InvalidAllowedTargetError(`${where} has the unknown member ${unknown.join(", ")}`);
    }
    const { address, selectors } = entry as { address?: unknown; selectors?: unknown };
    const target = address === "*" ? "*" : targetAddress(address, where);
    if (selectors === undefined) return { address: target };
    if (!Array.isArray(selectors))
      throw new InvalidAllowedTargetError(`the selectors of ${where} are not a list`);
    if (selectors.length === 0)
      throw new InvalidAllowedTargetError(`the selectors of ${where} ${EMPTY_SELECTORS}`);
    return {
      address: target,
      selectors: selectors.map((selector) => fixedBytes(selector, 4, `a selector of ${where}`)),
    };
  });
}

/**
 * The end of the sentence that refuses an entry with an empty list of selectors (D4). The library of the public chain takes
 * one for "any method".
 */
export const EMPTY_SELECTORS =
  "are an empty list, which permits nothing here and any method elsewhere; leave them out for any calldata, or leave out the entry for none";

function targetAddress(value: unknown, where: string): Uint8Array {
  try {
    return parseAddress(value);
  } catch (error) {
    if (!(error instanceof InvalidAddressError)) throw error;
    throw new InvalidAllowedTargetError(`the address of ${where} ${error.message}`);
  }
}

function fixedBytes(value: unknown, length: number, what: string): Uint8Array {
  if (typeof value !== "string" || !new RegExp(`^0x[0-9a-fA-F]{${2 * length}}$`).test(value)) {
    throw new InvalidAllowedTargetError(`${what} is ${describeValue(value)}, not ${length} bytes of 0x hex`);
  }
  return hexToBytes(value);
}

/**
 * Writes a policy as values for JSON: addresses and selectors in 0x hex.
 * @example
 * ```ts
 * console.log(JSON.stringify(allowedTargetsToJson([{ address: "*" }]))); // [{"address":"*"}]
 * ```
 */
export function allowedTargetsToJson(targets: readonly AllowedTarget[]): AllowedTargetJson[] {
  return targets.map(({ address, selectors }) => ({
    address: address === "*" ? "*" : bytesToHex(address),
    ...(selectors && { selectors: selectors.map(bytesToHex) }),
  }));
}

/**
 * Returns the method selector of calldata, 4 bytes, or undefined for calldata shorter than that (D4).
 * @example
 * ```ts
 * const selector = selectorOf(inner.data);
 * console.log(selector ? bytesToHex(selector) : "no method");
 * ```
 */
export function selectorOf(data: Uint8Array): Uint8Array | undefined {
  return data.length < 4 ? undefined : data.subarray(0, 4);
}

/** The answer of a policy to a call. */
export type Verdict = "allowed" | "target not allowed" | "selector not allowed";

/**
 * Asserts that a policy permits a call.
 * @param to the called contract, 20 bytes.
 * @param whose names the policy in the error, such as `"the waiver's policy"`.
 * @param allowedSelectors returns the methods of the contract that are permitted, for the error's details.
 * @throws {@link ProtocolError} `TARGET_NOT_ALLOWED` or `SELECTOR_NOT_ALLOWED`.
 * @example
 * ```ts
 * assertVerdict(policy.check(token, inner.data), token, inner.data, "the waiver's policy");
 * ```
 */
export function assertVerdict(
  verdict: Verdict,
  to: Uint8Array,
  data: Uint8Array,
  whose: string,
  allowedSelectors: () => readonly string[] | undefined = () => undefined,
): void {
  if (verdict === "allowed") return;
  const target = bytesToHex(to);
  const selectorBytes = selectorOf(data);
  const selector = selectorBytes ? bytesToHex(selectorBytes) : null;
  if (verdict === "target not allowed") {
    const message = `target ${target} is not permitted by ${whose}`;
    throw new ProtocolError("TARGET_NOT_ALLOWED", message, { target, selector, allowedSelectors: [] });
  }
  const allowed = allowedSelectors();
  const message =
    selector === null
      ? `calldata of ${data.length} byte(s) has no method selector, and ${whose} permits only some selectors of target ${target}`
      : `selector ${selector} of target ${target} is not permitted by ${whose}`;
  const values = { target, selector, ...(allowed && { allowedSelectors: allowed }) };
  throw new ProtocolError("SELECTOR_NOT_ALLOWED", message, values);
}
