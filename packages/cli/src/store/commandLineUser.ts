import { hostname, userInfo } from "node:os";

/** The actor in the audit for changes by the command line: the system's user and host. */
export function commandLineUser(): string {
  let user = "somebody";
  try {
    user = userInfo().username;
  } catch {
    // A container's user may have no name.
  }
  return `command line, ${user}@${hostname()}`;
}
