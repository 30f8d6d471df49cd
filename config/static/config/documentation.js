"use strict";

/**
 * @param {Record<string, any>} object
 * @param {(value: any) => unknown} change
 */
const mapped = (object, change) =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
/**
 * @param {Record<string, any>} object
 * @param {(value: any) => unknown} keep
 */
const filtered = (object, keep) => Object.fromEntries(Object.entries(object).filter(([, value]) => keep(value)));
/** @param {{ $ref?: string }} one */
const isOwn = ({ $ref }) => !$ref;

// What all calls have in common stands once, above them. So each call is shown without the failures and the headers
// that the document only refers to, and without the parameter X-Request-Id. A call's own failures are told in words.
/** @param {any} operation */
function withoutWhatIsCommon(operation) {
  return {
    ...operation,
    parameters: operation.parameters.filter(
      (/** @type {{ $ref?: string }} */ { $ref }) => !$ref?.endsWith("/X-Request-Id"),
    ),
    responses: mapped(filtered(operation.responses, isOwn), ({ content, headers, description }) =>
      content?.["application/json"].schema.$ref.endsWith("/Failure")
        ? { description }
        : { content, headers: filtered(headers, isOwn), description },
    ),
  };
}

// @ts-expect-error It is a script of the page.
SwaggerUIBundle({
  url: "schema",
  responseInterceptor: (/** @type {any} */ response) => {
    if (response.url.endsWith("/api/v1/schema")) {
      const document = JSON.parse(response.text);
      document.paths = mapped(document.paths, (calls) => mapped(calls, withoutWhatIsCommon));
      response.text = JSON.stringify(document);
    }
    return response;
  },
  dom_id: "#documentation",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  // By default it asks a server on the internet whether the document is valid.
  validatorUrl: null,
});
