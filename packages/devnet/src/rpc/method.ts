export type Params = readonly unknown[];

/** A JSON-RPC method. It returns the result, or a promise of it, or throws. */
export type Method = (params: Params, connection?: Connection) => unknown;
/** Methods by their names. */
export type Methods = Readonly<Record<string, Method>>;

/** The methods in each of the namespaces, for what tools know under several names. */
export function inNamespaces(namespaces: readonly string[], methods: Methods): Methods {
  const named = namespaces.flatMap((namespace) =>
    Object.entries(methods).map(([name, run]) => [`${namespace}_${name}`, run]),
  );
  return Object.fromEntries(named);
}

/** A connection that takes notifications: a WebSocket. Methods get it beside their parameters. */
export interface Connection {
  /** Sends a notification. If a response is being made, the notification follows it. */
  notify(method: string, params: object): void;
  /** The functions that end each subscription, by the id that the client has. */
  readonly subscriptions: Map<string, () => void>;
}
