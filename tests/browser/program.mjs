// What a person sees when a program asks for access by the authorization code.

import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';

// A program on this machine; `answers` has the parameters with which people came back.
function program(ready) {
  const answers = [];
  const server = createServer((request, response) => {
    const address = new URL(request.url, 'http://127.0.0.1');
    if (address.pathname === '/back') answers.push(address.searchParams);
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><html lang="en"><title>Program</title><main><h1>Back at the program</h1></main></html>');
  });
  const verifier = randomBytes(32).toString('base64url');
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const back = `http://127.0.0.1:${server.address().port}/back`;
      const page = new URL(`${ready.origin}/oauth/authorize`);
      const parameters = {
        response_type: 'code',
        client_id: ready.client_id,
        redirect_uri: back,
        state: 'mine',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        scope: 'connections:read posts:read posts:write media:write',
        resource: `${ready.origin}/mcp`,
      };
      for (const [name, value] of Object.entries(parameters)) page.searchParams.set(name, value);
      resolve({ page: page.href, back, verifier, answers, close: () => server.close() });
    });
  });
}

async function exchanged(ready, asked, code) {
  const fields = {
    grant_type: 'authorization_code',
    client_id: ready.client_id,
    redirect_uri: asked.back,
    code_verifier: asked.verifier,
    code,
  };
  const answer = await fetch(`${ready.base_url}/oauth/token`, { method: 'POST', body: new URLSearchParams(fields) });
  return answer.json();
}

export async function approveProgram({ page, leads, photograph, ensure, ready }) {
  const asked = await program(ready);
  const decide = async (label, name) => {
    const before = asked.answers.length;
    await leads(() => page.getByRole('button', { name: label, exact: true }).click());
    await photograph(name);
    await page.waitForURL((it) => it.href.startsWith(asked.back));
    ensure(asked.answers.length === before + 1, `${asked.answers.length - before} answers arrived`);
    return asked.answers[before];
  };

  await page.goto(asked.page);
  await page.getByText('Planner').waitFor();
  await photograph('program-approve');
  const denied = await decide('Deny', 'program-denied');
  ensure(denied.get('error') === 'access_denied' && denied.get('state') === 'mine', `the program is told ${denied}`);

  await page.goto(asked.page);
  const approved = await decide('Approve drafts only', 'program-approved');
  const token = await exchanged(ready, asked, approved.get('code'));
  const scopes = token.scope?.split(' ') ?? [];
  ensure(scopes.includes('posts:draft') && !scopes.includes('posts:write'), `it got ${JSON.stringify(token)}`);
  asked.close();
}
