import { describeValue } from "../describeValue.js";
import { ProtocolError } from "../protocolError.js";
import { isLineCode, type LineCode } from "../reasons.js";
import { type ErrorBody, parseErrorBody } from "./errorBody.js";
import { isCount, membersOf } from "./members.js";
import { WireError } from "./WireError.js";

/** The values of the query parameter `simulate`. */
export const SIMULATE = ["true", "false"] as const;
export type Simulate = (typeof SIMULATE)[number];

/**
 * Why a simulated call failed: a text of the contract (`error`), a check of its compiler (`panic`), an error of its own
 * (`custom`), a revert without a reason (`empty`), or anything else that ends a call, such as too little gas (`halted`).
 */
export const SIMULATION_FAILURES = ["error", "panic", "custom", "empty", "halted"] as const;

/** What the call would do at the latest block. */
export type Simulation =
  | { readonly success: true }
  | {
      readonly success: false;
      readonly kind: (typeof SIMULATION_FAILURES)[number];
      /** The contract's text, or what its data says, for a person. */
      readonly message: string;
      /** The data of the revert in 0x hex, where there is some. */
      readonly data?: string;
    };

/** One line of a check: whether the transaction would be taken. It names no submission, because there is none. */
export type CheckLine =
  | {
      /** The position in the request's `transactions`. */
      readonly index: number;
      readonly success: true;
      /** The InnerTx's hash (D6). */
      readonly txHash: string;
      /** Where it was asked for. */
      readonly simulation?: Simulation;
    }
  | {
      readonly index: number;
      readonly success: false;
      /** The rule that refuses it. */
      readonly error: ErrorBody<LineCode>;
    };

/** @throws {@link ProtocolError} `MALFORMED_QUERY` if the value is neither absent nor one of {@link SIMULATE}. */
export function parseSimulate(value: unknown): boolean {
  if (value === undefined) return false;
  const known = SIMULATE.find((one) => one === value);
  if (known !== undefined) return known === "true";
  const message = `simulate is ${describeValue(value)}; it can be ${SIMULATE.join(" or ")}`;
  throw new ProtocolError("MALFORMED_QUERY", message);
}

/** A line of a check as JSON text without its newline, its members in a fixed order. */
export function encodeCheckLine(line: CheckLine): string {
  if (line.success) {
    const { index, success, txHash, simulation } = line;
    return JSON.stringify({ index, success, txHash, simulation: simulation && ordered(simulation) });
  }
  const { code, message, reason } = line.error;
  return JSON.stringify({ index: line.index, success: false, error: { code, message, reason } });
}

function ordered(simulation: Simulation): object {
  if (simulation.success) return { success: true };
  const { kind, message, data } = simulation;
  return { success: false, kind, message, data };
}

/** @throws {@link WireError} if the value is not a line of a check. */
export function parseCheckLine(value: unknown): CheckLine {
  const { index, success, txHash, simulation, error } = membersOf(value);
  if (isCount(index)) {
    if (success === true && isHash(txHash) && (simulation === undefined || isSimulation(simulation))) {
      return { index, success, txHash, ...(simulation !== undefined && { simulation }) };
    }
    if (success === false) {
      const body = parseErrorBody(error);
      if (isLineCode(body.code)) return { index, success, error: { ...body, code: body.code } };
    }
  }
  throw new WireError("the line is not the check of a transaction", value);
}

function isHash(value: unknown): value is string {
  return typeof value === "string" && /^0x[0-9a-f]{64}$/i.test(value);
}

function isSimulation(value: unknown): value is Simulation {
  const { success, kind, message, data } = membersOf(value);
  if (success === true) return true;
  return (
    success === false &&
    SIMULATION_FAILURES.some((known) => known === kind) &&
    typeof message === "string" &&
    ["undefined", "string"].includes(typeof data)
  );
}
