import type { Page } from "playwright-core";
import type { InjectedWallet } from "./injectedWallet.js";

/** Calls of the page's wallet reach this function; the page must not see an exception of Playwright's. */
type Answer = { readonly result: unknown } | { readonly error: object };

/**
 * Puts a wallet into a page before its scripts run, as an extension does: as `window.ethereum`, and announced by EIP-6963.
 * The key stays in this process.
 */
export async function injectWallet(page: Page, wallet: InjectedWallet): Promise<void> {
  await page.exposeFunction(
    "callWallet",
    (call: { method: string; params?: unknown[] }): Promise<Answer> =>
      wallet.request(call).then(
        (result) => ({ result }),
        ({ code, message, data }) => ({ error: { code, message, data } }),
      ),
  );
  wallet.on("chainChanged", (chainId: string) => {
    void page.evaluate(
      (id) => window.dispatchEvent(new CustomEvent("chain-of-wallet", { detail: id })),
      chainId,
    );
  });
  await page.addInitScript(announce);
}

/** Runs in the page. */
function announce(): void {
  const { callWallet } = window as unknown as { callWallet: (call: object) => Promise<Answer> };
  const listeners = new Map<string, Set<(value: unknown) => void>>();
  const provider = {
    async request(call: object) {
      const answer = await callWallet(call);
      if ("error" in answer) throw answer.error;
      return answer.result;
    },
    on: (event: string, listener: (value: unknown) => void) => {
      listeners.set(event, (listeners.get(event) ?? new Set()).add(listener));
    },
    removeListener: (event: string, listener: (value: unknown) => void) =>
      listeners.get(event)?.delete(listener),
  };
  window.addEventListener("chain-of-wallet", (event) => {
    for (const listener of listeners.get("chainChanged") ?? []) listener((event as CustomEvent).detail);
  });
  Object.assign(window, { ethereum: provider });
  const info = {
    uuid: crypto.randomUUID(),
    name: "Test wallet",
    icon: "data:image/svg+xml,<svg/>",
    rdns: "com.example.wallet",
  };
  const show = () =>
    window.dispatchEvent(
      new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) }),
    );
  window.addEventListener("eip6963:requestProvider", show);
  show();
}
