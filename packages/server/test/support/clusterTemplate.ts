import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { openDatabase, openStore } from "../../src/store/store.js";
import { PostgresNode, silent } from "./postgresNode.js";
import { TELL_WRITES } from "./testSessions.js";

const run = promisify(execFile);

/** The database of each cluster that has the tables of the service and nothing in them, and tells its writes. */
export const TABLES_TEMPLATE = "template_of_tests";

/**
 * Makes the cluster of a test in this folder. Making one and its tables takes most of a second of processor time, so the
 * first test of a run makes one, and the others copy it.
 */
export function prepareCluster(folder: string): Promise<void> {
  return copyOrMake("cluster", makeCluster, folder);
}

/** Makes this folder a service's data folder with a cluster that has no store yet: what the start of a service begins with. */
export function prepareDataFolder(folder: string): Promise<void> {
  return copyOrMake("data", makeDataFolder, folder);
}

async function copyOrMake(name: string, make: (folder: string) => Promise<void>, folder: string) {
  // scripts/testRun.mjs sets it; programs other than the tests make each cluster.
  const runFolder = process.env.GAS_WAIVER_TEST_RUN;
  if (runFolder === undefined) return make(folder);
  const template = join(runFolder, name);
  if (!existsSync(template)) await makeTemplate(template, make);
  await run("cp", ["-a", `${template}/.`, folder]);
}

/** Where several processes make the template at the same time, the first one counts. */
async function makeTemplate(template: string, make: (folder: string) => Promise<void>): Promise<void> {
  const draft = `${template}-${randomUUID()}`;
  await make(draft);
  await rename(draft, template).catch(async (error) => {
    if (!existsSync(template)) throw error;
    await rm(draft, { recursive: true });
  });
}

async function makeDataFolder(folder: string): Promise<void> {
  const database = await openDatabase({ dataDir: folder }, silent);
  await database.stop();
}

async function makeCluster(folder: string): Promise<void> {
  const node = new PostgresNode(folder);
  await node.start();
  try {
    // No test cuts the machine's power, and without fsync PostgreSQL creates a database ten times as fast.
    await node.query(
      "alter system set fsync = off",
      "select pg_reload_conf()",
      `create database ${TABLES_TEMPLATE}`,
    );
    const { host, user } = node.superuser;
    const databaseUrl = `postgres://${user}@localhost/${TABLES_TEMPLATE}?host=${encodeURIComponent(host)}`;
    await (await openStore({ databaseUrl }, silent)).close();
    await node.queryIn(TABLES_TEMPLATE, ...TELL_WRITES);
  } finally {
    await node.stop();
  }
}
