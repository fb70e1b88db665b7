import type { Environment } from "./settings/readSettings.js";

/** The variables of this program, each of which may hold a secret: a key, a token, or a password in a URL. */
const OWN_VARIABLES = /^(GAS_WAIVER_.*|DATABASE_URL)$/;

/**
 * Takes this program's variables out of the environment of the process. Child processes, worker threads and diagnostic
 * reports then do not have them.
 * @returns the whole environment as it was.
 */
export function takeEnvironment(env: NodeJS.ProcessEnv): Environment {
  const taken = { ...env };
  for (const name of Object.keys(env)) if (OWN_VARIABLES.test(name)) delete env[name];
  return taken;
}

interface SignalSource {
  on(name: "SIGUSR1", listener: () => void): unknown;
}

/**
 * Keeps Node's inspector closed. Without a listener for SIGUSR1, Node opens the inspector at that signal, and whoever
 * connects to it can read the keys in memory. (`--disable-sigusr1` does the same, but Node 20 does not know it.)
 */
export function keepInspectorClosed(source: SignalSource): void {
  source.on("SIGUSR1", () => {});
}
