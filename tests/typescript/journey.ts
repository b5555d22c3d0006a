// The journey in the types of the served document. Prints each URL that a user has to open.
import { readFile } from 'node:fs/promises';
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

const [baseUrl = '', picture = ''] = process.argv.slice(2);
const need = <T>({ data, error }: { data?: T; error?: components['schemas']['Error'] }): T => {
  if (data === undefined) throw new Error(error?.message ?? error?.error_description);
  return data;
};
const until = async <T>(ask: () => Promise<T | null | undefined>, tries = 100): Promise<T> => {
  const answer = await ask();
  if (answer) return answer;
  if (tries === 0) throw new Error('it takes too long');
  await new Promise((done) => setTimeout(done, 500));
  return until(ask, tries - 1);
};

const visitor = createClient<paths>({ baseUrl });
const asked = need(await visitor.POST('/api/v1/auth/device/code', { body: { client_name: 'A script' } }));
console.log('open', asked.verification_uri_complete);
const body = { device_code: asked.device_code };
const token = await until(async () => (await visitor.POST('/api/v1/auth/device/token', { body })).data);
const api = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token.access_token}` } });

const platform = 'sandbox';
const begun = need(await api.POST('/api/v1/connections/connect/{platform}', { params: { path: { platform } } }));
console.log('open', begun.authorization_url);
const path = { platform, stateToken: begun.state_token };
const account = await until(async () => {
  const now = need(await api.GET('/api/v1/connections/connect/{platform}/status/{stateToken}', { params: { path } }));
  return now.status === 'completed' ? now.connection : undefined;
});

const place = need(await api.POST('/api/v1/media', { body: { mime_type: 'image/png' } }));
if (!('upload_url' in place)) throw new Error('there is no place to upload to');
await fetch(place.upload_url, { method: 'PUT', headers: place.upload_headers, body: await readFile(picture) });

const platforms = [{ connected_account_id: account.id, options: { language: 'en' } }];
const media = [{ path: place.path, alt_text: 'A boat at the pier' }];
const scheduled_at = new Date(Date.now() + 2000).toISOString();
const thread = [{ content: 'This is the crew' }, { content: 'And this is the boat' }];
const post = need(await api.POST('/api/v1/posts', { body: { content: 'Hello', platforms, media, thread, scheduled_at } }));
const ended = await until(async () => {
  const now = need(await api.GET('/api/v1/posts/{post}', { params: { path: { post: post.id } } }));
  return ['published', 'failed'].includes(now.status) ? now : undefined;
});
const segments = ended.platforms[0]?.segments ?? [];
for (const it of segments) {
  if (it.status === 'failed') throw new Error(it.error_message ?? 'a segment failed');
}
console.log(ended.status, ...segments.map((it) => `${it.kind} ${it.platform_post_url}`));
