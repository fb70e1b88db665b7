/** The least length of a part of a URL that may be a secret: a shorter word may stand in an answer by chance. */
const MIN_SECRET_CHARACTERS = 12;
const REMOVED = "[removed]";
/** Addresses are public, and answers are made of them. A URL may name who is paid, or a waiver. */
const ADDRESS = /^0x[0-9a-f]{40}$/i;

/**
 * Makes the function that removes from a text what may be secret in this URL: its password, path and query. Gateways take
 * their keys there, and repeat them in the messages of errors, which go into logs.
 */
export function createSecretRemover(url: string): (text: string) => string {
  const { username, password, pathname, search, searchParams } = new URL(url);
  const words = [username, password, ...pathname.split("/"), ...searchParams.values()];
  const target = `${pathname}${search}`;
  const secrets = [target, pathname, ...words.flatMap((word) => [word, decoded(word)])].filter(
    (secret) => secret.length >= MIN_SECRET_CHARACTERS && !ADDRESS.test(secret),
  );
  // The longest comes first, because it may hold others.
  const ordered = [...new Set(secrets)].sort((a, b) => b.length - a.length);
  return (text) => ordered.reduce((rest, secret) => rest.replaceAll(secret, REMOVED), text);
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}
