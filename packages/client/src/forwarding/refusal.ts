import { ProtocolError } from "@gas-waiver/protocol";
import { type ErrorBody, errorBodyOf, statusOf } from "@gas-waiver/protocol/wire";

/** A request that the relay refuses whole, in the service's form (D21). Nothing of it was sent. */
export class RelayRefusal extends Error {
  override readonly name = "RelayRefusal";
  readonly status: number;
  readonly body: ErrorBody;

  constructor(status: number, body: ErrorBody, options?: ErrorOptions) {
    super(body.message, options);
    this.status = status;
    this.body = body;
  }
}

/** Makes a refusal of an error of the protocol's codecs. */
export function refusalOf(error: ProtocolError): RelayRefusal {
  return new RelayRefusal(statusOf(error.reason), errorBodyOf(error), { cause: error });
}

/** The refusal of a transaction that the application does not allow. The service has no such reason. */
export function notAllowed(index: number): RelayRefusal {
  return new RelayRefusal(403, {
    code: "VALIDATION_FAILED",
    message: `the application does not allow transactions[${index}]; nothing of the request was sent`,
    reason: "RELAY_REFUSED",
    details: { retry: "corrected", index },
  });
}

/** The refusal of a record that does not exist, or is not the caller's: the two look the same. */
export function noSuchSubmission(): RelayRefusal {
  return refusalOf(new ProtocolError("NO_SUCH_SUBMISSION", "there is no such submission"));
}

/**
 * The answer where the service gave none that may be passed on. The message names neither the service nor the key.
 * @param status 502 if the service is away, 500 if it refuses the relay itself.
 */
export function serviceTrouble(status: 500 | 502): RelayRefusal {
  const away = "the service behind this relay is away, and may have taken the request";
  const message = status === 502 ? away : "this relay cannot do its work; its operator has the cause";
  const body = {
    code: "UNAVAILABLE",
    message,
    reason: "INTERNAL_ERROR",
    details: { retry: "later" },
  } as const;
  return new RelayRefusal(status, body);
}

/** Turns any error into the response of the relay. Unknown errors show nothing of themselves. */
export function responseOf(error: unknown): Response {
  const refusal =
    error instanceof RelayRefusal
      ? error
      : error instanceof ProtocolError
        ? refusalOf(error)
        : serviceTrouble(500);
  return jsonResponse(refusal.status, { error: refusal.body });
}

export function jsonResponse(status: number, body: unknown): Response {
  const headers = {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  return new Response(JSON.stringify(body), { status, headers });
}
