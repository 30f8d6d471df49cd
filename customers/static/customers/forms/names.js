// What an author may name at a step: the fields of conditions, and the values of templates.
export const TEMPLATES = ["customer.email", "customer.phone", "customer.externalId", "customer.id"];
/** @type {Record<string, string[]>} */
const FIELDS = {
  customer: ["customer.email", "customer.phone", "customer.externalId", "customer.userId"],
  event: ["event.name", "event.messageId", "event.verified"],
  answer: ["answer.status"],
};
const EVERY = ["customer", "api", "event", "steps"];

/**
 * The names with which a condition's field may begin, of these roots.
 *
 * @param {Pick<Studio, "suggestions" | "steps">} studio
 * @param {string[]} [roots]
 */
export function fieldsOf({ suggestions, steps }, roots = EVERY) {
  const found = roots.flatMap((root) => FIELDS[root] ?? []);
  if (roots.includes("customer")) found.push(...suggestions.attributes.map(({ name }) => `customer.${name}`));
  if (roots.includes("api")) found.push(...suggestions.payload.map((name) => `api.payload.${name}`));
  if (roots.includes("steps")) found.push(...kept(steps));
  return found;
}

/**
 * Those that a text may put in.
 *
 * @param {Pick<Studio, "suggestions" | "steps">} studio
 */
export function valuesOf({ suggestions, steps }) {
  const own = suggestions.attributes.map(({ name }) => `customer.${name}`);
  const given = suggestions.payload.map((name) => `api.payload.${name}`);
  const variables = suggestions.variables.map((name) => `vars.${name}`);
  return [...TEMPLATES, ...own, ...given, "event.name", ...kept(steps), ...variables, "journey.name", "now"];
}

/**
 * What the answers of webhooks keep.
 *
 * @param {Step[]} steps
 * @returns {string[]}
 */
function kept(steps) {
  const keeping = steps.filter(({ keep }) => keep && typeof keep === "object");
  return keeping.flatMap(({ id, keep }) => [...Object.keys(keep), "status"].map((name) => `steps.${id}.${name}`));
}

/**
 * @param {Pick<Studio, "suggestions">} studio
 * @param {string} field
 */
const attribute = ({ suggestions }, field) => suggestions.attributes.find(({ name }) => field === `customer.${name}`);
/**
 * @param {Studio} studio
 * @param {string} field
 */
export const frequent = (studio, field) => attribute(studio, field)?.values ?? [];
const STATUS = /^(answer|steps\.[^.]+)\.status$/;
/**
 * The kind of value that is there: "text", "number", "flag", or "" where it is not known.
 *
 * @param {Studio} studio
 * @param {string} field
 */
export const kindHad = (studio, field) =>
  STATUS.test(field ?? "") ? "number" : (attribute(studio, field)?.kind ?? "");
