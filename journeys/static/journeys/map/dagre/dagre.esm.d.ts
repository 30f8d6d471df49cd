export const Graph: any;
export function layout(graph: any, options?: object): void;
