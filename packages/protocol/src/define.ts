/**
 * Returns the result of `make`. Bundlers drop a call that is marked as pure where nothing reads its result, so schemas,
 * samples and descriptions stay out of a client's bundle. Bundlers would keep an object literal that contains a spread,
 * a call or a template.
 */
export function define<const T>(make: () => T): T {
  return make();
}
