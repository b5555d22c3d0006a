// The form of a post. Uploads the files that a user chooses, straight to the bucket, and adds them to
// the form: the server renders what was added. Offers the values of options that a platform lists.
'use strict';

const form = document.querySelector('form.composer');
const box = document.querySelector('#upload');
const input = box && box.querySelector('input[type=file]');
const list = box && box.querySelector('ul');

// An error whose message is shown to the user.
class Refused extends Error {}

async function read(response) {
  if (response.ok) return response.json();
  const answer = await response.json().catch(() => ({}));
  throw new Refused(answer.message || 'The page is out of date. Reload it and try again.');
}

async function target(file) {
  return read(await fetch('/account/files', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': form.elements.csrf.value },
    body: JSON.stringify({ mime_type: file.type, filename: file.name, size: file.size }),
  }));
}

function put(url, headers, file, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('PUT', url);
    // The browser sets these itself.
    const own = ['host', 'content-length'];
    for (const [name, value] of Object.entries(headers)) {
      if (!own.includes(name.toLowerCase())) request.setRequestHeader(name, value);
    }
    request.upload.onprogress = (event) => onProgress(event.loaded / event.total);
    request.onload = () => (request.status < 300 ? resolve() : reject(new Refused('The upload was refused. Try again.')));
    request.onerror = () => reject(new Refused('The upload was interrupted. Try again.'));
    request.send(file);
  });
}

// A file that fails is reported at its line, and the others continue.
async function upload(file) {
  const line = list.appendChild(document.createElement('li'));
  const say = (text) => { line.textContent = `${file.name}: ${text}`; };
  try {
    say('waiting');
    const { upload_url: url, upload_headers: headers, path } = await target(file);
    await put(url, headers, file, (part) => say(`${Math.round(100 * part)} %`));
    say('uploaded');
    return path;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(error.message);
    line.className = 'error';
    return undefined;
  }
}

async function uploadAll() {
  const files = [...input.files];
  input.disabled = true;
  let failed = 0;
  for (const [index, file] of files.entries()) {
    const path = await upload(file);
    if (path === undefined) {
      failed += 1;
      continue;
    }
    const field = document.createElement('input');
    Object.assign(field, { type: 'hidden', name: `add.${String(index).padStart(2, '0')}`, value: path });
    form.append(field);
  }
  input.disabled = false;
  input.value = '';
  // The page returns with the files. With an error, it stays, so that the error can be read.
  if (failed === 0) form.querySelector('#refresh').click();
}

if (input) {
  box.hidden = false;
  input.addEventListener('change', uploadAll);
}

// The preview follows the form. The server renders it, so it shows what is published.
const preview = document.querySelector('#preview');
// In milliseconds. A user may send 60 requests a minute, and the other buttons need some.
const PAUSE = 2000;
let timer;
let latest = 0;

async function updatePreview() {
  latest += 1;
  const current = latest;
  const body = new URLSearchParams(new FormData(form));
  body.set('do', 'refresh');
  const response = await fetch(form.action, { method: 'POST', body }).catch(() => undefined);
  // The preview stays as it is until the next change.
  if (!response || !response.ok || response.redirected || current !== latest) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const next = page.querySelector('#preview');
  if (next) preview.replaceChildren(...next.childNodes);
}

if (preview && document.querySelector('#refresh')) {
  form.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(updatePreview, PAUSE);
  });
}

// The values that a platform lists for an option replace its text field.
function valueList(field, values, first) {
  const value = field.value.trim();
  const select = document.createElement('select');
  Object.assign(select, { id: field.id, name: field.name });
  select.setAttribute('aria-describedby', field.getAttribute('aria-describedby'));
  select.append(new Option(first, ''), ...values.map((it) => new Option(it.label, it.value)));
  if (value && !values.some((it) => it.value === value)) select.append(new Option(value, value));
  select.value = value;
  return select;
}

async function loadValues(link) {
  const field = document.getElementById(link.dataset.field);
  const status = document.createElement('p');
  status.setAttribute('role', 'status');
  field.after(status);
  Object.assign(status, { className: 'hint', textContent: 'The values are loading.' });
  try {
    // Without a session, the service redirects to the sign-in page.
    const request = { headers: { accept: 'application/json' }, redirect: 'manual' };
    const { data } = await read(await fetch(link.href, request));
    if (data.length === 0) throw new Refused('The platform lists no values for this account.');
    const select = valueList(field, data, link.dataset.first);
    const hasFocus = document.activeElement === field;
    field.replaceWith(select);
    if (hasFocus) select.focus();
    status.remove();
    link.remove();
  } catch (error) {
    const text = error instanceof Refused ? error.message : 'The values could not be loaded. Enter the value, or reload the page.';
    Object.assign(status, { className: 'error', textContent: text });
  }
}

for (const link of document.querySelectorAll('a[data-field]')) {
  const details = link.closest('details');
  if (details.open) loadValues(link);
  else details.addEventListener('toggle', () => loadValues(link), { once: true });
}

// A box for files or replies of its own changes what the form offers.
form.addEventListener('change', (event) => {
  if (/\.own_(media|thread)$/.test(event.target.name)) form.querySelector('#refresh').click();
});
