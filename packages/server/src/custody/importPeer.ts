import { StartError } from "../model/errors.js";

/**
 * Imports a package that only some custodies need. The service does not depend on it, and is built and checked without it.
 * @typeParam T the part of the package that the custody uses.
 * @throws {@link StartError} with the command that installs it, if it is absent.
 */
export async function importPeer<T>(name: string): Promise<T> {
  try {
    return (await import(/* @vite-ignore */ name)) as T;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ERR_MODULE_NOT_FOUND" || !message.includes(`'${name}'`)) throw error;
    throw new StartError(
      `this custody needs the package ${name}, which is not installed: run \`npm install ${name}\``,
      {
        cause: error,
      },
    );
  }
}
