// A person with Chromium in front of a Bluesky server: what sign-in.mjs and revoke.mjs have in common.
import { mkdirSync } from 'node:fs';

import { openPage } from '../browser/page.mjs';

export const OPTIONS = {
  url: { type: 'string' },
  handle: { type: 'string' },
  password: { type: 'string' },
  screenshots: { type: 'string' },
  chromium: { type: 'string', default: '/usr/bin/chromium' },
};

// Opens a browser, does what `walk` says, and prints the result as one line. When it fails, says why,
// where, what the browser complained of and what could be read there, and sets the exit code.
export async function asPerson(options, walk) {
  const { browser, page, complaints } = await openPage({ executablePath: options.chromium });
  const person = new Person(page, complaints, options);
  try {
    console.log(JSON.stringify(await walk(person)));
  } catch (error) {
    await person.photograph('failed').catch(() => {});
    const shown = await page.locator('body').innerText().catch(() => '');
    console.error([error.message, `at ${page.url()}`, ...person.complaints, shown].join('\n'));
    process.exitCode = 1;
  } finally {
    await browser.close();
  }
}

class Person {
  #options;
  #pictures = 0;

  constructor(page, complaints, options) {
    this.#options = options;
    this.page = page;
    this.complaints = complaints;
    if (options.screenshots) mkdirSync(options.screenshots, { recursive: true });
  }

  button(name) {
    return this.page.getByRole('button', { name, exact: true });
  }

  async photograph(name) {
    this.#pictures += 1;
    const { screenshots } = this.#options;
    if (screenshots) await this.page.screenshot({ path: `${screenshots}/${this.#pictures}-${name}.png`, fullPage: true });
  }

  // A server with a login hint asks for the password at once; otherwise it greets first.
  async signIn() {
    const password = this.page.getByRole('textbox', { name: 'Password', exact: true });
    await this.button('Sign in').waitFor();
    if (!(await password.isVisible())) {
      await this.photograph('welcome');
      await this.button('Sign in').click();
      await password.waitFor();
    }
    const username = this.page.getByRole('textbox', { name: 'Username or Email' });
    if (await username.isEditable()) await username.fill(this.#options.handle);
    await password.fill(this.#options.password);
    await this.photograph('sign-in');
    await this.button('Sign in').click();
  }
}
