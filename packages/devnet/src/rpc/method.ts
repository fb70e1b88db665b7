import type { Connection } from "./connection.js";

export type Params = readonly unknown[];

/** A JSON-RPC method. It returns the result, or a promise of it, or throws. */
export type Method = (params: Params, connection?: Connection) => unknown;
/** Methods by their names. */
export type Methods = Readonly<Record<string, Method>>;
