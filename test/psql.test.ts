// `npm run psql` beside a service with an embedded PostgreSQL.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openStore, type Store } from "../packages/server/src/store/store.js";
import { silent } from "../packages/server/test/support/testPostgres.js";
import { root } from "./support/childProgram.js";
import { dataFolder } from "./support/dataFolder.js";
import { freshFolder } from "./support/freshFolder.js";

let dataDir: string;
let store: Store;
beforeAll(async () => {
  dataDir = await dataFolder();
  store = await openStore({ dataDir }, silent);
});
afterAll(() => store.close());

function psql(args: readonly string[], input = "") {
  const { DATABASE_URL: _, ...env } = process.env;
  const running = promisify(execFile)(process.execPath, [join(root, "scripts", "psql.mjs"), ...args], {
    env,
  });
  running.child.stdin?.end(input);
  return running;
}

it("prints the rows of statements that are given, or read from the standard input", async () => {
  const given = await psql([
    "--data-dir",
    dataDir,
    "select '\\x0a'::bytea as hash, 2 as nonce",
    "begin; commit",
  ]);
  expect(given.stdout).toMatch(/hash.*nonce/);
  expect(given.stdout).toMatch(/'\\\\x0a' .* 2 /);
  expect(given.stdout).toMatch(/SELECT 1\nBEGIN\nCOMMIT\n$/);
  const read = await psql(
    ["--data-dir", dataDir],
    "select count(*)\nfrom submissions;\nselect 1 where false",
  );
  expect(read.stdout).toMatch(/count[\s\S]*'0'[\s\S]*SELECT 1\n[\s\S]*SELECT 0\n$/);
});

it("says what is wrong with a statement, and that no service runs on the folder", async () => {
  await expect(psql(["--data-dir", dataDir, "select nothing"])).rejects.toMatchObject({
    code: 1,
    stderr: 'column "nothing" does not exist\n',
  });
  const empty = freshFolder();
  await expect(psql(["--data-dir", empty, "select"])).rejects.toMatchObject({
    code: 1,
    stderr: `no service runs on the data folder ${empty}\n`,
  });
});
