// Runs the TypeScript SDK of the Model Context Protocol as an assistant. Arguments: address of /mcp, client id of a
// public app, callback, id of a ticket. Prints the address to open, reads the one that the browser was sent back to,
// and prints the results of the tools, one JSON value a line.
import { createInterface } from "node:readline/promises";
import { extractWWWAuthenticateParams, UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [address, client_id, callback, ticket] = process.argv.slice(-4);
const write = (value) => console.log(JSON.stringify(value));
const stored = {};
const provider = {
  redirectUrl: callback,
  clientMetadata: { redirect_uris: [callback], token_endpoint_auth_method: "none" },
  state: () => "a-state",
  clientInformation: () => stored.app ?? { client_id },
  saveClientInformation: (app) => { stored.app = app; },
  tokens: () => stored.tokens,
  saveTokens: (tokens) => { stored.tokens = tokens; },
  saveCodeVerifier: (verifier) => { stored.verifier = verifier; },
  codeVerifier: () => stored.verifier,
  redirectToAuthorization: (url) => write(url.href),
};
// The scope that the last 403 response requires.
let asked = "";
const watched = async (url, init) => {
  const response = await fetch(url, init);
  if (response.status === 403) asked = extractWWWAuthenticateParams(response).scope;
  return response;
};
const connect = async () => {
  const client = new Client({ name: "test", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(address), { authProvider: provider, fetch: watched });
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    const back = new URL((await lines.next()).value);
    if (back.searchParams.get("state") !== "a-state") throw new Error("another state came back");
    await transport.finishAuth(back.searchParams.get("code"));
    return null;
  }
};

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const client = (await connect()) ?? (await connect());
const { tools } = await client.listTools();
const call = async (name, values) => {
  const result = await client.callTool({ name, arguments: values });
  if (result.isError) throw new Error(result.content[0].text);
  return result.structuredContent;
};
const ticket_id = Number(ticket);
const found = await call("search_tickets", { query: "sort:id" });
const read = await call("read_ticket", { ticket_id });
const draft = await call("draft_reply", { ticket_id, content: "Dear Ana" });
const refused = await call("send_reply", { ticket_id, content: "Sent!" }).catch((error) => error);
write({
  tools: tools.map((each) => each.name).sort(), found: found.results.map((each) => each.id), text: read.entries[0].text,
  is_sent: draft.is_sent, scope: stored.tokens.scope, status: refused.code, asked,
});
process.exit(0);
