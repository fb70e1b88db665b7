/** A connection that can be told things, which HTTP cannot. Methods that push get it beside their parameters. */
export interface Connection {
  /** Sends a notification, after the answer that is being made, if one is. */
  notify(method: string, params: object): void;
  /** What ends with the connection, by the id that the client knows it by. */
  readonly subscriptions: Map<string, () => void>;
}
