// Uploads the files that a user chooses for a post, straight to the bucket, and adds them to the
// form. The server renders what was added, so this script builds no part of the post.
'use strict';

const form = document.querySelector('form.composer');
const box = document.querySelector('#upload');
const input = box && box.querySelector('input[type=file]');
const list = box && box.querySelector('ul');

// A file that fails is reported at its line, and the others continue.
class Refused extends Error {}

async function target(file) {
  const response = await fetch('/account/files', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': form.elements.csrf.value },
    body: JSON.stringify({ mime_type: file.type, filename: file.name, size: file.size }),
  });
  if (response.ok) return response.json();
  const answer = await response.json().catch(() => ({}));
  throw new Refused(answer.message || 'The page is out of date. Reload it and try again.');
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
