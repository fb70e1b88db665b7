export declare const root: string;
export declare const PROJECTS: readonly string[];
/** @returns the oldest version of Node on which the project in a folder runs, where this one is older. */
export declare function nodeMissing(folder: string): Promise<string | undefined>;
export declare function installProject(project: string, signal?: AbortSignal): Promise<NodeJS.Require>;
