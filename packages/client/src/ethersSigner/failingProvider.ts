import type { Listener, Provider, ProviderEvent } from "ethers";

/**
 * Returns the provider of a signer, with one addition: a listener to the receipt of a transaction hears of its failure too. The
 * response of a `Contract` waits as such a listener, with the provider that its signer shows, and no provider knows of failures.
 * @param ended waits until the transaction has ended or the function returns true, and throws if it failed.
 */
export function failingProvider(
  provider: Provider,
  ended: (hash: string, isOver: () => Promise<boolean>) => Promise<unknown>,
): Provider {
  const on = async (event: ProviderEvent, listener: Listener) => {
    await provider.on(event, listener);
    const isOver = async () => !(await provider.listeners(event)).includes(listener);
    if (typeof event === "string" && /^0x[0-9a-f]{64}$/i.test(event))
      ended(event, isOver).catch((error: unknown) => listener(failedReceipt(error)));
    return shown;
  };
  const shown: Provider = new Proxy(provider, {
    get(target, name) {
      const value = name === "on" ? on : Reflect.get(target, name, target);
      // A provider has private members, and the proxy has none.
      return typeof value === "function" ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
  return shown;
}

/** A receipt that ends a wait of ethers with the error, when ethers asks whether the call reverted. */
function failedReceipt(error: unknown): object {
  return {
    confirmations: async () => Number.POSITIVE_INFINITY,
    get status() {
      throw error;
    },
  };
}
