// ioredis and node-redis: node clients.mjs PORT RECORDED_PORT (see package_clients_test.py).
import assert from 'node:assert/strict';
import readline from 'node:readline';
import Redis from 'ioredis';
import * as redis from 'redis';
import * as redis4 from 'redis-4';

const [port, recordedPort] = process.argv.slice(2).map(Number);
const driver = readline.createInterface({input: process.stdin})[Symbol.asyncIterator]();

// Each opens a connection as an application does: a name, database 0, nothing else.
const clients = {
  'ioredis 5, RESP2': async (at) => {
    const client = new Redis({port: at, connectionName: 'worker', db: 0});
    client.on('error', () => {});  // the server is stopped on purpose
    const all = async (pipeline) =>
      (await pipeline.exec()).map(([error, reply]) => error ?? reply);
    return {
      call: (...words) => client.call(...words),
      pipeline: (commands) => all(client.pipeline(commands.map((words) => ['call', ...words]))),
      transaction: (commands) => all(client.multi(commands.map((words) => ['call', ...words]))),
      isError: (error) => error instanceof Redis.ReplyError,
      close: () => client.quit(),
    };
  },
  'ioredis 5 with auto-pipelining, RESP2': async (at) => {
    const client = new Redis({port: at, connectionName: 'worker', enableAutoPipelining: true});
    client.on('error', () => {});
    return {
      call: (...words) => client.call(...words),
      pipeline: (commands) => Promise.all(commands.map((words) => client.call(...words))),
      isError: (error) => error instanceof Redis.ReplyError,
      close: () => client.quit(),
    };
  },
  'node-redis 4, RESP2': (at) => nodeRedis(redis4, {socket: {port: at}}),
  'node-redis 5, RESP2': (at) => nodeRedis(redis, {socket: {port: at}, RESP: 2}),
  'node-redis 5, RESP3': (at) => nodeRedis(redis, {socket: {port: at}, RESP: 3}),
};

async function nodeRedis(library, options) {
  const client = library.createClient({name: 'worker', database: 0, ...options});
  client.on('error', () => {});
  await client.connect();
  const call = (...words) => client.sendCommand(words);
  return {
    call,
    pipeline: (commands) => Promise.all(commands.map((words) => call(...words))),
    transaction: (commands) => {
      const multi = client.multi();
      for (const words of commands) multi.addCommand(words);
      return multi.exec();
    },
    isError: (error) => error instanceof library.ErrorReply,
    close: () => client.quit(),
  };
}

/** An answer by name: a map in RESP3, names and values in turn in RESP2. */
function fields(protocol, reply) {
  assert.equal(Array.isArray(reply), protocol === 'RESP2');
  if (protocol === 'RESP3') return reply;
  return Object.fromEntries(
      reply.flatMap((each, at) => (at % 2 ? [] : [[each, reply[at + 1]]])));
}

async function limits(client, key, protocol) {
  const ask = async (...words) => fields(protocol, await client.call(...words));
  assert.deepEqual(await client.call('CL.THROTTLE', key, '15', '30', '60'), [0, 16, 15, -1, 2]);
  const granted = await ask('WEIR.TAKE', key, '2/1m', 'COST', '2');
  assert.equal(granted.verdict, 'granted');
  assert.equal(granted.remaining, 0);
  const denied = await ask('WEIR.PEEK', key, '2/1m');
  assert.equal(denied.verdict, 'denied');
  assert.ok(denied.retry_after_us > 20_000_000);
  assert.equal(denied.grant, null);
  assert.equal((await ask('WEIR.TAKE', key, '2/1m', 'COST', '3')).verdict, 'impossible');
  const deferred = await ask('WEIR.TAKE', key, '2/1m', 'PATIENCE', '60000');
  assert.equal(deferred.verdict, 'deferred');
  assert.equal(await client.call('WEIR.CANCEL', key, '2/1m', deferred.grant), 1);
  assert.equal(await client.call('WEIR.REFUND', key, '2/1m', '1', 'ID', 'order-17'), 1);
  assert.equal(await client.call('WEIR.RESET', key, '2/1m'), 1);
  const all = await ask('WEIR.TAKEALL', '2', key, 'acme', '1/1m', '100/1s');
  assert.equal(all.key, key);
  assert.equal(all.grant.length, 2);
}

async function thousandAtOnce(client, key, protocol) {
  const take = ['WEIR.TAKE', key, '500/1h'];
  const replies = await client.pipeline(Array(1000).fill(take));
  const verdicts = replies.map((reply) => fields(protocol, reply).verdict);
  assert.deepEqual(verdicts, [...Array(500).fill('granted'), ...Array(500).fill('denied')]);
}

async function inATransaction(client, key, protocol) {
  const replies = await client.transaction(Array(3).fill(['WEIR.TAKE', key, '2/1h']));
  const verdicts = replies.map((reply) => fields(protocol, reply).verdict);
  assert.deepEqual(verdicts, ['granted', 'granted', 'denied']);
}

async function errors(client) {
  const refused = async (message, ...words) => assert.rejects(
      client.call(...words), (error) => client.isError(error) && message.test(error.message));
  await refused(/unknown command .GET./, 'GET', 'key');
  await refused(/column 3: expected a period/, 'WEIR.TAKE', 'key', '5/1x');
  await refused(/one database/, 'SELECT', '1');
  assert.equal(await client.call('PING'), 'PONG');
}

/** The driver starts the server anew; calls may fail meanwhile, but soon they are answered. */
async function restart(client) {
  console.log('restart');
  await driver.next();
  const deadline = Date.now() + 10_000;
  for (;;) {
    try {
      return await client.call('WEIR.TAKE', 'after', '1/1us');
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resume) => setTimeout(resume, 20));
    }
  }
}

for (const [name, open] of Object.entries(clients)) {
  const protocol = name.slice(-5);
  const recorded = await open(recordedPort);
  await recorded.call('WEIR.TAKE', 'connect', '1/1m');
  await recorded.close();
  console.log(`sent ${name}`);
  const client = await open(port);
  await limits(client, name, protocol);
  await thousandAtOnce(client, name, protocol);
  if (client.transaction) await inATransaction(client, name, protocol);
  await errors(client);
  await restart(client);
  await client.close();
  console.log(`passed ${name}`);
}
const pool = await redis.createClientPool({socket: {port}, RESP: 3}).connect();
await Promise.all(Array(100).fill().map(() => pool.sendCommand(['WEIR.TAKE', 'pool', '9/1m'])));
await pool.close();
console.log('passed the pool of node-redis');
process.exit(0);
