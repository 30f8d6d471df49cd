// Takes what a subscription pushes: checks who sent it, and applies each event once. Node 20, and nothing else.
import { createHmac, timingSafeEqual } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";

const SECRET = Buffer.from(process.env.WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");
const FILE = process.env.APPLIED ?? "applied.txt"; // better a unique column of your database, in apply's transaction
const applied = new Set(existsSync(FILE) ? readFileSync(FILE, "utf8").split("\n") : []);

function apply(event) {
  console.log(event.type, event.eventId, event.external_id ?? "-");
}

function isOurs(headers, body) {
  const at = Number(headers["webhook-timestamp"]);
  if (!(Math.abs(Date.now() / 1000 - at) <= 300)) return false;
  const content = Buffer.concat([Buffer.from(`${headers["webhook-id"]}.${at}.`), body]);
  const wanted = Buffer.from("v1," + createHmac("sha256", SECRET).update(content).digest("base64"));
  const signatures = (headers["webhook-signature"] ?? "").split(" ").map((one) => Buffer.from(one));
  return signatures.some((one) => one.length === wanted.length && timingSafeEqual(one, wanted));
}

createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const body = Buffer.concat(pieces);
  const ours = isOurs(request.headers, body);
  for (const event of ours ? JSON.parse(body).events : []) {
    if (applied.has(event.eventId)) continue;
    apply(event);
    applied.add(event.eventId);
    appendFileSync(FILE, event.eventId + "\n");
  }
  response.writeHead(ours ? 204 : 401).end();
}).listen(Number(process.env.PORT ?? 8002));
