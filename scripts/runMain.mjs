/**
 * Runs a program of this repository: reads its options, shows its usage where they are wrong or ask for it, and
 * makes what it returns the status of the process.
 * @param {{ usage: string, readOptions: (argv: string[]) => { help: boolean }, run: (options: any) => Promise<number> }} program
 * Status 2 is wrong usage: what `readOptions` throws.
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
