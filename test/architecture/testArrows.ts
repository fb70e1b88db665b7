import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findCircles, folderGraph, folderOf, readImports } from "./importGraph.js";

const PACKAGES = join(import.meta.dirname, "../../packages");

/**
 * Defines the tests that hold the imports inside one package, type-only imports included: no circle between files,
 * none between the first-level folders of `src`, and no arrow between folders that is not listed.
 * @param name the folder of the package under `packages/`.
 * @param arrows for each folder of `src`, every folder, and every file directly in `src` (without `.ts`), that it
 *   imports. List the folders from the entry of the data to the base, so that arrows only lead downwards. Files
 *   directly in `src` may import anything as long as no circle comes of it. Leave it out to check for circles only.
 */
export function testArrows(name: string, arrows?: Readonly<Record<string, readonly string[]>>): void {
  const files = readImports(join(PACKAGES, name));
  const folders = folderGraph(files);

  describe(`imports inside packages/${name}/src`, () => {
    it("have no circle between files", () => {
      expect(findCircles(files).map((circle) => circle.join(" → "))).toEqual([]);
    });

    it("have no circle between first-level folders", () => {
      const circles = findCircles(folders).map((circle) => ({
        circle: circle.join(" → "),
        because: circle.slice(1).flatMap((target, i) => importsBetween(circle[i] ?? "", target)),
      }));
      expect(circles).toEqual([]);
    });

    if (arrows === undefined) return;

    it("lead between folders only where an arrow is listed, and every listed arrow is used", () => {
      const isFolder = (node: string) => !files.has(`${node}.ts`);
      const actual = [...folders].filter(([folder]) => isFolder(folder));
      expect(Object.fromEntries(actual.map(([folder, targets]) => [folder, [...targets].sort()]))).toEqual(
        Object.fromEntries(Object.entries(arrows).map(([folder, targets]) => [folder, [...targets].sort()])),
      );
    });

    it("lead downwards in the list of arrows", () => {
      const order = Object.keys(arrows);
      const upwards = Object.entries(arrows).flatMap(([folder, targets]) =>
        targets
          .filter((target) => order.includes(target) && order.indexOf(target) <= order.indexOf(folder))
          .map((target) => `${folder} → ${target}`),
      );
      expect(upwards).toEqual([]);
    });
  });

  function importsBetween(from: string, to: string): string[] {
    return [...files].flatMap(([file, imported]) =>
      [...imported]
        .filter((target) => folderOf(file) === from && folderOf(target) === to)
        .map((target) => `${file} → ${target}`),
    );
  }
}
