// Takes back, on the account pages of a Bluesky server, what a client was allowed. It must be the only one
// that the account has. Says on one line what the server said: {"text"}.
//
// Where `node_modules` is (see start.mjs):
//   node revoke.mjs --url SERVER --handle HANDLE --password PASSWORD [--screenshots FOLDER] [--chromium PATH]
import { parseArgs } from 'node:util';
import { OPTIONS, asPerson } from './person.mjs';

const { values: options } = parseArgs({ options: OPTIONS });

await asPerson(options, async (person) => {
  const { page } = person;
  await page.goto(`${options.url}/account`);
  await person.signIn();
  await page.getByRole('link', { name: 'Apps', exact: true }).click();
  await person.button('Details').click();
  await person.photograph('details');
  await person.button('Revoke access').click();
  const text = await page.getByText('Successfully revoked access').innerText();
  await person.photograph('revoked');
  return { text };
});
