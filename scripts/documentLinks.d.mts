export function documents(root: string): string[];
export function anchorsOf(text: string): Set<string>;
export function documentProblems(root: string, made: ReadonlyMap<string, string>): string[];
