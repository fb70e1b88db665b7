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
  /** Those that this page has sent. Its storage may be full. */
  const own = new Map<string, CallBundle>();
  const stored = (): object => {
    try {
      return Object(JSON.parse(storage?.getItem(STORAGE_KEY) ?? "{}"));
    } catch {
      return {};
    }
  };
  /** Another tab of the page may have written since, and so may something else. */
  const read = (): Record<string, CallBundle> => {
    const oldest = Date.now() - KEPT_MS;
    const all = Object.entries<CallBundle>({ ...stored(), ...Object.fromEntries(own) });
    return Object.fromEntries(all.filter(([, bundle]) => Object(bundle).at > oldest));
  };
  const save = (bundles: Record<string, CallBundle>) => {
    try {
      storage?.setItem(STORAGE_KEY, JSON.stringify(bundles));
    } catch {
      // The storage is full. The bundles last as long as the page.
    }
  };
  return {
    read(id: string): CallBundle | undefined {
      const bundles = read();
      return Object.hasOwn(bundles, id) ? bundles[id] : undefined;
    },
    write(id: string, bundle: CallBundle): void {
      own.set(id, bundle);
      save(read());
    },
    delete(id: string): void {
      own.delete(id);
      const { [id]: _, ...others } = read();
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
