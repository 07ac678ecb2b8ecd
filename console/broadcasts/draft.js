/** What is written of a message to many before it is sent. */

/**
 * @typedef {{uuid: string, name: string}} Named
 * @typedef {{texts: Record<string, string>, groups: string[], contacts: Named[], query: string, files: Named[], when: string}} Draft
 */

/** @type {Draft} */
export const NOTHING = { texts: {}, groups: [], contacts: [], query: "", files: [], when: "" };
/** The name under which it is kept. */
export const DRAFT = "broadcast.form";
