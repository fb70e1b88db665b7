/** See bundleSource.mjs. */
export function bundleSource(path: string, name: string): Promise<string>;
