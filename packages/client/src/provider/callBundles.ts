/** The calls of one `wallet_sendCalls`: how many there are, and the transactions that the wallet has sent for them, in order. */
export interface CallBundle {
  readonly calls: number;
  readonly hashes: readonly string[];
  /** Why the call behind the last hash was not sent, if it was not. */
  readonly unsent?: { readonly reason: string; readonly message: string };
  /** The time of the request, in milliseconds since 1970. */
  readonly at: number;
}

/** Where bundles outlive the page: `localStorage`, or anything like it. */
export type BundleStorage = Pick<Storage, "getItem" | "setItem">;

const STORAGE_KEY = "gas-waiver.calls";
/** EIP-5792: wallets should know a bundle for 24 hours. */
const KEPT_MS = 24 * 60 * 60 * 1000;

export type CallBundles = ReturnType<typeof createCallBundles>;

/** Remembers bundles by id, over reloads of the page where it has a storage. */
export function createCallBundles(storage: BundleStorage | undefined = pageStorage()) {
  let bundles: Record<string, CallBundle> = {};
  /** Another tab of the page may have written since. */
  const load = () => {
    const text = storage?.getItem(STORAGE_KEY);
    if (text == null) return;
    try {
      bundles = Object(JSON.parse(text));
    } catch {
      // Something else has written there: what this page remembers stays.
    }
  };
  const save = (changed: Record<string, CallBundle>) => {
    bundles = changed;
    try {
      storage?.setItem(STORAGE_KEY, JSON.stringify(bundles));
    } catch {
      // The storage is full. The bundles last as long as the page.
    }
  };
  return {
    read(id: string): CallBundle | undefined {
      load();
      return Object.hasOwn(bundles, id) ? bundles[id] : undefined;
    },
    write(id: string, bundle: CallBundle): void {
      load();
      const oldest = Date.now() - KEPT_MS;
      const kept = Object.entries(bundles).filter(([, { at }]) => at > oldest);
      save({ ...Object.fromEntries(kept), [id]: bundle });
    },
    delete(id: string): void {
      load();
      const { [id]: _, ...others } = bundles;
      save(others);
    },
  };
}

/** The page's own storage; undefined outside of pages, and where the browser denies it. */
function pageStorage(): BundleStorage | undefined {
  try {
    return globalThis.document === undefined ? undefined : globalThis.localStorage;
  } catch {
    return undefined;
  }
}
