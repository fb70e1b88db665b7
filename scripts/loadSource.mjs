import { root } from "./setup.mjs";
import { SOURCES } from "./sources.mjs";

/**
 * Loads a TypeScript module through Vite, from the sources, as vitest loads the tests.
 * @param {string} path from the root of the repository: "/test/laws/index.ts"
 * @returns the module, and a function that ends the loader.
 */
export async function loadSource(path) {
  // Imported here because a fresh checkout has vitest only after `setUp`.
  const { createViteServer } = await import("vitest/node");
  const server = await createViteServer({
    configFile: false,
    root,
    logLevel: "error",
    appType: "custom",
    optimizeDeps: { noDiscovery: true },
    server: { middlewareMode: true, watch: null, ws: false },
    resolve: { alias: SOURCES },
    ssr: { resolve: { conditions: ["node", "import", "module", "default"] } },
  });
  return { module: await server.ssrLoadModule(path), close: () => server.close() };
}
