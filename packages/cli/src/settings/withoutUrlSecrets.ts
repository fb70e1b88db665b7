export const MASK = "***";

/** A URL, also one that a mistake keeps from being one: its scheme, login, host, and the rest up to the next entry. */
const URLS = /(?<![\w/.-])((?:https?|wss?):[\\/]*|\w[\w+.-]*:?\/\/)([^\s,"]*@)?([^\s,"/?#\\]*)([^\s,"]*)/gi;

/** Masks the login, path and query of each URL in a text: nodes and signers take keys there. */
export function withoutUrlSecrets(text: string): string {
  return text.replace(URLS, (_, scheme: string, login: string | undefined, host: string, rest: string) => {
    const path = rest === "" || rest === "/" ? "" : `/${MASK}`;
    return `${scheme}${login === undefined ? "" : `${MASK}@`}${host}${path}`;
  });
}
