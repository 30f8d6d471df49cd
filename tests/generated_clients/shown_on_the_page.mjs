// Prints the document that the documentation's page shows, given the page's script and the document.

import { readFileSync } from "node:fs";

const [script, document] = process.argv.slice(2);
let options;
globalThis.SwaggerUIBundle = (given) => (options = given);
(0, eval)(readFileSync(script, "utf8"));
const response = { url: "http://127.0.0.1/api/v1/schema", text: readFileSync(document, "utf8") };
console.log(options.responseInterceptor(response).text);
