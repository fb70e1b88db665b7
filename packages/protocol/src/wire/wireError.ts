/** The received value breaks the wire format: the other side is not a gas-waiver service, or a broken one. */
export class WireError extends Error {
  override readonly name = "WireError";
  /** The value as it was received, for the log. */
  readonly received: unknown;

  constructor(message: string, received: unknown) {
    super(message);
    this.received = received;
  }
}
