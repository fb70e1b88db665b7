import { STATUS, STATUS_MEANINGS } from "../../packages/cli/src/exitStatus.js";
import { allCommands } from "./commandsPage.js";
import { code, heading, page, table } from "./markdown.js";

/** docs/reference/exit-statuses.md */
export async function exitStatusesPage(): Promise<string> {
  const names = Object.keys(STATUS) as (keyof typeof STATUS)[];
  const special = (await allCommands()).flatMap(({ name, command }) =>
    command.failure === undefined ? [] : [[code(name), command.failure]],
  );
  return page(
    "packages/cli/src/exitStatus.ts and the commands",
    "Exit statuses",
    "Every command of `gas-waiver` ends with one of these, so that a script can rely on them.",
    table(
      ["status", "meaning"],
      names.map((name) => [String(STATUS[name]), STATUS_MEANINGS[name]]),
    ),
    heading(2, "Where 1 is an answer", "answers"),
    "These commands end with 1 although they did their work, if they found something wrong:",
    table(["command", "1 if"], special),
  );
}
