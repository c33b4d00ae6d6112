// Runs a sign-in provider that others wrote. Arguments: address of the desk, port (0 for any). Prints its issuer as a
// JSON line. Nobody clicks: it signs in the account of the last order. Orders are JSON posted to /-/order: {account,
// claims, denies, rotates, userinfo}.
import { createServer } from "node:http";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { once } from "node:events";
import Provider from "oidc-provider";

const [desk, port] = process.argv.slice(-2);
const state = { account: "ada", claims: {}, denies: false, userinfo: false, calls: 0 };
let handler, provider, signing;

const key = (algorithm) => {
  const { privateKey } = algorithm === "EdDSA" ? generateKeyPairSync("ed25519") : algorithm === "ES256"
    ? generateKeyPairSync("ec", { namedCurve: "P-256" }) : generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: algorithm };
};
const configuration = (issuer, algorithm) => ({
  jwks: { keys: [signing] },
  cookies: { keys: [randomUUID()] },
  clients: [{
    client_id: "desk", client_secret: "the secret: of the desk & co", id_token_signed_response_alg: algorithm,
    redirect_uris: ["keycloak", "other", "other-2", "oidc", "oidc-2"].map((name) => `${desk}/sign-in/callback/${name}`),
    post_logout_redirect_uris: [`${desk}/sign-in/out`],
    backchannel_logout_uri: `${desk}/sign-in/backchannel/keycloak`, backchannel_logout_session_required: true,
  }],
  claims: { openid: ["sub", "groups", "realm_access"], email: ["email", "email_verified"], profile: ["name", "given_name", "family_name", "locale"] },
  conformIdTokenClaims: state.userinfo,
  features: {
    devInteractions: { enabled: false }, backchannelLogout: { enabled: true }, rpInitiatedLogout: {
      enabled: true, logoutSource: (ctx, form) => { ctx.body = `<body>${form}<button form="op.logoutForm" name="logout" value="yes">Leave the provider</button></body>`; },
    },
  },
  // The provider's own fetch refuses loopback addresses.
  fetch: (url, { dispatcher, ...options }) => globalThis.fetch(url, options),
  findAccount: (ctx, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@desk.example`, email_verified: true, name: `${id} Provider`, ...state.claims }),
  }),
  interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
  loadExistingGrant: async (ctx) => {
    const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
    grant.addOIDCScope("openid email profile");
    await grant.save();
    return grant;
  },
  renderError: (ctx, out, error) => { ctx.body = `provider error: ${out.error} ${out.error_description} ${error.stack}`; },
});
const begin = (issuer, algorithm) => {
  provider = new Provider(issuer, configuration(issuer, algorithm));
  handler = provider.callback();
};
const bodyOf = async (request) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};
const server = createServer(async (request, response) => {
  if (request.url === "/-/order") {
    const { rotates, ...order } = JSON.parse(await bodyOf(request));
    Object.assign(state, order);
    if (rotates) signing = key(rotates);
    if (rotates || "userinfo" in order) begin(issuer, signing.alg);
    response.end(JSON.stringify({ calls: state.calls }));
    return;
  }
  if (request.url.startsWith("/interaction/")) {
    const result = state.denies ? { error: "access_denied", error_description: "no" } : { login: { accountId: state.account } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
    return;
  }
  if (/^\/(token|me|jwks|\.well-known)/.test(request.url)) state.calls += 1;
  handler(request, response);
});
server.listen(Number(port), "127.0.0.1");
await once(server, "listening");
const issuer = `http://127.0.0.1:${server.address().port}`;
signing = key("RS256");
begin(issuer, "RS256");
console.log(JSON.stringify({ issuer }));
