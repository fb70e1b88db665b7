import { codeOf, type ErrorCode, type Reason } from "./reasons/index.js";

/** The values that an error names, for programs. They are JSON-safe, so that they can travel. */
export type ErrorValues = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

/**
 * The one error that the protocol's decoders and rules throw. `reason` names the rule that failed, `code` the
 * error code that it belongs to (docs/protocol.md#error-codes), `message` tells a person with the values involved,
 * and `values` gives them to a program.
 * @example
 * ```ts
 * try {
 *   assertInnerTx(parseInnerTx(signedHex), rules);
 * } catch (error) {
 *   if (!(error instanceof ProtocolError)) throw error;
 *   console.log(error.code, error.reason, error.message, error.values);
 * }
 * ```
 */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  readonly reason: Reason;
  readonly values: ErrorValues;

  constructor(reason: Reason, message: string, values: ErrorValues = {}, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
    this.values = values;
  }

  get code(): ErrorCode {
    return codeOf(this.reason);
  }
}
