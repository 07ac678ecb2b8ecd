// Loaded before Spectral (`node --require`): it compiles the schema of each example anew, although nine of ten are
// equal to one before, because references are resolved into copies.
"use strict";
const { createRequire } = require("node:module");
const Ajv = createRequire(process.argv[1])("ajv/dist/core").default;
const compile = Ajv.prototype.compile;
const compiled = new WeakMap();
Ajv.prototype.compile = function (schema, ...rest) {
  if (!compiled.has(this)) compiled.set(this, new Map());
  const known = compiled.get(this);
  const text = JSON.stringify([schema, ...rest]);
  if (!known.has(text)) known.set(text, compile.call(this, schema, ...rest));
  return known.get(text);
};
