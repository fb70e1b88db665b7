import { hexToBytes, InvalidHexError } from "@gas-waiver/protocol";
import { isObject } from "../chain/rpc/rpc.js";
import { invalidParams } from "./jsonRpc.js";

// Readers of the parameters that the gateway itself looks at. The node reads all others.

/** @throws {@link GatewayRefusal} "invalid params". */
export function bytesAt(params: readonly unknown[], place: number, length: number, what: string): Uint8Array {
  const bytes = bytesOf(params[place], what);
  if (bytes.length === length) return bytes;
  throw invalidParams(`${what} has ${bytes.length} bytes, not ${length}`);
}

/** @throws {@link GatewayRefusal} "invalid params". */
export function bytesOf(value: unknown, what: string): Uint8Array {
  if (typeof value !== "string") throw invalidParams(`${what} is missing`);
  try {
    return hexToBytes(value);
  } catch (error) {
    if (!(error instanceof InvalidHexError)) throw error;
    throw invalidParams(`${what} is not 0x-prefixed hex: ${error.message}`);
  }
}

/** Reads a call or transaction object. @throws {@link GatewayRefusal} "invalid params". */
export function objectAt(params: readonly unknown[], place: number, what: string): Record<string, unknown> {
  const value = params[place];
  if (isObject(value) && !Array.isArray(value)) return value;
  throw invalidParams(`${what} is missing, or no object`);
}

/** Reads a quantity; undefined where there is none. @throws {@link GatewayRefusal} "invalid params". */
export function quantityOf(value: unknown, what: string): bigint | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string" && /^0x[0-9a-f]{1,64}$/i.test(value)) return BigInt(value);
  throw invalidParams(`${what} is no quantity, such as 0x1f`);
}
