import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OutcomeRecord } from "@gas-waiver/server";
import { afterAll, describe, expect, it } from "vitest";
import { type ExportFile, type ExportPlan, openExportFile } from "./exportFile.js";
import { EXPORT_FORMATS } from "./exportFormat.js";

const folder = mkdtempSync(join(tmpdir(), "gas-waiver-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MESSAGES = [undefined, 'a "quoted",\n\nmessage\n', "ü".repeat(9), '"', ""];
const OUTCOMES = MESSAGES.map(
  (message, i): OutcomeRecord => ({
    ...{ id: `0195${i}f00-0000-7000-8000-000000000001`, chainId: 2201, keyId: "shop", signings: 1 },
    ...{ state: "failed", certainty: "not_broadcast", txHash: "0x11", sender: "0x22", nonce: "0" },
    acceptedAt: "2025-03-01T00:00:00.000Z",
    ...(message !== undefined && { error: { code: "BROADCAST_FAILED", message } }),
  }),
);

/** Writes the outcomes that an open export does not have. @returns the number of those that it has. */
async function writeRest(file: ExportFile, { format }: ExportPlan): Promise<number> {
  const { lastId } = file.tally;
  const rest = OUTCOMES.filter(({ id }) => lastId === undefined || id > lastId);
  const text = rest.map(EXPORT_FORMATS[format].record).join("");
  const present = file.tally.rows;
  await file.write(
    rest.map(({ id }) => id),
    text,
  );
  return present;
}

describe("an export that was cut off at any place", () => {
  it.each(["ndjson", "csv"] as const)("goes on after its last complete record: %s", async (format) => {
    const plan: ExportPlan = { from: "2025-02-25", to: "2025-03-08", format };
    const path = join(folder, format);
    const first = await openExportFile(path, plan, { resume: false });
    await writeRest(first, plan);
    const { sha256, days } = await first.complete();
    await first.close();
    const whole = readFileSync(path);
    const text = whole.toString();
    for (let cut = 0; cut <= whole.length; cut += 3) {
      writeFileSync(`${path}.part`, whole.subarray(0, cut));
      const file = await openExportFile(path, plan, { resume: true });
      const present = await writeRest(file, plan);
      const complete = OUTCOMES.filter(({ id }) => {
        const record = EXPORT_FORMATS[format].record(OUTCOMES.find((one) => one.id === id) as OutcomeRecord);
        return Buffer.byteLength(text.slice(0, text.indexOf(record) + record.length)) <= cut;
      });
      expect({ cut, present }).toEqual({ cut, present: complete.length });
      expect(file.tally.sha256()).toBe(sha256);
      expect(file.tally.rowsByDay).toEqual(days);
      await file.close();
      expect(readFileSync(`${path}.part`).equals(whole)).toBe(true);
    }
  });
});

it("writes its manifest into no file that a link leads to, such as another user's in /tmp", async () => {
  const plan: ExportPlan = { from: "2025-02-25", to: "2025-03-08", format: "ndjson" };
  const path = join(folder, "linked");
  const other = join(folder, "other");
  writeFileSync(other, "another file");
  symlinkSync(other, `${path}.manifest.json.new`);
  const file = await openExportFile(path, plan, { resume: false });
  await file.close();
  expect(readFileSync(other, "utf8")).toBe("another file");
  expect(JSON.parse(readFileSync(`${path}.manifest.json`, "utf8"))).toMatchObject(plan);
});
