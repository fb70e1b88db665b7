/**
 * Returns what `make` returns. A call of it marked as pure is dropped by a bundler, with the texts in it, where nobody
 * reads the result: schemas, samples and descriptions stay out of a client's bundle that way. A literal in its place
 * would stay in as soon as it holds a spread, a call or a template.
 */
export function define<const T>(make: () => T): T {
  return make();
}
