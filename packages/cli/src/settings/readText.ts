import { readFileSync } from "node:fs";
import { InvalidValueError } from "./setting.js";

/**
 * Reads a file, or what comes from an open file descriptor.
 * @throws {@link InvalidValueError} if it cannot be read.
 */
export function readText(file: string | number): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw unreadable(error);
  }
}

/** Returns the system's error about a file as that of the setting which names it. */
export function unreadable(error: unknown): InvalidValueError {
  const { code, message } = error as NodeJS.ErrnoException;
  return new InvalidValueError(`cannot be read: ${code === "ENOENT" ? "there is no such file" : message}`);
}
