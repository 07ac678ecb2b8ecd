/** Where the nodes of a flow are drawn, and the ways between them: in rows, each below those that lead to it. A large flow
 *  takes seconds, so a worker of the browser does it, and the page stays of use. */

/**
 * @typedef {{uuid: string, width: number, height: number, exits: {uuid: string, to: string}[]}} Sized exits only to known nodes
 * @typedef {{x: number, y: number, width: number, height: number}} Box its left upper corner, in pixels
 * @typedef {{exit: string, d: string, isBack: boolean}} Way `d` as paths of SVG have it
 * @typedef {{boxes: Map<string, Box>, ways: Way[], width: number, height: number}} Layout
 */

export const WIDTH = 230;
/** The height of what stands for an exit. */
export const EXIT_LINE = 22;

/**
 * @param {Sized[]} nodes the first is the entry
 * @param {AbortSignal} stop what is not needed any more is not worked out
 * @returns {Promise<Layout>}
 */
export const layOut = (nodes, stop) =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./layout_worker.js", import.meta.url), { type: "module" });
    stop.addEventListener("abort", () => worker.terminate());
    worker.onmessage = ({ data }) => {
      worker.terminate();
      resolve(data);
    };
    worker.onerror = () => reject(new Error("no layout"));
    worker.postMessage(nodes);
  });
