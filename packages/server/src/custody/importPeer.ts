import { StartError } from "../model/errors.js";

/**
 * Imports a package that only some custodies need, so that the service does not depend on it.
 * @throws {@link StartError} with the command that installs it, if it is absent.
 */
export async function importPeer<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
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
