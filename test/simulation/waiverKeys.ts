/** The private keys of a world's waivers. */
export function waiverKeys(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => new Uint8Array(32).fill(0x77 + i));
}
