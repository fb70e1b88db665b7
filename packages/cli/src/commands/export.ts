import { type OutcomeExport, openOutcomeExport } from "@gas-waiver/server";
import { type Context, defineCommand } from "../command.js";
import { CommandFailedError, IncompleteError } from "../errorMessage.js";
import {
  completedExport,
  type ExportFile,
  type ExportManifest,
  type ExportPlan,
  openExportFile,
} from "../export/exportFile.js";
import { EXPORT_FORMATS } from "../export/exportFormat.js";
import { ExportTally, exportLine } from "../export/exportTally.js";
import { Progress } from "../output/progress.js";
import { day, oneOf, text } from "../settings/parsers.js";
import { STORE_SETTINGS, withStore } from "../store/withStore.js";

const SETTINGS = {
  from: { placeholder: "DAY", help: "The first day.", required: true, parse: day },
  to: { placeholder: "DAY", help: "The last day.", required: true, parse: day },
  format: {
    placeholder: "FORMAT",
    help: "ndjson: a JSON object a line, the record of GET /v1/submissions/:id with chainId, keyId and signings. csv: the same values in columns, below a line with their names.",
    defaultValue: "ndjson",
    parse: oneOf("ndjson", "csv"),
  },
  out: {
    placeholder: "FILE",
    help: "The file to write; it must not exist.",
    defaultText: "standard output",
    parse: text,
  },
  resume: { help: "Go on with an export to --out that was ended, or begin one." },
  ...STORE_SETTINGS,
  json: { help: "With --out: print the path, the days, the count and the SHA-256 as JSON, for programs." },
} as const;

export const exportOutcomes = defineCommand({
  description:
    "The outcomes of whole days (UTC), the oldest first: of a submission, the day of the time in its id. Days that are not\n" +
    "complete are refused: the last day must have ended 15 minutes ago, and no submission of the days may be unfinished.\n" +
    "With --out the file is readable for its owner only, and has its name once it is complete; until then it is\n" +
    "FILE.part, and --resume goes on after its last record. FILE.manifest.json has the counts and the SHA-256. Without\n" +
    "--out the records go to standard output, complete if the status is 0.",
  examples: [
    "gas-waiver export --from 2030-01-01 --to 2030-01-31 --format csv --out january.csv --resume",
    "gas-waiver export --from 2030-01-31 --to 2030-01-31 | zstd >2030-01-31.ndjson.zst",
  ],
  settings: SETTINGS,
  check: ({ from, to, out, resume, json }) => [
    ...(from !== undefined && to !== undefined && from > to ? [`--to ${to} is before --from ${from}`] : []),
    ...(resume && out === undefined ? ["--resume is given without --out"] : []),
    ...(json && out === undefined ? ["--json is given without --out"] : []),
  ],
  async run(values, context) {
    const { from, to, format, out } = values;
    const plan = { from, to, format };
    try {
      await withStore(values, openOutcomeExport, (store) =>
        out === undefined
          ? exportToOutput(store, plan, context)
          : exportToFile(store, plan, { ...values, out }, context),
      );
    } catch (error) {
      // The status of a command that was interrupted is 0 otherwise, and a script would take the export for complete.
      if (!context.signal.aborted || error instanceof IncompleteError) throw error;
      throw new IncompleteError("interrupted", { cause: error });
    }
  },
});

/** The settings of an export to a file. */
interface FileOutput {
  readonly out: string;
  readonly resume: boolean | undefined;
  readonly json: boolean | undefined;
}

async function exportToFile(
  store: OutcomeExport,
  plan: ExportPlan,
  { out: path, resume = false, json }: FileOutput,
  context: Context,
): Promise<void> {
  try {
    const completed = await completedExport(path, plan);
    if (completed && !resume) throw new CommandFailedError(`${path} is there already`);
    const manifest = completed ?? (await writeFile(store, plan, path, resume, context));
    // A kill after the file was complete may have kept the store from knowing that.
    await store.recordExported(plan, manifest.days ?? {});
    const { rows, sha256 } = manifest;
    context.print(
      json
        ? JSON.stringify({ file: path, from: plan.from, to: plan.to, rows, sha256 })
        : `${path} is complete: ${rows} outcome(s) of ${plan.from} to ${plan.to}, SHA-256 ${sha256}`,
    );
  } catch (error) {
    if (!isFileError(error)) throw error;
    throw new CommandFailedError(`the export cannot be written: ${error.message}`, { cause: error });
  }
}

async function writeFile(
  store: OutcomeExport,
  plan: ExportPlan,
  path: string,
  resume: boolean,
  context: Context,
): Promise<ExportManifest> {
  await store.assertComplete(plan);
  const file = await openExportFile(path, plan, { resume });
  try {
    await writePages(store, plan, file, ": --resume goes on", context);
    return await file.complete();
  } finally {
    await file.close();
  }
}

async function exportToOutput(store: OutcomeExport, plan: ExportPlan, context: Context): Promise<void> {
  await store.assertComplete(plan);
  const tally = new ExportTally();
  const output = {
    tally,
    async write(ids: readonly string[], text: string) {
      await context.write(text);
      for (const id of ids) tally.addRow(id);
      tally.addBytes(Buffer.from(text));
    },
  };
  await context.write(EXPORT_FORMATS[plan.format].header);
  await writePages(store, plan, output, "", context);
}

/** Writes the outcomes behind the last one of the tally. @param remedy ends the sentence of an interruption. */
async function writePages(
  store: OutcomeExport,
  plan: ExportPlan,
  output: Pick<ExportFile, "tally" | "write">,
  remedy: string,
  { progress, signal }: Context,
): Promise<void> {
  const { tally } = output;
  const { record } = EXPORT_FORMATS[plan.format];
  const shown = new Progress(progress, tally.rows);
  try {
    for await (const outcomes of store.pages(plan, tally.lastId)) {
      if (signal.aborted) throw new IncompleteError(`interrupted after ${tally.rows} outcome(s)${remedy}`);
      const ids = outcomes.map(({ id }) => id);
      await output.write(ids, outcomes.map((outcome) => record(outcome)).join(""));
      shown.update(tally.rows, (perSecond) => exportLine(tally, perSecond));
    }
  } finally {
    shown.end();
  }
}

/** Errors of the file system have a code, and the path in their message. */
function isFileError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error && !("address" in error);
}
