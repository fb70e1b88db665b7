import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Copy, DockerfileParser, type Instruction } from "dockerfile-ast";
import { root } from "../support/program.js";

export interface CopiedFiles {
  /** The stage that the files come from; undefined for the build context. */
  readonly from: string | undefined;
  readonly source: string;
  readonly target: string;
}

export interface Stage {
  /** The stage's name, or its number. */
  readonly name: string;
  readonly base: string;
  readonly copies: readonly CopiedFiles[];
  /** The commands of its RUN instructions. */
  readonly runs: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The text behind each other instruction, by its keyword. The last one of a keyword counts. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Reads the stages of the repository's Dockerfile. */
export function readDockerfile(): {
  readonly args: Readonly<Record<string, string>>;
  readonly stages: Stage[];
} {
  const instructions = DockerfileParser.parse(
    readFileSync(join(root, "Dockerfile"), "utf8"),
  ).getInstructions();
  const first = instructions.findIndex((one) => one.getKeyword() === "FROM");
  const args = Object.fromEntries(
    instructions.slice(0, first).map((one) => one.getArgumentsContent()?.split("=", 2) ?? []),
  );
  const stages: Stage[] = [];
  for (let i = first; i < instructions.length; ) {
    const rest = instructions.slice(i + 1).findIndex((one) => one.getKeyword() === "FROM");
    const end = rest === -1 ? instructions.length : i + 1 + rest;
    stages.push(stageOf(instructions.slice(i, end), stages.length));
    i = end;
  }
  return { args, stages };
}

function stageOf([head, ...instructions]: readonly Instruction[], number: number): Stage {
  const words = (head?.getArguments() ?? [])
    .map((word) => word.getValue())
    .filter((word) => !word.startsWith("--"));
  const contentsOf = (keyword: string) =>
    instructions
      .filter((one) => one.getKeyword() === keyword)
      .map((one) => one.getArgumentsContent()?.replaceAll("\\\n", " ") ?? "");
  const pairs = contentsOf("ENV").flatMap((text) => text.split(/\s+/));
  return {
    name: words[2] ?? String(number),
    base: words[0] ?? "",
    copies: instructions.filter((one) => one.getKeyword() === "COPY").flatMap((one) => filesOf(one as Copy)),
    runs: contentsOf("RUN"),
    env: Object.fromEntries(pairs.map((pair) => pair.split("=", 2))),
    settings: Object.fromEntries(
      instructions.map((one) => [one.getKeyword(), one.getArgumentsContent() ?? ""]),
    ),
  };
}

function filesOf(copy: Copy): CopiedFiles[] {
  const words = copy.getArguments().map((word) => word.getValue());
  const target = words.at(-1) ?? "";
  const from = copy.getFromFlag()?.getValue() ?? undefined;
  return words.slice(0, -1).map((source) => ({ from, source, target }));
}
