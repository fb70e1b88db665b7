import { join } from "node:path";
import { withPrograms } from "../programs.mjs";

const programOf = (name) => new URL(`${name}.mjs`, import.meta.url);

/** Requests before the measurement, for which V8 compiles the code. */
const WARM_UP = { perSecond: 200, seconds: 5 };

/**
 * Starts node, service and load, lets `use` work with them, and ends them. The service has had a warm-up.
 * @template T
 * @param {{ folder: string, signal: AbortSignal }} workspace
 * @param {(programs: { node: any, service: any, load: any }) => Promise<T>} use
 */
export function withService({ folder, signal }, use) {
  return withPrograms({ signal }, async (start) => {
    const node = await start(programOf("node"), []);
    const service = await start(programOf("service"), [node.url, join(folder, "store")]);
    const load = await start(programOf("load"), [service.url]);
    await load.ask("offer", WARM_UP);
    await service.ask("pauses");
    return use({ node, service, load });
  });
}
