import { relative } from "node:path";
import { BaseSequencer } from "vitest/node";
import { root } from "./install.mjs";

/**
 * The kinds of tests, those whose files take longest first. Programs and browsers take tens of seconds a file, services seconds, and what
 * is tested beside its code far less: that is left for the end, when a long file would leave the other workers without one.
 */
const KINDS = [/^test\//, /^packages\/[^/]+\/test\//, /^/];

const kindOf = ({ moduleId }) => KINDS.findIndex((kind) => kind.test(relative(root, moduleId)));

/** Runs the files of each project by their kinds, and in a kind as vitest does: by what they took before, or else by their size. */
export default class LongestFirst extends BaseSequencer {
  async sort(files) {
    const sorted = await super.sort(files);
    // A process that several files share ends where the next one is another project's.
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) =>
      sorted.filter((file) => file.project === project).sort((a, b) => kindOf(a) - kindOf(b)),
    );
  }
}
