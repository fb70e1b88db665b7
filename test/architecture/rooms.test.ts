import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../support/sourceCode.js";
import { findCircles, type ImportGraph, readImports } from "./importGraph.js";

/** The most source files in one folder, so that a reader takes in its list at one look. */
const MOST_FILES = 16;
/** Folders whose files are of one kind, such as the methods of an interface or the commands of a program. They may have {@link MOST_ALIKE}. */
const ALIKE = ["devnet/src/methods", "cli/src/commands"];
const MOST_ALIKE = 24;

/** The part of the lane's face that its rooms import: what all of them share. */
const SHARED_BY_ROOMS = ["lane/context.ts"];

const graphs = new Map(
  readdirSync(join(root, "packages")).map((name) => [name, readImports(join(root, "packages", name))]),
);
const lane: ImportGraph = new Map(
  [...(graphs.get("server") ?? [])].filter(([file]) => file.startsWith("lane/")),
);
const roomOf = (file: string) => (dirname(file) === "lane" ? undefined : file.split("/")[1]);

describe("the folders of each package", () => {
  it(`have at most ${MOST_FILES} source files, or ${MOST_ALIKE} of one kind`, () => {
    const counts = new Map<string, number>();
    for (const [name, files] of graphs) {
      for (const file of files.keys()) {
        const folder = dirname(join(name, "src", file));
        counts.set(folder, (counts.get(folder) ?? 0) + 1);
      }
    }
    const full = [...counts].filter(
      ([folder, count]) => count > (ALIKE.includes(folder) ? MOST_ALIKE : MOST_FILES),
    );
    expect(full).toEqual([]);
  });
});

describe("the rooms of the lane", () => {
  it("import one another without a circle", () => {
    const rooms = new Map<string, Set<string>>();
    for (const [file, imported] of lane) {
      const room = roomOf(file);
      if (room === undefined) continue;
      const targets = rooms.get(room) ?? new Set();
      for (const target of imported) {
        const other = target.startsWith("lane/") ? roomOf(target) : undefined;
        if (other !== undefined && other !== room) targets.add(other);
      }
      rooms.set(room, targets);
    }
    expect(findCircles(rooms)).toEqual([]);
  });

  it("import nothing of the lane's face but what all of them share", () => {
    const upwards = [...lane].flatMap(([file, imported]) =>
      [...imported]
        .filter((target) => roomOf(file) !== undefined && dirname(target) === "lane")
        .filter((target) => !SHARED_BY_ROOMS.includes(target))
        .map((target) => `${file} → ${target}`),
    );
    expect(upwards).toEqual([]);
  });
});
