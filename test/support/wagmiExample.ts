import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { root } from "./childProgram.js";
import { freshFolder } from "./freshFolder.js";

const run = promisify(execFile);

/** The address of the page in the tests. No server listens there: the browser gets the files from this process. */
const PAGE_URL = "http://127.0.0.1:5173/";

/** Builds `examples/wagmi` for a service at this URL, as `npm run build` does there. @returns the folder with the page. */
export async function buildWagmiExample(serviceUrl: string): Promise<string> {
  const folder = freshFolder();
  const vite = join(root, "node_modules", "vite", "bin", "vite.js");
  await run(process.execPath, [vite, "build", "--logLevel", "error", "--outDir", folder, "--emptyOutDir"], {
    cwd: join(root, "examples", "wagmi"),
    env: { PATH: process.env.PATH ?? "", VITE_GAS_WAIVER_URL: serviceUrl },
  });
  return folder;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
};

/** Serves the folder to a tab, and opens the page. */
export async function openBuiltPage(page: Page, folder: string): Promise<void> {
  await page.route(`${PAGE_URL}**`, async (route) => {
    const name = new URL(route.request().url()).pathname.slice(1) || "index.html";
    const path = join(folder, name);
    const contentType = TYPES[extname(name)] ?? "application/octet-stream";
    await route.fulfill(existsSync(path) ? { contentType, body: readFileSync(path) } : { status: 404 });
  });
  await page.goto(PAGE_URL);
}
