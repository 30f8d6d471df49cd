// An identity token for whoever is logged in. Needs nothing but Node. Prints one for the external_id that it is given.
import { createHmac } from "node:crypto";

const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

// `more` may be email, phone, and attributes: the names of those that the page may write.
export function identityToken(externalId, { app, kid, secret, ...more }) {
  const claims = { sub: externalId, aud: app, exp: Math.floor(Date.now() / 1000) + 3600, ...more };
  const said = `${part({ alg: "HS256", typ: "JWT", kid })}.${part(claims)}`;
  return `${said}.${createHmac("sha256", secret).update(said).digest("base64url")}`;
}

const { ENGAGE_APP: app, IDENTITY_KID: kid, IDENTITY_SECRET: secret } = process.env;
console.log(identityToken(process.argv[2], { app, kid, secret, email: "ada@example.com", attributes: ["plan"] }));
