// SIGKILL of the service between accepting a transaction and hearing of its broadcast.
import { describe, expect, it } from "vitest";
import { dataFolder } from "./support/dataFolder.js";
import type { Verdict } from "./support/nodeProxy.js";
import { proxiedChain } from "./support/proxiedChain.js";
import { startService, startServiceProcess } from "./support/service.js";
import { post, submit } from "./support/submit.js";
import { account, tokensOf, transferOf } from "./support/user.js";

const SEND_METHOD = "eth_sendRawTransaction";

const started = proxiedChain();

/** Resolves when the account's next nonce is this one. */
async function nonceReaches(address: string, nonce: number): Promise<void> {
  const { devnet, chain } = started();
  await new Promise<void>((resolve, reject) => {
    const check = () =>
      chain.getTransactionCount(address).then((next) => {
        if (next < nonce) return;
        stop();
        resolve();
      }, reject);
    const stop = devnet.onBlock(() => void check());
    void check();
  });
}

describe.each([
  { when: "before the node receives the wrapper", verdict: "dropRequest", user: 0 },
  { when: "after the node accepts the wrapper and before its answer", verdict: "dropResponse", user: 1 },
] satisfies { when: string; verdict: Verdict; user: number }[])(
  "a service that is killed $when",
  ({ verdict, user }) => {
    it("completes each submission exactly once after a restart", async () => {
      const { proxy, chain } = started();
      const dataDir = await dataFolder();
      const sender = account(user);
      const recipient = account(7).address;
      const waiver = account(10).address;
      const tokensBefore = await tokensOf(chain, recipient);
      const wrappersBefore = await chain.getTransactionCount(waiver);
      const batch = await Promise.all(
        [0, 1, 2].map((nonce) => sender.signTransaction(transferOf(recipient, 5n, nonce))),
      );

      proxy.decide = (call) => (call.includes(SEND_METHOD) ? verdict : "pass");
      const first = startServiceProcess({ rpcUrl: proxy.url, dataDir });
      const answer = post((await first.ready()).url, batch).then(
        (response) => response.text(),
        () => "no answer",
      );
      await proxy.dropped();
      expect(await first.end("SIGKILL")).toEqual({ status: null, signal: "SIGKILL" });
      await answer;

      proxy.decide = () => "pass";
      const second = startService({ rpcUrl: proxy.url, dataDir });
      const { url } = await second.ready();
      expect(second.stdout).toMatch(/^3 earlier submission/m);
      await nonceReaches(sender.address, 3);
      expect(await tokensOf(chain, recipient)).toBe(tokensBefore + 15n);
      expect(await chain.getTransactionCount(waiver)).toBe(wrappersBefore + 3);

      // The same transactions are the same submissions; a new one is included.
      const next = await sender.signTransaction(transferOf(recipient, 5n, 3));
      const lines = await submit(url, [...batch, next], { query: "?wait=included" });
      expect(lines.map(({ success }) => success)).toEqual([true, true, true, true]);
      expect(await tokensOf(chain, recipient)).toBe(tokensBefore + 20n);
      expect(await chain.getTransactionCount(waiver)).toBe(wrappersBefore + 4);
      // It has no file to read again, and goes on.
      second.signal("SIGHUP");
      await second.line(/^the settings are those in force$/);
      expect(await second.end()).toEqual({ status: 0, signal: null });
    });
  },
);
