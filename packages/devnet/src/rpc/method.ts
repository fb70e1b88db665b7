import type { Connection } from "./connection.js";

export type Params = readonly unknown[];

/** Returns its result or throws; a promise is as good. */
export type Method = (params: Params, connection?: Connection) => unknown;
export type Methods = Readonly<Record<string, Method>>;
