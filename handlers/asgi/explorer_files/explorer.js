"use strict";
// "Authorize" takes the bare token; the scheme word is added here.
const withScheme = (request) => {
  const given = request.headers && request.headers.Authorization;
  if (given && !/^\s*token\s/i.test(given)) {
    request.headers.Authorization = "Token " + given.trim();
  }
  return request;
};
// A description is read and cleaned anew each time anything on the page changes, unless it is told that it has not.
const steadyDescriptions = ({ React }) => ({
  wrapComponents: {
    Markdown: (Original) =>
      class SteadyMarkdown extends React.Component {
        shouldComponentUpdate(next) {
          return next.source !== this.props.source || next.className !== this.props.className;
        }
        render() {
          return React.createElement(Original, this.props);
        }
      }
  }
});
window.ui = SwaggerUIBundle({
  url: "docs/openapi.json",
  dom_id: "#explorer",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "none",
  filter: true,
  layout: "BaseLayout",
  persistAuthorization: true,
  plugins: [steadyDescriptions],
  presets: [SwaggerUIBundle.presets.apis],
  requestInterceptor: withScheme,
  syntaxHighlight: { activate: true, theme: "agate" },
  validatorUrl: null
});
