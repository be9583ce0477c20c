// SPDX-License-Identifier: BSD-3-Clause
// The pages that ../sessions.py visits, by Express with connect-memcached.
'use strict';

const express = require('express');
const session = require('express-session');
const MemcachedStore = require('connect-memcached')(session);

const application = express();
const store = new MemcachedStore({ hosts: [process.env.STORE], retries: 0, retry: 1, reconnect: 100, failures: 1e9 });
application.use(session({ secret: 'only for tests', resave: false, saveUninitialized: false, store }));

application.get('/login/:name', (request, response) => {
  request.session.name = request.params.name;
  request.session.count = 0;
  response.send(`${request.session.name} 0`);
});

application.get('/', (request, response) => {
  if (!request.session.name) return response.send('nobody');
  request.session.count += 1;
  return response.send(`${request.session.name} ${request.session.count}`);
});

application.get('/logout', (request, response) => {
  request.session.destroy(() => response.send('bye'));
});

const [host, port] = process.env.LISTEN.split(':');
application.listen(Number(port), host);
