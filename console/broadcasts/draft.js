/** What is written of a message to many before it is sent. */

import { NO_TEMPLATE } from "../parts/template_fields.js";

/**
 * @typedef {{uuid: string, name: string}} Named
 * @typedef {{texts: Record<string, string>, groups: string[], contacts: Named[], query: string, files: Named[], when: string, made: import("../parts/template_fields.js").Chosen}} Draft
 */

/** @type {Draft} */
export const NOTHING = { texts: {}, groups: [], contacts: [], query: "", files: [], when: "", made: NO_TEMPLATE };
/** The name under which it is kept. */
export const DRAFT = "broadcast.form";
