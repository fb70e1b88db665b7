import { isLoopbackHost } from "../../model/options/networkAddress.js";

/** The way to a database: its host, and the TLS options of the driver. */
export interface DatabaseRoute {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string;
  /** False for no TLS, true for the checks of `verify-full`. */
  readonly ssl: boolean | TlsChecks;
}

interface TlsChecks {
  readonly rejectUnauthorized?: boolean;
  readonly checkServerIdentity?: unknown;
}

/** @returns whether no other machine sees the bytes between here and the database. */
export function isLocalDatabase({ host }: Pick<DatabaseRoute, "host">): boolean {
  return host.startsWith("/") || isLoopbackHost(host);
}

/** @returns whether a database URL says itself how its connections are protected. */
export function namesTlsMode(connectionString: string): boolean {
  if (!URL.canParse(connectionString)) return false;
  const { searchParams } = new URL(connectionString);
  // The driver reads an empty sslmode as none, and an empty ssl as false.
  return searchParams.getAll("sslmode").at(-1) ? true : searchParams.has("ssl");
}

/** @returns a sentence if somebody between here and the database could read or change what is sent. */
export function databaseTlsWarning(route: DatabaseRoute): string | undefined {
  const { host, ssl } = route;
  if (isLocalDatabase(route) || ssl === true) return undefined;
  const remedy = "use sslmode=verify-full, with sslrootcert=FILE if its authority is your own";
  if (ssl === false) {
    return `DATABASE_URL turns TLS off: everybody between here and ${host} can read and change what is stored; ${remedy}`;
  }
  if (ssl.rejectUnauthorized === false) {
    return `DATABASE_URL checks no certificate: whoever answers as ${host} can read and change what is stored; ${remedy}`;
  }
  if (ssl.checkServerIdentity !== undefined) {
    return `DATABASE_URL checks no name: whoever has any certificate of the authority can answer as ${host}; ${remedy}`;
  }
  return undefined;
}
