/** What came over the wire is not what the protocol says: the other side is no gas-waiver service, or a broken one. */
export class WireError extends Error {
  override readonly name = "WireError";
  /** What was received. */
  readonly received: unknown;

  constructor(message: string, received: unknown) {
    super(message);
    this.received = received;
  }
}
