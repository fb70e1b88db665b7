import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { prepareCluster, TABLES_TEMPLATE } from "./clusterTemplate.js";
import { PostgresNode } from "./postgresNode.js";

/*
 * The PostgreSQL that all test files of a run share. The run's own process starts it when the first test file asks for it
 * (scripts/testRun.mjs), so that it ends with the run.
 */

/** Connections for three files at once, each with several services and their replicas: 60, and 30 for each further store. */
const STORES = 20;
/**
 * Nothing has to survive a crash, and statistics that come at any time would change the plans of a test's queries. Each of the run's
 * eight thousand sessions runs PL/pgSQL, and takes 0.4 ms to load that by itself.
 */
const SETTINGS = `
  full_page_writes = off
  autovacuum = off
  max_prepared_transactions = 5
  shared_preload_libraries = plpgsql`;

/** Starts the PostgreSQL of a run, with its files in the run's folder. */
export async function startRunPostgres(runFolder: string): Promise<PostgresNode> {
  const folder = join(runFolder, "shared");
  await prepareCluster(folder);
  const node = new PostgresNode(folder, STORES);
  await node.configure(SETTINGS);
  await node.start();
  // The first session in a database collects its catalog in a file, which the copies of the template then have too.
  await node.queryIn(TABLES_TEMPLATE, "select");
  return node;
}

/** Finds the folder of the Unix socket of the run's PostgreSQL, which starts if it does not run yet. */
export async function runPostgresHost(): Promise<string> {
  const runFolder = process.env.GAS_WAIVER_TEST_RUN;
  if (runFolder === undefined) throw new Error("this test does not run in vitest");
  const answer = await text(connect(join(runFolder, "postgres.sock")).end());
  const { host, problem } = JSON.parse(answer);
  if (problem !== undefined) throw new Error(`the PostgreSQL of the test run did not start: ${problem}`);
  return host;
}
