// A loader hook: the service gets its ids from uuidOfProcess.mjs.
const OWN = new URL("./uuidOfProcess.mjs", import.meta.url).href;

export function resolve(specifier, context, next) {
  if (specifier !== "uuid" || context.parentURL === OWN) return next(specifier, context);
  return { url: OWN, shortCircuit: true };
}
