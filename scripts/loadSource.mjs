import { root } from "./setup.mjs";

/**
 * Loads a TypeScript module the way the tests are loaded: by Vite, from the sources.
 * @param {string} path from the root of the repository: "/test/laws/index.ts"
 * @returns the module, and what ends the loader.
 */
export async function loadSource(path) {
  // Not at the top: in a fresh checkout it is there only after the set-up.
  const { createViteServer } = await import("vitest/node");
  const server = await createViteServer({
    configFile: false,
    root,
    logLevel: "error",
    appType: "custom",
    optimizeDeps: { noDiscovery: true },
    server: { middlewareMode: true, watch: null, ws: false },
    ssr: { resolve: { conditions: ["source", "node", "import", "module", "default"] } },
  });
  return { module: await server.ssrLoadModule(path), close: () => server.close() };
}
