import { existsSync, mkdtempSync, rmdirSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import {
  certificateProblems,
  certificateWarning,
  checkDatabase,
  connectionsOf,
  type StoreConnections,
} from "@gas-waiver/server";
import { usualSchema } from "../serve/networkSchema.js";
import type { NetworkConfig, ServeConfig } from "../serve/serveConfig.js";
import type { SharedValues } from "../serve/serveSettings.js";
import { isPortOfService, portProblem } from "../startup/portProblem.js";
import type { ConfigFinding } from "./finding.js";
import { type Partly, unusableSettings } from "./unusableSettings.js";

/** Less free room than this lasts for hours, not for days. */
const LITTLE_ROOM_BYTES = 2 ** 30;
/** A new PostgreSQL has about 40 MiB of files, and writes segments of 16 MiB. */
const LEAST_ROOM_BYTES = 2 ** 26;

/** Checks the certificate and its key. */
export function checkTls({ tlsCert, tlsKey }: Partly<SharedValues>): ConfigFinding[] {
  if (tlsCert === undefined || tlsKey === undefined) return [];
  const base = { area: "TLS", subject: tlsCert.path, check: "certificate" } as const;
  const problems = certificateProblems({ cert: tlsCert.pem, key: tlsKey.pem });
  if (problems.length > 0) return problems.map((found) => ({ ...base, verdict: "refuses", found }));
  const warning = certificateWarning(tlsCert.pem, Date.now());
  if (warning !== undefined) return [{ ...base, verdict: "warning", found: warning }];
  return [{ ...base, verdict: "ok", found: "the certificate is valid, and the key is its own" }];
}

/** Opens each port for a moment. One that a service has is none to refuse: its settings are checked before it reads them again. */
export async function checkPorts(values: Partly<SharedValues>): Promise<ConfigFinding[]> {
  const { host, port, metricsHost, metricsPort, adminHost, adminPort, tlsCert } = values;
  const places = [
    { check: "API", host, port },
    { check: "metrics", host: metricsHost, port: metricsPort },
    { check: "admin API", host: adminHost, port: adminPort },
  ];
  const findings: ConfigFinding[] = [];
  for (const { check, host = "127.0.0.1", port } of places) {
    if (port === undefined) continue;
    const base = { area: "ports", subject: `${host}:${port}`, check } as const;
    const problem = await portProblem(host, port);
    if (problem === undefined) findings.push({ ...base, verdict: "ok", found: "the port can be opened" });
    else if (await isPortOfService(host, port, tlsCert !== undefined))
      findings.push({
        ...base,
        verdict: "warning",
        found: "the port is held by a running gas-waiver, which may be this one",
        means: "another one cannot listen there",
      });
    else
      findings.push({
        ...base,
        verdict: "refuses",
        found: problem,
        means: "the service cannot listen there",
        remedy: "take another port",
      });
  }
  return findings;
}

/** Checks the room and the rights of the data folder. A database elsewhere has its own disk. */
export async function checkDisk(values: Partly<SharedValues>): Promise<ConfigFinding[]> {
  if ((values.databaseUrl ?? values.databaseUrlFile) !== undefined) return [];
  const folder = resolve(values.dataDir ?? ".gas-waiver");
  const existing = closestFolder(folder);
  const base = { area: "disk", subject: folder } as const;
  const problem = writeProblem(existing);
  if (problem !== undefined) {
    const means = "the store cannot be made";
    return [{ ...base, check: "rights", verdict: "refuses", found: problem, means }];
  }
  const { bavail, bsize } = await statfs(existing);
  return [{ ...base, check: "room", ...verdictOfRoom(bavail * bsize) }];
}

/** Judges the free room of the data folder's disk. */
export function verdictOfRoom(freeBytes: number): Pick<ConfigFinding, "verdict" | "found" | "means"> {
  const found = `${(freeBytes / 2 ** 30).toFixed(1)} GiB are free`;
  if (freeBytes >= LITTLE_ROOM_BYTES) return { verdict: "ok", found };
  if (freeBytes >= LEAST_ROOM_BYTES)
    return { verdict: "warning", found, means: "the store stops accepting when the disk is full" };
  return { verdict: "refuses", found: "the disk is full", means: "the store cannot be made or opened" };
}

/** Makes a folder for a moment. Rights alone do not show a file system that takes none. */
function writeProblem(existing: string): string | undefined {
  try {
    rmdirSync(mkdtempSync(join(existing, ".gas-waiver-check-")));
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM") return `this user cannot write to ${existing}`;
    if (code === "EROFS") return `${existing} is on a file system that is read-only`;
    if (code === "ENOSPC" || code === "EDQUOT") return `the disk of ${existing} is full`;
    if (code === "ENOTDIR") return `${existing} is not a folder`;
    return `nothing can be written to ${existing}: ${message}`;
  }
}

function closestFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : closestFolder(dirname(folder));
}

/** Checks the database with the schema of each network, and the disk of an embedded one. */
export async function checkPlaceOfStore({
  shared,
  sources,
  networks,
}: ServeConfig): Promise<ConfigFinding[]> {
  const [unusable] = unusableSettings({ values: shared, sources }, [
    "databaseUrl",
    "databaseUrlFile",
    "dataDir",
  ]);
  if (unusable !== undefined) {
    const found = "the setting of its place cannot be used, so no database was tried";
    return [{ area: "database", subject: "", check: "answers", verdict: "not proven", found }];
  }
  const { databaseUrl, databaseUrlFile, dataDir = ".gas-waiver", requireSynchronousStandby = false } = shared;
  const url = databaseUrl ?? databaseUrlFile;
  const place = url === undefined ? { dataDir } : { databaseUrl: url };
  const connections = networks.length * connectionsOf(shared as StoreConnections);
  const stores = networks.flatMap((network) => expectedStore(network) ?? []);
  const [disk, database] = await Promise.all([
    checkDisk(shared),
    checkDatabase(place, { requireSynchronousStandby, ...(url !== undefined && { connections }) }, stores),
  ]);
  const networkOf = (schema: string | undefined) =>
    networks.find((network) => expectedStore(network)?.schema === schema)?.place?.name;
  const ofDatabase = database.map(({ schema, ...finding }): ConfigFinding => {
    const network = schema === undefined ? undefined : networkOf(schema);
    return { ...finding, area: "database", subject: "", ...(network !== undefined && { network }) };
  });
  return [...disk, ...ofDatabase];
}

/** Returns the store of a network; undefined if its schema cannot be read from the settings. */
function expectedStore(network: NetworkConfig) {
  const { place, values } = network;
  const { name } = place ?? {};
  const schema = values.schema ?? (name === undefined ? undefined : usualSchema(name));
  const isUnknown = unusableSettings(network, ["schema"]).length > 0 || (place && schema === undefined);
  if (isUnknown) return undefined;
  const { chainId } = values;
  return { ...(schema !== undefined && { schema }), ...(chainId !== undefined && { chainId }) };
}
