import { codeOf, type ErrorCode, type Reason } from "./reasons.js";

/** What an error says of the values involved: JSON-safe, so that it can travel. */
export type ErrorValues = Readonly<Record<string, string | number | boolean | null>>;

/**
 * The one error that the protocol's decoders and rules throw.
 * `reason` names the rule, `code` the document's code it belongs to, `message` says it for a person with the
 * values involved, `values` gives the same values to a program.
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
