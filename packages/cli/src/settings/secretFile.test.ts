import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { SERVE_SETTINGS } from "../serve/serveSettings.js";
import { fileProblem, readSecretFile } from "./secretFile.js";

const folder = mkdtempSync(join(tmpdir(), "gas-waiver-secrets-"));
afterAll(() => rmSync(folder, { recursive: true }));

const SECRET = "dd".repeat(32);
let count = 0;
function fileOf(mode: number, inFolder = folder): string {
  const path = join(inFolder, `secret ${count++}`);
  writeFileSync(path, SECRET);
  chmodSync(path, mode);
  return path;
}

describe("a file of secrets", () => {
  it.each([0o600, 0o400, 0o700])("is read with mode %o", (mode) => {
    expect(readSecretFile(fileOf(mode))).toBe(SECRET);
  });

  it.each([0o640, 0o620, 0o604, 0o602, 0o644, 0o660, 0o666])(
    "of mode %o is refused with the command that mends it",
    (mode) => {
      const path = fileOf(mode);
      expect(() => readSecretFile(path)).toThrow(
        `can be read or written by other users (mode 0${mode.toString(8)}): run \`chmod 600 '${path}'\``,
      );
      chmodSync(path, 0o600);
      expect(readSecretFile(path)).toBe(SECRET);
    },
  );

  it("is judged itself, not the link that leads to it", () => {
    const [good, bad] = [join(folder, "good"), join(folder, "bad")];
    symlinkSync(fileOf(0o600), good);
    symlinkSync(fileOf(0o644), bad);
    expect(readSecretFile(good)).toBe(SECRET);
    expect(() => readSecretFile(bad)).toThrow("chmod 600");
  });

  it("is refused in a folder where others can replace it, unless the folder is sticky", () => {
    const shared = join(folder, "shared");
    mkdirSync(shared);
    const path = fileOf(0o600, shared);
    chmodSync(shared, 0o777);
    const link = join(folder, "link into the shared folder");
    symlinkSync(path, link);
    for (const one of [path, link]) {
      expect(() => readSecretFile(one)).toThrow(`(mode 0777): run \`chmod go-w ${shared}\``);
    }
    chmodSync(shared, 0o1777);
    for (const one of [path, link]) expect(readSecretFile(one)).toBe(SECRET);
  });

  it.each([
    ["its owner's", 0o100600, 1000, 1000, undefined],
    ["another user's", 0o100600, 1001, 1000, "chown 1000 /keys"],
    ["another user's, for root", 0o100600, 1001, 0, "chown 0 /keys"],
    ["root's, for its group", 0o100640, 0, 1000, undefined],
    ["root's, for everybody", 0o100644, 0, 1000, "chmod 600 /keys"],
    ["root's, writable by its group", 0o100660, 0, 1000, "chmod 600 /keys"],
    ["root's, for its group, for root", 0o100640, 0, 0, "chmod 600 /keys"],
  ])("%s: mode %o of user %i for user %i", (_, mode, uid, user, command) => {
    const problem = fileProblem("/keys", { mode, uid }, user);
    if (command === undefined) expect(problem).toBeUndefined();
    else expect(problem).toContain(`run \`${command}\``);
  });
});

describe("gas-waiver serve", () => {
  it.each(["waiverKeyFile", "apiKeysFile", "adminTokensFile", "databaseUrlFile"] as const)(
    "refuses a %s that other users can read",
    (name) => {
      expect(() => SERVE_SETTINGS[name].parse(fileOf(0o644))).toThrow("chmod 600");
    },
  );
});
