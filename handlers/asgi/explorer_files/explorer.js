"use strict";
// "Authorize" takes the bare token; the scheme word is added here.
const withScheme = (request) => {
  const given = request.headers && request.headers.Authorization;
  if (given && !/^\s*token\s/i.test(given)) {
    request.headers.Authorization = "Token " + given.trim();
  }
  return request;
};
window.ui = SwaggerUIBundle({
  url: "docs/openapi.json",
  dom_id: "#explorer",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "none",
  filter: true,
  layout: "BaseLayout",
  persistAuthorization: true,
  presets: [SwaggerUIBundle.presets.apis],
  requestInterceptor: withScheme,
  syntaxHighlight: { activate: true, theme: "agate" },
  validatorUrl: null
});
