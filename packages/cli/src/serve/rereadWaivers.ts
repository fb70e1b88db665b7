import type { WaiverAccount } from "@gas-waiver/protocol";

export interface RereadOptions {
  /** Reads the keys from their files. */
  read(): Promise<readonly WaiverAccount[]>;
  /** Replaces the service's waivers. */
  use(waivers: readonly WaiverAccount[]): Promise<void>;
  print(line: string): void;
}

/**
 * Returns a function that replaces the waivers by those in the files, now or after the reading that goes on. Readings never
 * overlap: a long one that began earlier would bring a key back that was taken away meanwhile, and each keystore takes 256 MiB
 * for a moment. Any number of requests during a reading lead to one more. An unusable file changes nothing.
 */
export function rereadWaivers({ read, use, print }: RereadOptions): () => void {
  let isReading = false;
  let isRequested = false;
  const readOnce = async () => {
    try {
      const waivers = await read();
      await use(waivers);
      print(`${waivers.length} waiver key(s) read again`);
    } catch (error) {
      print(`the waiver keys stay as they were: ${(error as Error).message}`);
    }
  };
  const readWhileRequested = async () => {
    isReading = true;
    while (isRequested) {
      isRequested = false;
      await readOnce();
    }
    isReading = false;
  };
  return () => {
    isRequested = true;
    if (!isReading) void readWhileRequested();
  };
}
