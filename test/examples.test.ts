// Runs the examples as their readers do, against one `gas-waiver dev`.
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { EXAMPLES, ROUTE_DEFINITIONS } from "@gas-waiver/protocol/description";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, launchBrowser } from "../packages/server/test/support/browser.js";
import { injectWallet } from "./support/browserWallet.js";
import { useDevService } from "./support/devService.js";
import { freshFolder } from "./support/freshFolder.js";
import { InjectedWallet } from "./support/injectedWallet.js";
import { Program, root } from "./support/program.js";
import { account, token, tokensOf, transferOf } from "./support/user.js";
import { buildWagmiExample, openBuiltPage } from "./support/wagmiExample.js";

const run = promisify(execFile);
const ALICE = account(2).address;
const BOB = account(3).address;

const [
  {
    transactions: [SIGNED],
  },
] = EXAMPLES.SubmitRequest as readonly [{ transactions: readonly string[] }];

const started = useDevService();
let env: Record<string, string>;
beforeAll(() => {
  const { url, rpcUrl } = started();
  env = { GAS_WAIVER_URL: url, RPC_URL: rpcUrl };
});

/** Runs an example. @returns its standard output. */
async function outputOf(command: string, file: string): Promise<string> {
  const { PATH = "" } = process.env;
  const { stdout } = await run(command, [join("examples", file)], { cwd: root, env: { PATH, ...env } });
  return stdout;
}

/** The test tokens that an account gains while `work` runs. */
async function gainOf(owner: string, work: () => Promise<unknown>): Promise<bigint> {
  const { chain } = started();
  const before = await tokensOf(chain, owner);
  await work();
  return (await tokensOf(chain, owner)) - before;
}

describe("the examples", () => {
  it("are all in this test, exampleProjects.test.ts or hardhat3.test.ts, but those in other languages, whose requests recordedClients.test.ts makes", () => {
    expect(readdirSync(join(root, "examples")).sort()).toEqual([
      ...["README.md", "browser-server.mjs", "browser.html", "curl.sh", "foundry"],
      ...["go-ethereum.go", "hardhat-2", "hardhat-3", "node-ethers.mjs", "node-viem.mjs", "python-web3.py"],
      ...["settings.mjs", "wagmi", "websocket.mjs"],
    ]);
  });

  it("send with viem", async () => {
    let output = "";
    const gain = await gainOf(BOB, async () => {
      output = await outputOf(process.execPath, "node-viem.mjs");
    });
    expect(output).toMatch(/^(?:0x[0-9a-f]{64} success block \d+ gas price 0\n){2}$/);
    expect(gain).toBe(2n * 10n ** 18n);
  });

  it("send with ethers", async () => {
    let output = "";
    const gain = await gainOf(BOB, async () => {
      output = await outputOf(process.execPath, "node-ethers.mjs");
    });
    expect(output).toMatch(/^(?:0x[0-9a-f]{64} status 1 block \d+\n){2}$/);
    expect(gain).toBe(2n * 10n ** 18n);
  });

  it("submit and watch over a WebSocket, frame by frame", async () => {
    let frames: Record<string, unknown>[] = [];
    const gain = await gainOf(BOB, async () => {
      const output = await outputOf(process.execPath, "websocket.mjs");
      frames = output
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
    });
    const [sent, included] = frames;
    expect(sent).toMatchObject({ request: 1, index: 0, success: true });
    expect(included).toEqual({ ...sent, request: "again" });
    expect(gain).toBe(3n * 10n ** 18n);
  });

  it("submit with curl and read the record", async () => {
    const [line = "", record = ""] = (await outputOf("sh", "curl.sh")).split("\n");
    expect(JSON.parse(line)).toMatchObject({ index: 0, success: true });
    expect(JSON.parse(record)).toMatchObject({ id: JSON.parse(line).id, state: "included" });
  });
});

describe("the samples of the reference", () => {
  const routes = Object.entries(ROUTE_DEFINITIONS);
  let id: string;
  const shell = async (sample: string) => {
    const { PATH = "" } = process.env;
    const names = { PATH, URL: env.GAS_WAIVER_URL ?? "", API_KEY: "gw_dev_local", ID: id };
    const { stdout } = await run("sh", ["-c", sample], { cwd: freshFolder(), env: names });
    return stdout;
  };
  beforeAll(async () => {
    const [line = ""] = (await shell(ROUTE_DEFINITIONS.submit.curl)).split("\n");
    expect(JSON.parse(line)).toMatchObject({ index: 0, success: true });
    id = JSON.parse(line).id;
  });

  // The WebSocket's sample needs a program that not every machine has.
  it.each(routes.filter(([name]) => name !== "socket"))("%s: runs with curl", async (_, { curl }) => {
    expect(
      await shell(`set -e; ${curl.replace("curl ", "curl --fail --silent --show-error ")}`),
    ).not.toContain('"error":');
  });

  it("run with the SDK", async () => {
    const samples = routes.flatMap(([, { sdk }]) => (sdk === undefined ? [] : [`{\n${sdk}\n}`]));
    const program = `import { connect, createWaiverClient } from "@gas-waiver/client";
      import { WebSocket } from "ws";
      const [url, apiKey, id, signed] = ${JSON.stringify([env.GAS_WAIVER_URL, "gw_dev_local", id, SIGNED])};
      const client = createWaiverClient({ url, apiKey });
      ${samples.join("\n")}
      console.log("all ran");`;
    const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "-e", program], {
      cwd: root,
    });
    expect(stderr).toBe("");
    expect(stdout).toMatch(/all ran\n$/);
  });
});

describe("the browser example", () => {
  let server: Program;
  let page: string;
  beforeAll(async () => {
    server = new Program([join("examples", "browser-server.mjs")], { ...env, PORT: "0" });
    [, page = ""] = await server.line(/^open (\S+)/);
  });
  afterAll(() => server?.end());

  it("has a server that serves the page, its modules and no other file", async () => {
    const html = readFileSync(join(root, "examples", "browser.html"), "utf8");
    expect(await (await fetch(page)).text()).toBe(html);
    for (const [, module = ""] of html.matchAll(/": "(\/[^"]+)"/g)) {
      expect((await fetch(`${page}${module}`)).headers.get("content-type")).toBe("text/javascript");
    }
    for (const path of ["/package.json", "/packages/server/dist/index.js", "/examples/settings.mjs"]) {
      expect((await fetch(`${page}${path}`)).status).toBe(404);
    }
  });

  it("needs that server for other sites: `gas-waiver dev` allows pages of this machine alone", async () => {
    const allowed = await Promise.all(
      [page, "http://elsewhere.example"].map(async (origin) => {
        const headers = { origin, "access-control-request-method": "POST" };
        return (await fetch(`${env.GAS_WAIVER_URL}/v1/submit`, { method: "OPTIONS", headers })).status;
      }),
    );
    expect(allowed).toEqual([204, 405]);
  });

  it("has a server that relays transfers of the token alone, and the record of an id alone", async () => {
    const owner = account(9);
    const nonce = await started().chain.getTransactionCount(owner.address);
    const post = (transactions: readonly string[], headers = {}) =>
      fetch(`${page}/gasless/v1/submit`, {
        ...{ method: "POST", headers: { "content-type": "application/json", ...headers } },
        body: JSON.stringify({ transactions }),
      });
    const approve = token.encodeFunctionData("approve", [ALICE, 1n]);
    const approval = await owner.signTransaction({ ...transferOf(ALICE, 1n, nonce), data: approve });
    expect((await post([approval])).status).toBe(403);
    const transfer = await owner.signTransaction(transferOf(ALICE, 1n, nonce));
    expect((await post([transfer], { origin: "http://elsewhere.example" })).status).toBe(403);
    const { success, id, txHash } = JSON.parse(await (await post([transfer])).text());
    expect(success).toBe(true);
    const record = await fetch(`${page}/gasless/v1/submissions/${id}`);
    expect(await record.json()).toMatchObject({ id, txHash });
    const refused = ["/v1/submissions", `/v1/submissions/${txHash}`, "/v1/policy", "/v1/health", "/v1/ready"];
    for (const path of refused) expect((await fetch(`${page}/gasless${path}`)).status).toBe(404);
    expect((await fetch(`${page}/v1/submissions`)).status).toBe(404);
  });

  it("has a server that passes reads to the node, and nothing that changes the chain or shows keys", async () => {
    const rpc = (body: unknown) => fetch(`${page}/rpc`, { method: "POST", body: JSON.stringify(body) });
    const call = (method: string) => ({ jsonrpc: "2.0", id: 1, method, params: [] });
    expect(await (await rpc(call("eth_chainId"))).json()).toMatchObject({ result: "0x899" });
    expect(await (await rpc([call("eth_chainId"), call("eth_blockNumber")])).json()).toHaveLength(2);
    for (const method of [
      "devnet_accounts",
      "hardhat_reset",
      "evm_mine",
      "eth_sendRawTransaction",
      "eth_accounts",
    ]) {
      expect((await rpc(call(method))).status).toBe(403);
      expect((await rpc([call("eth_chainId"), call(method)])).status).toBe(403);
    }
  });

  it.skipIf(!hasBrowser)("sends from a page in a real browser", async () => {
    const browser = await launchBrowser();
    try {
      const tab = await browser.newPage();
      tab.setDefaultTimeout(0);
      await tab.goto(page);
      const gain = await gainOf(ALICE, async () => {
        await tab.click("#send");
        await tab.getByText(/^sent 0x[0-9a-f]{64}\nin block \d+\n$/).waitFor();
      });
      expect(gain).toBe(10n ** 18n);
    } finally {
      await browser.close();
    }
  });
});

describe("the wagmi example", () => {
  const USER = 6;
  const wallet = new InjectedWallet(account(USER).privateKey);
  afterAll(() => wallet.close());

  it("pins the versions that the tests use", () => {
    const read = (path: string) => {
      const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, path), "utf8"));
      return { ...dependencies, ...devDependencies };
    };
    const { "@gas-waiver/client": _, ...pinned } = read("examples/wagmi/package.json");
    expect(read("package.json")).toMatchObject(pinned);
  });

  it.skipIf(!hasBrowser)("sends through an injected wallet in a real browser, without a coin", async () => {
    const { chain, url } = started();
    const folder = await buildWagmiExample(url);
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage({ viewport: { width: 640, height: 720 } });
      page.setDefaultTimeout(0);
      await injectWallet(page, wallet);
      await openBuiltPage(page, folder);
      const button = (name: string) => page.getByRole("button", { name, exact: true }).click();
      const alert = page.getByRole("alert");
      expect(await chain.getBalance(account(USER).address)).toBe(0n);

      // The wallet is on another network, and has no other way to this one than the gateway.
      await button("Test wallet");
      await button("Add the network to the wallet");
      await expect.poll(() => wallet.networks.get("0x899")).toBe(`${url}/rpc/gwp_dev_local`);
      wallet.declines = true;
      await button("Send without gas");
      await alert.getByText("You declined it in the wallet. Nothing was sent.").waitFor();
      wallet.declines = false;
      const gain = await gainOf(BOB, async () => {
        await button("Send without gas");
        await page.getByText(/^1 token arrived in block \d+, at a gas price of 0\.$/).waitFor();
      });
      expect(gain).toBe(10n ** 18n);
      await page.getByText("free of gas").waitFor();
      if (process.env.GAS_WAIVER_PICTURE) await page.screenshot({ path: process.env.GAS_WAIVER_PICTURE });

      // The same wallet with the gateway in front sends several calls (EIP-5792).
      await button("Disconnect");

      await button("Your wallet, gasless");
      const gainOfTwo = await gainOf(BOB, async () => {
        await button("Send both without gas");
        await page.getByText("success: 2 of 2 in a block").waitFor();
      });
      expect(gainOfTwo).toBe(10n ** 18n);
      expect(await alert.count()).toBe(0);
      expect(await chain.getBalance(account(USER).address)).toBe(0n);
    } finally {
      await browser.close();
    }
  });
});
