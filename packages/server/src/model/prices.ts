/** The prices of what parties ask for (D38), in µs of the event loop: each is charged before the work, and the rest is corrected after it. `npm run bench:prices` measures them. */
export const PRICES = {
  /** A connection is opened and closed. Its first request is charged for it. */
  connection: 250,
  /** A request or frame begins: its head, its key, its route. */
  request: 200,
  /** A header field of a request, of which there may be four thousand. */
  field: 0.5,
  /** A WebSocket is opened and closed. */
  upgrade: 500,
  /** A query of the store for a reader is sent, and its answer read. */
  read: 300,
  /** A call at a node for a client of the gateway is sent, and its answer read. */
  call: 300,
  /** A byte of a body or frame is read, whatever becomes of it. */
  readByte: 0.003,
  /** A packet is received, however small it is. */
  packet: 15,
  /** A transaction is decoded and checked, and its sender recovered. */
  check: 100,
  /** A byte of a transaction's hex is decoded and hashed. */
  checkedByte: 0.01,
  /** Transactions are written to the store together, and what became of them is read. */
  write: 1_000,
  /** An accepted transaction is stored, signed and sent, and its line told. */
  accept: 400,
  /** A byte of JSON is parsed in slices. */
  parsedByte: 0.008,
  /** A character of a transaction is hashed, for an idempotency key. */
  hashedByte: 0.001,
  /** A byte of an answer is written. */
  sentByte: 0.01,
  /** A log is compared with the filter of a subscription. */
  comparedLog: 0.15,
  /** A notification of a subscription, or a result line, is sent. */
  notification: 20,
} as const;
