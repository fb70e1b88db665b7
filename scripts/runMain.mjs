/**
 * Runs a program of this repository: reads its options, runs it, and sets the exit status to the number it returns.
 * `--help` prints the usage. If `readOptions` throws, the message and the usage go to standard error with status 2.
 * @param {{ usage: string, readOptions: (argv: string[]) => { help: boolean }, run: (options: any) => Promise<number> }} program
 */
export async function runMain({ usage, readOptions, run }) {
  let options;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${error.message}\n\n${usage}`);
    process.exitCode = 2;
    return;
  }
  if (options.help) {
    console.log(usage);
    process.exitCode = 0;
    return;
  }
  process.exitCode = await run(options);
}
