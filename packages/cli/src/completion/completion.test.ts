// The scripts run in the shells themselves. A shell that is not installed is passed over.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PROGRAM } from "../program.js";
import { run } from "../run.js";
import { type CompletedCommand, commandTree } from "./commandTree.js";

let folder: string;
let commands: CompletedCommand[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gas-waiver-test-"));
  writeFileSync(join(folder, "policy of the shop.json"), "[]");
  commands = await commandTree(PROGRAM);
});
afterAll(() => rmSync(folder, { recursive: true }));

const isInstalled = (shell: string) => spawnSync(shell, ["-c", "true"]).status === 0;

async function scriptOf(shell: string): Promise<string> {
  const written: string[] = [];
  const status = await run(["completion", shell], {
    env: {},
    signal: new AbortController().signal,
    print: () => {},
    printError: (line) => written.push(line),
    write: async (text) => void written.push(text),
  });
  expect(status).toBe(0);
  const file = join(folder, `gas-waiver.${shell}`);
  writeFileSync(file, written.join(""));
  return file;
}

const sh = (command: string, ...args: string[]) =>
  execFileSync(command, args, {
    cwd: folder,
    encoding: "utf8",
    env: { PATH: process.env.PATH, HOME: folder },
  });

/** Completes several lines by bash, whose last word is completed; `=` is a word of its own there. */
function completeByBash(script: string, lines: readonly (readonly string[])[]): string[][] {
  const quoted = (word: string) => `'${word}'`;
  const calls = lines.map(
    (words) =>
      `COMP_WORDS=(gas-waiver ${words.map(quoted).join(" ")}); COMP_CWORD=${words.length}; COMPREPLY=(); _gas_waiver; printf '%s\n' "\${COMPREPLY[@]}" --end--`,
  );
  const out = sh("bash", "--norc", "-c", `source '${script}'\n${calls.join("\n")}`);
  return out
    .split("--end--\n")
    .slice(0, -1)
    .map((part) => part.split("\n").filter((line) => line !== ""));
}

describe("the completion of gas-waiver", () => {
  it("has every command with the flags of its help", () => {
    const create = commands.find(({ path }) => path.join(" ") === "keys create");
    expect(create?.flags.map(({ name }) => name)).toEqual(expect.arrayContaining(["label", "json", "help"]));
    expect(commands.find(({ path }) => path.length === 0)?.words.map(({ word }) => word)).toEqual(
      Object.keys(PROGRAM.commands),
    );
  });

  it("completes commands, flags, fixed values and files in bash", async () => {
    const [first, group, flag, value, joined, file, argument] = completeByBash(await scriptOf("bash"), [
      ["la"],
      ["keys", "re"],
      ["keys", "create", "--allowed"],
      ["serve", "--policy-source", ""],
      ["submit", "--wait", "=", "inc"],
      ["governance", "propose", "--targets", "pol"],
      ["completion", "f"],
    ]);
    expect(first).toEqual(["lanes"]);
    expect(group).toEqual(["revoke"]);
    expect(flag).toEqual(["--allowed-targets"]);
    expect(value).toEqual(["registry", "config", "both"]);
    expect(joined).toEqual(["included"]);
    expect(file).toEqual(["policy of the shop.json"]);
    expect(argument).toEqual(["fish"]);
  });

  it.skipIf(!isInstalled("fish"))("completes them in fish", async () => {
    const script = await scriptOf("fish");
    const lines = [
      "gas-waiver la",
      "gas-waiver keys crea",
      "gas-waiver keys create --lab",
      "gas-waiver serve --policy-source ",
      "gas-waiver governance propose --targets pol",
      "gas-waiver completion z",
    ];
    const calls = lines.map((line) => `complete -C '${line}'; echo --end--`).join("\n");
    const out = sh("fish", "--no-config", "-c", `source '${script}'\n${calls}`);
    const found = out
      .split("--end--\n")
      .slice(0, -1)
      .map((part) =>
        part
          .trimEnd()
          .split("\n")
          .map((line) => line.split("\t")[0]),
      );
    expect(found[0]).toEqual(["lanes"]);
    expect(found[1]).toEqual(["create"]);
    expect(found[2]).toEqual(["--label"]);
    expect(found[3]?.toSorted()).toEqual(["both", "config", "registry"]);
    expect(found[4]).toEqual(["policy of the shop.json"]);
    expect(found[5]).toEqual(["zsh"]);
  });

  it.skipIf(!isInstalled("zsh"))("completes them in zsh", async () => {
    const script = await scriptOf("zsh");
    // A pseudo-terminal types each line and a Tab into an interactive zsh, which inserts the only match.
    const lines = [
      "gas-waiver lan",
      "gas-waiver keys cre",
      "gas-waiver keys create --lab",
      "gas-waiver serve --policy-source reg",
    ];
    const program = `
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1="" PS2="" RPS1=""; unsetopt zle_bracketed_paste 2>/dev/null; autoload -Uz compinit; compinit -u -d ${join(folder, "zcompdump")}; source ${script}; setopt no_always_last_prompt; show() { print -r -- "<<$BUFFER>>"; BUFFER=""; zle .redisplay }; zle -N show; bindkey "^X" show; unset zle_bracketed_paste; print READY'
zpty -r z ignored '*READY*READY*'
for line in ${lines.map((line) => `'${line}'`).join(" ")}; do
  zpty -w -n z "$line"$'\\t\\x18'
  zpty -r z answer '*<<*>>*'
  print -r -- "\${\${answer##*<<}%%>>*}"
done
zpty -d z
`;
    const out = sh("zsh", "-f", "-c", program);
    expect(
      out
        .split("\n")
        .map((line) => line.trimEnd())
        .filter((line) => line !== ""),
    ).toEqual([
      "gas-waiver lanes",
      "gas-waiver keys create",
      "gas-waiver keys create --label=",
      "gas-waiver serve --policy-source registry",
    ]);
  });
});
