import { ProtocolError } from "@gas-waiver/protocol";

/** The error of a request that comes while the service closes (D21). */
export function shuttingDown(): ProtocolError {
  return new ProtocolError("SHUTTING_DOWN", "the service is shutting down");
}
