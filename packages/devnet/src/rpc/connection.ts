/** A connection that takes notifications: a WebSocket. Methods get it beside their parameters. */
export interface Connection {
  /** Sends a notification. If a response is being made, the notification follows it. */
  notify(method: string, params: object): void;
  /** The functions that end each subscription, by the id that the client has. */
  readonly subscriptions: Map<string, () => void>;
}
