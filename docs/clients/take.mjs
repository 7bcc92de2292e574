// Waits for leave to act: node take.mjs PORT KEY LIMIT
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'redis';

class Denied extends Error {}

async function take(client, key, limit) {
  const answer = await client.sendCommand(['WEIR.TAKE', key, limit]);
  if (['denied', 'impossible'].includes(answer.verdict)) {
    throw Object.assign(new Denied(), { retryAfter: answer.retry_after_us / 1e6 }); // seconds
  }
  await sleep(Math.ceil(answer.ready_after_us / 1e3)); // 0 where granted; deferred: taken, act then
}

const [port, ...request] = process.argv.slice(2);
const client = await createClient({ RESP: 3, socket: { port: Number(port) } }).connect();
try {
  await take(client, ...request);
  console.log('act');
} catch (error) {
  if (!(error instanceof Denied)) throw error;
  console.error(`denied; again in ${error.retryAfter} s`);
  process.exitCode = 1;
}
await client.close();
