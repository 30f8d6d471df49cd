"use strict";

SwaggerUIBundle({
  url: "schema",
  dom_id: "#documentation",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  // By default it asks a server on the internet whether the document is valid.
  validatorUrl: null,
});
