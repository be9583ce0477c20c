// SPDX-License-Identifier: BSD-3-Clause
// memjs (binary) and memcached (text) from npm behind the language of ../README.md.
//     node client.js memjs|memcached HOST PORT          NODE_PATH says where they are
'use strict';

const readline = require('readline');

const [name, host, port] = process.argv.slice(2);
const server = `${host}:${port}`;

class Memjs {
  constructor() {
    // Its prepend sends the opcode of append.
    this.can = 'set get add replace append incr decr touch delete flush';
    const logger = { log() {} };
    this.client = require('memjs').Client.create(server, { timeout: 20, retries: 1, failoverTime: 0, logger });
  }

  // A miss in append is an error to it.
  async store(verb, key, expires, value) {
    try {
      return await (verb.endsWith('pend') ? this.client[verb](key, value) : this.client[verb](key, value, { expires }));
    } catch (error) {
      if (/not stored/i.test(error.message)) return false;
      throw error;
    }
  }

  async get(key) {
    return (await this.client.get(key)).value;
  }

  // It makes a counter that is missing.
  async count(verb, key, by) {
    if ((await this.get(key)) === null) return null;
    const result = await this.client[verb + 'ement'](key, by, {});
    return result.success ? result.value : null;
  }

  touch(key, expires) {
    return this.client.touch(key, expires);
  }

  delete(key) {
    return this.client.delete(key);
  }

  async flush() {
    return Object.values(await this.client.flush())[0];
  }

  close() {
    this.client.close();
  }
}

class Memcached {
  constructor() {
    this.can = 'set get add replace append prepend cas incr decr touch delete multi flush';
    const options = { timeout: 3000, retries: 0, retry: 1, reconnect: 100, failures: 1e9, poolSize: 2 };
    this.client = new (require('memcached'))(server, options);
    this.tokens = {};
  }

  // It never answers what was on its way when the connection broke, hence the timer.
  call(verb, ...words) {
    return new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error('no answer')), 5000).unref();
      this.client[verb](...words, (error, value) => {
        if (error && !/not stored|not found/i.test(error.message || '')) reject(error);
        else resolve(error ? undefined : value);
      });
    });
  }

  store(verb, key, ttl, value) {
    if (verb === 'cas') return this.call('cas', key, value, this.tokens[key], ttl);
    return verb.endsWith('pend') ? this.call(verb, key, value) : this.call(verb, key, value, ttl);
  }

  get(key) {
    return this.call('get', key);
  }

  async gets(key) {
    const found = await this.call('gets', key);
    if (found === undefined) return undefined;
    this.tokens[key] = found.cas;
    return found[key];
  }

  async count(verb, key, by) {
    const number = await this.call(verb, key, by);
    return number === undefined || number === false ? null : number;
  }

  touch(key, ttl) {
    return this.call('touch', key, ttl);
  }

  delete(key) {
    return this.call('del', key);
  }

  multi(keys) {
    return this.call('getMulti', keys);
  }

  async flush() {
    return (await this.call('flush'))[0];
  }

  close() {
    this.client.end();
  }
}

const base64 = (value) => Buffer.from(value).toString('base64');
const valueReply = (value) => (value === null || value === undefined ? 'none' : 'value ' + base64(value));
const flagReply = (flag) => (flag ? 'yes' : 'no');
const make = () => (name === 'memjs' ? new Memjs() : new Memcached());

let client = make();

async function obey(verb, words) {
  switch (verb) {
    case 'open':
      client.close();
      client = make();
      return 'yes';
    case 'get':
    case 'gets':
      return valueReply(await client[verb](words[0]));
    case 'incr':
    case 'decr': {
      const number = await client.count(verb, words[0], Number(words[1]));
      return number === null ? 'none' : `number ${number}`;
    }
    case 'multi': {
      const found = await client.multi(words);
      return 'values ' + Object.entries(found).map(([key, value]) => `${key}=${base64(value)}`).join(' ');
    }
    case 'touch':
      return flagReply(await client.touch(words[0], Number(words[1])));
    case 'delete':
    case 'flush':
      return flagReply(await client[verb](...words));
    default:
      return flagReply(await client.store(verb, words[0], Number(words[1]), Buffer.from(words[2] || '', 'base64')));
  }
}

async function main() {
  console.log('ready ' + client.can);
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [verb, ...words] = line.trim().split(' ');
    let reply;
    try {
      reply = await obey(verb, words);
    } catch (error) {
      reply = `error ${error.message || error}`.replace(/\s+/g, ' ');
    }
    console.log(reply);
  }
  process.exit(0);
}

main();
