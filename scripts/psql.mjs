// npm run psql: runs SQL in the store of a service that runs on this machine. The binaries of the embedded PostgreSQL have no psql.
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { createConnection } from "../packages/server/dist/store/database/database.js";
import { embeddedConnection } from "../packages/server/dist/store/server/embedded.js";
import { runMain } from "./runMain.mjs";

const USAGE = `Usage: npm run psql -- [--data-dir FOLDER] [STATEMENT…]

Runs SQL in the store of a running service (npm start, gas-waiver dev or serve) and prints the
rows. Without a statement, it reads statements from the terminal or standard input, each up to
a line that ends with ";".

  --data-dir FOLDER  data folder of the service  (default: .gas-waiver)
  --help             show this text

DATABASE_URL names the database of a service that has no embedded one.

  npm run psql -- "select state, count(*) from submissions group by state"`;

const PROMPT = "gas_waiver=> ";

await runMain({ usage: USAGE, readOptions, run });

function readOptions(argv) {
  const options = {
    "data-dir": { type: "string", default: ".gas-waiver" },
    help: { type: "boolean", default: false },
  };
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  return { ...values, statements: positionals };
}

async function run({ "data-dir": dataDir, statements }) {
  const { DATABASE_URL: connectionString } = process.env;
  let connection;
  try {
    const address = connectionString ? { connectionString } : await embeddedConnection(resolve(dataDir));
    connection = createConnection(address);
    await connection.connect();
    const runAll = statements.length > 0 ? statements : statementsOf(process.stdin);
    let status = 0;
    for await (const statement of runAll) status = Math.max(status, await execute(connection, statement));
    return status;
  } catch (error) {
    console.error(error.message);
    return 1;
  } finally {
    await connection?.end();
  }
}

/** Yields the statements of an input. On a terminal, it asks for each. */
async function* statementsOf(input) {
  const lines = createInterface({ input, output: input.isTTY ? process.stdout : undefined, prompt: PROMPT });
  let isOpen = true;
  lines.once("close", () => {
    isOpen = false;
  });
  let text = "";
  lines.prompt();
  for await (const line of lines) {
    text += `${line}\n`;
    if (line.trimEnd().endsWith(";")) {
      yield text;
      text = "";
    }
    // The input may have ended while the statement ran.
    if (isOpen) lines.prompt();
  }
  if (text.trim() !== "") yield text;
}

/** Runs a text of one or several statements. @returns the exit status. */
async function execute(connection, text) {
  try {
    for (const { command, rows, rowCount } of [await connection.query(text)].flat()) {
      if (rows.length > 0) console.table(rows.map(readable));
      console.log(`${command} ${rowCount ?? ""}`.trimEnd());
    }
    return 0;
  } catch (error) {
    console.error(error.message);
    return 1;
  }
}

/** Makes the values of a row as PostgreSQL writes them. */
function readable(row) {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, textOf(value)]));
}

function textOf(value) {
  if (Buffer.isBuffer(value)) return `\\x${value.toString("hex")}`;
  if (value instanceof Date) return value.toISOString();
  return value !== null && typeof value === "object" ? JSON.stringify(value) : value;
}
