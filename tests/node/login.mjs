// Signs in at our provider with a client that others wrote. Arguments: issuer, client id, secret ("" for a public app),
// callback. Prints the address to open, reads the one that the browser was sent back to, and prints what it got for it,
// one JSON value a line.
import { createInterface } from "node:readline/promises";
import * as client from "openid-client";

const [issuer, id, secret, callback] = process.argv.slice(-4);
const tell = (value) => console.log(JSON.stringify(value));

const config = await client.discovery(
  new URL(issuer), id, secret || undefined, secret ? client.ClientSecretBasic(secret) : client.None(),
  { algorithm: "oauth2", execute: [client.allowInsecureRequests] },
);
const pkceCodeVerifier = client.randomPKCECodeVerifier();
const expectedState = client.randomState();
tell(client.buildAuthorizationUrl(config, {
  redirect_uri: callback, scope: "read", state: expectedState, code_challenge_method: "S256",
  code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
}).href);

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const back = new URL((await lines.next()).value);
const first = await client.authorizationCodeGrant(config, back, { pkceCodeVerifier, expectedState });
const second = await client.refreshTokenGrant(config, first.refresh_token);
const me = new URL("/rest/workers/me.json", issuer);
const call = async (token) => {
  try {
    return (await client.fetchProtectedResource(config, token, me, "GET")).status;
  } catch (error) {
    return error.cause?.[0]?.parameters?.error ?? error.code;
  }
};
const statuses = [await call(first.access_token), await call(second.access_token)];
const shown = secret ? await client.tokenIntrospection(config, second.access_token) : { active: true };
await client.tokenRevocation(config, second.refresh_token);
tell({
  statuses: [...statuses, await call(second.access_token)], active: shown.active, scope: second.scope,
  expires_in: second.expires_in,
});
process.exit(0);
