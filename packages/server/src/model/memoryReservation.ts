/** The memory of one body or WebSocket message, with its values and its answer, or of an answer on its way from a node. */
export interface MemoryReservation {
  /**
   * Counts nothing once the reservation is released: whoever still works for a client that has left will not release it again.
   * @throws `ProtocolError` `BODIES_AT_CAPACITY`. Then the reservation stays as large as before.
   */
  grow(bytes: number): void;
  /** Frees the whole reservation, for good. May be called more than once. */
  release(): void;
}
