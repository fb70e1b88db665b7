/** A package's entry in a lock file of npm. */
export interface LockEntry {
  readonly dependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
  readonly hasInstallScript?: boolean;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly license?: string;
  readonly resolved?: string;
  readonly integrity?: string;
}

/** The entries of a lock file by their paths from its folder. */
export type LockedPackages = Readonly<Record<string, LockEntry>>;

/** The entries of the lock file that installing a package brings, by the rule of Node: the nearest node_modules. */
export function installedBy(packages: LockedPackages, start: string): string[] {
  const visited = new Set<string>();
  const visit = (path: string) => {
    if (visited.has(path)) return;
    visited.add(path);
    const { dependencies, optionalDependencies } = packages[path] ?? {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) visit(resolve(path, name));
  };
  const resolve = (from: string, name: string): string => {
    const nested = `${from === "" ? "" : `${from}/`}node_modules/${name}`;
    const entry = packages[nested];
    if (entry) return entry.link ? (entry.resolved ?? nested) : nested;
    if (from === "") throw new Error(`${name} is not in the lock file`);
    return resolve(from.replace(/(^|\/)(node_modules\/(@[^/]+\/)?[^/]+|[^/]+)$/, ""), name);
  };
  visit(start);
  return [...visited];
}
