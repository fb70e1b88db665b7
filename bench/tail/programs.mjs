import { join } from "node:path";
import { startProgram } from "../programs.mjs";

const programOf = (name) => new URL(`${name}.mjs`, import.meta.url);

/** Requests before the measurement, for which V8 compiles the code. */
const WARM_UP = { perSecond: 200, seconds: 5 };

/**
 * Starts node, service and load, lets `use` work with them, and ends them. The service has had a warm-up.
 * @template T
 * @param {{ folder: string, signal: AbortSignal }} workspace
 * @param {(programs: { node: any, service: any, load: any }) => Promise<T>} use
 */
export async function withPrograms({ folder, signal }, use) {
  const programs = [];
  const start = async (name, args) => {
    const program = await startProgram(programOf(name), args, { signal });
    programs.unshift(program);
    return program;
  };
  try {
    const node = await start("node", []);
    const service = await start("service", [node.url, join(folder, "store")]);
    const load = await start("load", [service.url]);
    await load.ask("offer", WARM_UP);
    await service.ask("pauses");
    return await use({ node, service, load });
  } finally {
    for (const program of programs) await program.close();
  }
}
