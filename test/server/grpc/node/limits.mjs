// Asks a rate limit service with grpc-js: limits.mjs ADDRESS PROTO_FOLDER
import assert from "node:assert/strict";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const [address, folder] = process.argv.slice(2);
const files = ["envoy/service/ratelimit/v3/rls.proto", "grpc/health/v1/health.proto"];
const packages = grpc.loadPackageDefinition(
  loader.loadSync(files, { includeDirs: [folder], keepCase: true, enums: String, longs: Number }));
const plain = grpc.credentials.createInsecure();
const limits = new packages.envoy.service.ratelimit.v3.RateLimitService(address, plain);
const health = new packages.grpc.health.v1.Health(address, plain);

const in10s = () => ({ deadline: Date.now() + 10_000 });
const ask = (client, method, message) => new Promise((resolve, reject) => {
  client[method](message, in10s(), (error, answer) => error ? reject(error) : resolve(answer));
});
const limit = (...descriptors) => ask(limits, "ShouldRateLimit", {
  domain: "edge",
  descriptors: descriptors.map((entries) => ({ entries })),
});

const ann = [{ key: "user", value: "ann" }];
const first = await limit(ann);
assert.equal(first.overall_code, "OK");
assert.equal(first.statuses[0].limit_remaining, 1);
assert.deepEqual(first.statuses[0].current_limit,
  { requests_per_unit: 2, unit: "YEAR", name: "each" });
await limit(ann);
const over = await limit(ann, [{ key: "nobody", value: "knows" }]);
assert.equal(over.overall_code, "OVER_LIMIT");
assert.deepEqual(over.statuses.map((status) => status.code), ["OVER_LIMIT", "OK"]);

const many = await Promise.all(Array.from({ length: 1000 }, () => limit(ann)));
assert.ok(many.every((answer) => answer.overall_code === "OVER_LIMIT"));

assert.equal((await ask(health, "Check", { service: "" })).status, "SERVING");
await assert.rejects(ask(health, "Check", { service: "nobody" }),
  { code: grpc.status.NOT_FOUND });

await assert.rejects(ask(limits, "ShouldRateLimit", {}),
  { code: grpc.status.UNKNOWN, details: "rate limit domain must not be empty" });
const long = (length) => limit([{ key: "user", value: "x".repeat(length) }]);
assert.equal((await long(4_000_000)).overall_code, "OK");
await assert.rejects(long(4_200_000),
  { code: grpc.status.RESOURCE_EXHAUSTED });
const bytes = (buffer) => buffer;
const unknown = new Promise((resolve, reject) => {
  limits.makeUnaryRequest("/no.Such/Method", bytes, bytes, Buffer.alloc(0), in10s(),
    (error, answer) => error ? reject(error) : resolve(answer));
});
await assert.rejects(unknown,
  { code: grpc.status.UNIMPLEMENTED, details: "no such method: /no.Such/Method" });
assert.equal((await limit(ann)).overall_code, "OVER_LIMIT", "refusals harm no other call");

limits.close();
health.close();
console.log("passed grpc-js");
