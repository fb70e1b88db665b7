import { describe, expect, it } from "vitest";
import type { CommandEntry, CommandGroup } from "./command.js";
import { takeEnvironment } from "./processSecrets.js";
import { PROGRAM } from "./program.js";

/** All commands of a group, with those of its groups. */
function commandsOf({ commands }: CommandGroup): CommandEntry[] {
  return Object.values(commands).flatMap((one) => ("commands" in one ? commandsOf(one) : [one]));
}

describe("the environment", () => {
  it("loses every variable that a command reads, and keeps the others", async () => {
    const commands = await Promise.all(commandsOf(PROGRAM).map((entry) => entry.load()));
    const settings = commands.flatMap((command) => Object.values(command.settings));
    const names = new Set(settings.flatMap(({ env }) => env ?? []));
    expect(names).toContain("GAS_WAIVER_KEYS");
    const own = Object.fromEntries([...names].map((name) => [name, "secret"]));
    const env = { PATH: "/bin", ...own };
    expect(takeEnvironment(env)).toEqual({ PATH: "/bin", ...own });
    expect(env).toEqual({ PATH: "/bin" });
  });
});
